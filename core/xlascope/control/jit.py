"""jit: trace once per kind of arguments, compile once, then stay in jaxlib's C++."""

from __future__ import annotations

import functools
import inspect
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import records, tree
from ..ir.avals import ShapedArray
from ..ir.describe import traced_record
from ..ir.jaxpr import ClosedJaxpr
from ..ir.sources import is_library, locate
from ..records.watch import watchers
from ..runtime import boot
from ..trace.jaxpr_trace import stage
from ..trace.source import user_frame, user_line
from ..trace.state import STATE
from ..trace.tracer import Tracer, leaked_error
from ..trace.values import aval_of, not_an_array
from ..transforms.evaluate import evaluate
from ..xla.dispatch import Place, executable_of, make_pjit, place_of, put
from .call import call


class Options(NamedTuple):
    """What a user says about a jitted function."""

    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    donate_argnums: tuple[int, ...] = ()
    donate_argnames: tuple[str, ...] = ()
    keep_unused: bool = False
    inline: bool = False
    device: Any = None


class Arguments(NamedTuple):
    """A call's arguments: the flat operands, their structure, and what is static."""

    operands: list[Any]
    structure: Any
    positional: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]


class Signature(NamedTuple):
    """What a trace depends on: two calls with equal signatures share it."""

    structure: Any
    avals: tuple[ShapedArray, ...]
    positional: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]
    settings: Any


class TracedCall(NamedTuple):
    """A function traced for one signature."""

    program: ClosedJaxpr
    out_structure: Any
    number: int
    began: float
    seconds: float


#: The traces of each function, for as long as the function lives.
_traces: weakref.WeakKeyDictionary[Callable[..., Any], dict[Options, dict[Signature, TracedCall]]] = (
    weakref.WeakKeyDictionary()
)


class Jitted:
    """The Python side of a jitted function: everything that happens when jaxlib's cache has no answer."""

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        self.function = function
        self.options = options
        self.name = getattr(function, "__name__", None) or type(function).__name__
        self.traces = _traces_of(function, options)

    def cache_miss(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Run a call for jaxlib; returns the result, and how to repeat it without Python when that can be."""
        arguments = self.split(args, kwargs)
        avals = self.avals(arguments)
        traced = self.trace(arguments, avals)
        program = traced.program
        if STATE.trace is not None or any(isinstance(c, Tracer) for c in program.consts):
            results = (
                evaluate(program, *arguments.operands) if self.options.inline else call(program, arguments.operands)
            )
            return traced.out_structure.unflatten(results), None, False
        for x in arguments.operands:
            if isinstance(x, Tracer):  # no trace is current, so its own has ended
                raise leaked_error(x)
        chosen = self.options.device
        place = place_of(arguments.operands) if chosen is None else Place(chosen, True)
        operands = arguments.operands
        if chosen is not None:
            operands = [put(x, aval, chosen) for x, aval in zip(operands, avals, strict=True)]
        executable = executable_of(
            program,
            place,
            donated=self.donated(arguments),
            keep_unused=self.options.keep_unused,
            number=traced.number,
        )
        if watchers:
            records.publish(records.Started(traced.number, self.name, "run", time.time()))
        results = executable(operands, avals)
        fast = None if chosen is not None else executable.fastpath(traced.out_structure)
        return traced.out_structure.unflatten(results), fast, False

    def split(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Arguments:
        """Flatten a call's arguments, the static ones apart."""
        static = {i % len(args) if args else i for i in self.options.static_argnums if -len(args) <= i < len(args)}
        names = set(self.options.static_argnames)
        positional = tuple(args[i] for i in sorted(static))
        named = tuple((k, kwargs[k]) for k in sorted(names & kwargs.keys()))
        dynamic = tuple(None if i in static else x for i, x in enumerate(args))
        rest = {k: v for k, v in kwargs.items() if k not in names}
        operands, structure = tree.flatten((dynamic, rest))
        return Arguments(operands, structure, positional, named)

    def avals(self, arguments: Arguments) -> tuple[ShapedArray, ...]:
        """The types of the operands; raises TypeError naming the argument that is none."""
        try:
            return tuple([aval_of(x) for x in arguments.operands])
        except TypeError:
            names = self.argument_names(arguments)
            for name, x in zip(names, arguments.operands, strict=True):
                try:
                    aval_of(x)
                except TypeError:
                    raise not_an_array(x, f"argument {name} of {self.name}") from None
            raise

    def trace(self, arguments: Arguments, avals: tuple[ShapedArray, ...]) -> TracedCall:
        """The trace for a call's signature: a kept one, or a new one."""
        signature = Signature(arguments.structure, avals, arguments.positional, arguments.named, settings_of_trace())
        found = self.traces.get(signature)
        if found is None:
            found = self._trace(arguments, signature)
            if not any(isinstance(c, Tracer) for c in found.program.consts):
                self.traces[signature] = found
        return found

    def _trace(self, arguments: Arguments, signature: Signature) -> TracedCall:
        number = records.next_program()
        began, clock = time.time(), time.perf_counter()
        if watchers:
            records.publish(records.Started(number, self.name, "trace", began))
        structures: list[Any] = []

        def flat(*operands: Any) -> list[Any]:
            args, kwargs = self.join(arguments, operands)
            results, structure = tree.flatten(self.function(*args, **kwargs))
            structures.append(structure)
            return check_results(self.name, results, structure)

        try:
            program = stage(flat, signature.avals, self.name, lambda: self.argument_names(arguments))
        except BaseException as error:
            if watchers:
                records.publish(
                    records.Failure(
                        number, self.name, "trace", began, type(error).__name__, str(error), _innermost_user_line(error)
                    )
                )
            raise
        seconds = time.perf_counter() - clock
        if watchers:
            reason = self.reason(signature, arguments)
            place = locate(*user_frame())
            records.publish(traced_record(program, number, began, seconds, reason, place))
        return TracedCall(program, structures[0], number, began, seconds)

    def join(self, arguments: Arguments, operands: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call again, with other operands."""
        dynamic, rest = arguments.structure.unflatten(operands)
        args = list(dynamic)
        static = sorted(
            i % len(args) if args else i for i in self.options.static_argnums if -len(args) <= i < len(args)
        )
        for i, value in zip(static, arguments.positional, strict=True):
            args[i] = value
        return args, {**rest, **dict(arguments.named)}

    def argument_names(self, arguments: Arguments) -> list[str]:
        """What the user calls each operand, such as ``params[0]['w']``."""
        return operand_names(self.function, arguments.structure)

    def donated(self, arguments: Arguments) -> tuple[bool, ...]:
        """Which operands' memory may be reused."""
        numbers, names = self.options.donate_argnums, self.options.donate_argnames
        if not numbers and not names:
            return ()
        dynamic, rest = arguments.structure.unflatten([False] * len(arguments.operands))
        marked = tuple(tree.map(lambda _, i=i: i in numbers, x) for i, x in enumerate(dynamic))
        named = {k: tree.map(lambda _, k=k: k in names, v) for k, v in rest.items()}
        return tuple(tree.leaves((marked, named)))

    def reason(self, new: Signature, arguments: Arguments) -> str:
        """Why this trace was needed: what differs from the nearest earlier one."""
        if not self.traces:
            return "first call"
        nearest = min(self.traces, key=lambda old: _distance(old, new))
        if nearest.structure != new.structure:
            return f"the structure of the arguments changed from {nearest.structure} to {new.structure}"
        names = self.argument_names(arguments)
        changes = [
            f"{name}: {old.str_short()}{_weak(old)} → {now.str_short()}{_weak(now)}"
            for name, old, now in zip(names, nearest.avals, new.avals, strict=True)
            if old != now
        ]
        for before, after in ((nearest.positional, new.positional), (nearest.named, new.named)):
            if before != after:
                changes.append(f"static arguments: {before} → {after}")
        if nearest.settings != new.settings:
            changes.append("a setting changed (64-bit types, random bits, or the named axes around the call)")
        return "; ".join(changes) or "the earlier trace was not kept: the function closes over traced values"


def settings_of_trace() -> Any:
    """What a trace depends on beside the function and its arguments."""
    return boot.enable_x64.value, boot.threefry_partitionable.value, STATE.axes


def _weak(aval: ShapedArray) -> str:
    return " (weak)" if aval.weak_type else ""


def _distance(old: Signature, new: Signature) -> int:
    if old.structure != new.structure:
        return 1_000_000
    types = sum(a is not b for a, b in zip(old.avals, new.avals, strict=True))
    return types + sum(bool(a != b) for a, b in zip(old[2:], new[2:], strict=True))


def _innermost_user_line(error: BaseException) -> records.SourceRange | None:
    from_frames = error.__traceback__
    found = None
    while from_frames is not None:
        code = from_frames.tb_frame.f_code
        place = locate(code, from_frames.tb_lasti)
        if place is not None and not is_library[code.co_filename]:
            found = place
        from_frames = from_frames.tb_next
    return found


def check_results(name: str, results: Sequence[Any], structure: Any) -> list[Any]:
    """The flat results of a traced function; raises TypeError naming one that is no array."""
    for index, x in enumerate(results):
        try:
            aval_of(x)
        except TypeError:
            path = tree.keystr(tree.leaves_with_path(structure.unflatten(range(len(results))))[index][0])
            raise not_an_array(x, f"the result{path} of {name}") from None
    return list(results)


def operand_names(function: Callable[..., Any], structure: Any) -> list[str]:
    """What a user calls each operand of a call with arguments of that structure (``((args), {kwargs})``)."""
    args, kwargs = structure.unflatten(range(structure.num_leaves))
    names = _parameter_names(function, len(args))
    found = [names[i] + tree.keystr(path) for i, x in enumerate(args) for path, _ in tree.leaves_with_path(x)]
    return found + [k + tree.keystr(path) for k in sorted(kwargs) for path, _ in tree.leaves_with_path(kwargs[k])]


def _parameter_names(function: Callable[..., Any], count: int) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return [f"args[{i}]" for i in range(count)]
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    return names[:count] + [f"{rest}[{i}]" for i in range(count - len(names))]


def _traces_of(function: Callable[..., Any], options: Options) -> dict[Signature, TracedCall]:
    try:
        return _traces.setdefault(function, {}).setdefault(options, {})
    except TypeError:  # a callable that cannot be weakly referenced or hashed keeps its traces to itself
        return {}


def jit_function(function: Callable[..., Any], options: Options) -> Any:
    """A function that traces, compiles and runs ``function`` through jaxlib's call cache."""
    if not callable(function):
        raise TypeError(f"jit takes a function, got {function!r} of type {type(function).__name__}{_at()}")
    options = _complete_static(function, options)
    jitted = Jitted(function, options)
    made = make_pjit(
        jitted.name, function, jitted.cache_miss, options.static_argnums, options.static_argnames, (function, options)
    )
    functools.update_wrapper(made, function)
    made._jitted = jitted
    return made


def _at() -> str:
    place = user_line()
    return f" at {place.file}:{place.line}" if place else ""


def _complete_static(function: Callable[..., Any], options: Options) -> Options:
    """Let static arguments be given by number or by name, whichever way the user named them."""
    if not options.static_argnums and not options.static_argnames:
        return options
    try:
        names = [
            p.name
            for p in inspect.signature(function).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        return options
    by_number = {names[i] for i in options.static_argnums if -len(names) <= i < len(names)}
    by_name = {names.index(n) for n in options.static_argnames if n in names}
    numbers = {i % len(names) if names and -len(names) <= i < len(names) else i for i in options.static_argnums}
    return options._replace(
        static_argnums=tuple(sorted(numbers | by_name)),
        static_argnames=tuple(sorted({*options.static_argnames, *by_number})),
    )
