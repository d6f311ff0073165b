"""jit: trace once per kind of arguments, compile once, then stay in jaxlib's C++."""

from __future__ import annotations

import functools
import itertools
import logging
import time
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import records
from ...dtypes import canonical
from ...ir.avals import ShapedArray, ShapeDtypeStruct, shaped
from ...ir.describe import traced_record
from ...ir.jaxpr import ClosedJaxpr
from ...ir.sources import is_library, locate
from ...records.watch import watchers
from ...runtime import boot
from ...trace.jaxpr_trace import stage
from ...trace.source import user_frame, user_line, where_text
from ...trace.state import STATE
from ...trace.traceback_filtering import api_boundary
from ...trace.tracer import Tracer, leaked_error
from ...transforms.evaluate import evaluate
from ...xla.dispatch import Executable, PjitFunction, Place, executable_of, forget_oldest, make_pjit, place_of, put
from ..programs.call import call
from . import retrace
from .arguments import (
    Arguments,
    Options,
    avals_of,
    check_results,
    complete_options,
    donated,
    flatten_results,
    function_name,
    join,
    names_of_leaves,
    number_of_arguments,
    operand_names,
    parameter_names,
    split,
)
from .retrace import Signature
from .stages import Compiled, Lowered, Traced

_log = logging.getLogger("xlascope.jit")


class TracedCall(NamedTuple):
    """A function traced for one signature; ``kinds`` are the kinds of operands that jaxlib's cache has seen."""

    program: ClosedJaxpr
    out_structure: Any
    number: int
    began: float
    seconds: float
    reason: retrace.Reason
    kinds: list[retrace.Kind]


#: The traces of each function, for as long as the function lives. A trace that leads back to its function (through the
#: jvp rule of a function that was jitted itself, say) would keep it for ever, so the oldest ones go.
_MOST_FUNCTIONS = 1024
_traces: weakref.WeakKeyDictionary[Callable[..., Any], dict[Options, dict[Signature, TracedCall]]] = (
    weakref.WeakKeyDictionary()
)


#: What is there, for those who want to clear it: methods have traces of their own, and the oldest are not in _traces.
_everyone: weakref.WeakSet[Jitted] = weakref.WeakSet()


def clear_traces() -> None:
    """Forget the traces of all functions, and with them what was derived from them and compiled."""
    while True:
        try:
            kept = [jitted.traces for jitted in _everyone]
            kept += [traces for by_options in _traces.values() for traces in by_options.values()]
            break
        except RuntimeError:  # another thread has just jitted something
            continue
    for traces in kept:
        traces.clear()  # in place: jitted functions share them


class KnownCall(NamedTuple):
    """What led to a program: the function, its options, and the call's signature (types only, no arrays)."""

    function: Callable[..., Any]
    options: Options
    signature: Signature

    def remade(self) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        """The jitted function and the arguments of a call like it, with types in place of arrays."""
        _, avals, positional, named, _ = self.signature
        types_only = [ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak_type) for x in avals]
        arguments = Arguments(types_only, self.signature.structure, positional, named)
        args, kwargs = join(arguments, types_only)
        return jit_function(self.function, self.options), tuple(args), dict(kwargs)


def known_call(number: int) -> KnownCall | None:
    """The call that led to a program, by the program's number; None when its function or its trace is gone."""
    by_function = ((f, o, t) for f, by_options in list(_traces.items()) for o, t in list(by_options.items()))
    by_jitted = ((each.function, each.options, each.traces) for each in list(_everyone))
    for function, options, traces in itertools.chain(by_function, by_jitted):
        for signature, traced in list(traces.items()):
            if traced.number == number:
                return KnownCall(function, options, signature)
    return None


class Jitted:
    """The Python side of a jitted function: everything that happens when jaxlib's cache has no answer."""

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        self.function = function
        self.options = options
        self.name = function_name(function)
        self.traces = _traces_of(function, options)
        if not self.traces:
            retrace.note_function(function)
        _everyone.add(self)

    def cache_miss(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Run a call for jaxlib; returns the result, and how to repeat it without Python when that can be."""
        arguments = self.split(args, kwargs)
        avals = self.avals(arguments)
        traced, new = self._trace_of(arguments, avals)
        program = traced.program
        if STATE.trace is not None or any(isinstance(c, Tracer) for c in program.consts):
            results = (
                evaluate(program, *arguments.operands) if self.options.inline else call(program, arguments.operands)
            )
            return traced.out_structure.unflatten(results), None, False
        for x in arguments.operands:
            if isinstance(x, Tracer):  # no trace is current, so its own has ended
                raise leaked_error(x)
        executable, operands = self.executable(traced, arguments, avals)
        repeatable = self.options.device is None and not executable.compilation.calls_python
        self._note_kinds(traced, arguments, new, repeatable)
        if watchers:
            records.publish(records.Started(traced.number, self.name, "run", time.time()))
        results = executable(operands, avals)
        fast = executable.fastpath(traced.out_structure) if repeatable else None
        return traced.out_structure.unflatten(results), fast, False

    def executable(
        self, traced: TracedCall, arguments: Arguments, avals: Sequence[ShapedArray]
    ) -> tuple[Executable, Sequence[Any]]:
        """The executable for a call, and the operands where it wants them."""
        operands: Sequence[Any] = arguments.operands
        chosen = self.options.device
        if chosen is not None:
            operands = [put(x, aval, chosen) for x, aval in zip(operands, avals, strict=True)]
        executable = executable_of(
            traced.program,
            self.place(arguments),
            donated=self.donated(arguments),
            keep_unused=self.options.keep_unused,
            number=traced.number,
            overrides=self.options.compiler_options,
        )
        return executable, operands

    def place(self, arguments: Arguments) -> Place:
        """Where a call runs."""
        chosen = self.options.device
        return place_of(arguments.operands) if chosen is None else Place(chosen, True)

    def split(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Arguments:
        """Flatten a call's arguments, the static ones apart."""
        return split(self.function, self.options, args, kwargs)

    def avals(self, arguments: Arguments) -> tuple[ShapedArray, ...]:
        """The types of the operands; raises TypeError naming the argument that is none."""
        return avals_of(self.function, arguments)

    def trace(self, arguments: Arguments, avals: tuple[ShapedArray, ...]) -> TracedCall:
        """The trace for a call's signature: a kept one, or a new one."""
        return self._trace_of(arguments, avals)[0]

    def _trace_of(self, arguments: Arguments, avals: tuple[ShapedArray, ...]) -> tuple[TracedCall, bool]:
        signature = Signature(arguments.structure, avals, arguments.positional, arguments.named, settings_of_trace())
        found = self.traces.get(signature)
        if found is not None:
            return found, False
        found = self._trace(arguments, signature)
        if not any(isinstance(c, Tracer) for c in found.program.consts):
            if len(self.traces) >= _MOST_TRACES:
                forget_oldest(self.traces)
            self.traces[signature] = found
        return found, True

    def _trace(self, arguments: Arguments, signature: Signature) -> TracedCall:
        number = records.next_program()
        began, clock = time.time(), time.perf_counter()
        if watchers:
            records.publish(records.Started(number, self.name, "trace", began))
        structures: list[Any] = []

        def flat(*operands: Any) -> list[Any]:
            args, kwargs = join(arguments, operands)
            results, structure = flatten_results(self.function(*args, **kwargs))
            structures.append(structure)
            return check_results(self.name, results, structure)

        try:
            program = stage(flat, signature.avals, self.name, self._names_for(arguments.structure))
        except BaseException as error:
            if watchers:
                failure = (type(error).__name__, str(error), _innermost_user_line(error))
                records.publish(records.Failure(number, self.name, "trace", began, *failure))
            raise
        seconds = time.perf_counter() - clock
        reason = retrace.reason_of(
            self.function, self.traces, signature, lambda: self.argument_names(arguments), self.parameter_names
        )
        self._tell(program, number, began, seconds, reason)
        return TracedCall(program, structures[0], number, began, seconds, reason, [])

    def _names_for(self, structure: Any) -> Callable[[], list[str]]:
        """Finds the operands' names when asked. It knows neither the function nor the arguments: whoever keeps the
        program would keep them as well, and a trace that holds its function never goes away (see ``_traces``).
        """
        return functools.partial(names_of_leaves, self.parameter_names(number_of_arguments(structure)), structure)

    def _tell(self, program: ClosedJaxpr, number: int, began: float, seconds: float, reason: retrace.Reason) -> None:
        """Say that the function was traced, to whoever watches and to whoever asked for explanations."""
        if not watchers and not boot.explain_cache_misses.value:
            return
        place = locate(*user_frame())
        if watchers:
            records.publish(traced_record(program, number, began, seconds, *reason, place))
        if boot.explain_cache_misses.value:
            _log.warning(
                "%s was traced%s in %.3g s: %s.%s", self.name, where_text(place), seconds, reason.text, _after(reason)
            )

    def _note_kinds(self, traced: TracedCall, arguments: Arguments, new: bool, repeatable: bool) -> None:
        """Remember which calls jaxlib's cache will know, and say why it did not know this one."""
        kinds = retrace.kinds_of(arguments.operands)
        if not new and traced.kinds and (watchers or boot.explain_cache_misses.value):
            names = functools.partial(self.argument_names, arguments)
            reason = retrace.miss_reason(traced.kinds, kinds, names, repeatable)
            place = locate(*user_frame())
            if watchers:
                missed = records.Missed(traced.number, self.name, time.time(), *reason, place)
                records.publish(missed)
            if boot.explain_cache_misses.value:
                _log.warning(
                    "a call of %s%s was not known to the call cache: %s.%s",
                    self.name, where_text(place), reason.text, _after(reason),
                )  # fmt: skip
        if kinds not in traced.kinds and len(traced.kinds) < _MOST_KINDS:
            traced.kinds.append(kinds)

    def argument_names(self, arguments: Arguments) -> list[str]:
        """What the user calls each operand, such as ``params[0]['w']``."""
        return operand_names(self.function, arguments.structure)

    def parameter_names(self, count: int) -> list[str]:
        """What the user calls the first ``count`` positional arguments."""
        return parameter_names(self.function, count)

    def donated(self, arguments: Arguments) -> tuple[bool, ...]:
        """Which operands' memory may be reused."""
        return donated(self.options, arguments)

    # What users may ask of a jitted function -------------------------------------------------------------------------

    def stage_traced(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Traced:
        """The call traced, as a stage to go on from."""
        arguments = self.split(args, kwargs)
        known = [_TypeOnly(x) if isinstance(x, ShapeDtypeStruct) else x for x in arguments.operands]
        types = self.avals(arguments._replace(operands=known))
        traced = self.trace(arguments, types)
        place = self.place(arguments)
        kept = arguments._replace(operands=[None] * len(arguments.operands))  # stages need their number, not the data
        return Traced(self.function, self.options, kept, traced.program, traced.out_structure, traced.number, place)

    def clear(self) -> None:
        """Forget the traces, and with them what was compiled."""
        self.traces.clear()


class _TypeOnly:
    """An operand of which nothing is known but its type."""

    def __init__(self, struct: ShapeDtypeStruct) -> None:
        self.aval = shaped(struct.shape, canonical(struct.dtype), struct.weak_type)


_MOST_KINDS = 32
#: Of one function, such as those for each length that data can have.
_MOST_TRACES = 2048


def _after(reason: retrace.Reason) -> str:
    return f" {reason.fix}" if reason.fix else ""


def settings_of_trace() -> Any:
    """What a trace depends on beside the function and its arguments."""
    return boot.enable_x64.value, boot.trace_settings.value, STATE.axes


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


def _traces_of(function: Callable[..., Any], options: Options) -> dict[Signature, TracedCall]:
    if isinstance(function, types.MethodType):  # a new object each time that it is asked for: nobody finds it again
        return {}
    try:
        known = _traces.get(function)
        if known is None:
            if len(_traces) >= _MOST_FUNCTIONS:
                forget_oldest(_traces)  # whoever has jitted it keeps its traces
            known = _traces.setdefault(function, {})
        return known.setdefault(options, {})
    except TypeError:  # a callable that cannot be weakly referenced or hashed keeps its traces to itself
        return {}


@api_boundary
def jit_function(function: Callable[..., Any], options: Options) -> Any:
    """A function that traces, compiles and runs ``function`` through jaxlib's call cache."""
    if not callable(function):
        raise TypeError(
            f"jit takes a function, got {function!r} of type {type(function).__name__}{where_text(user_line())}"
        )
    options = complete_options(function, options)
    jitted = Jitted(function, options)
    made = make_pjit(
        jitted.name, function, api_boundary(jitted.cache_miss), options.static_argnums, options.static_argnames, options
    )
    functools.update_wrapper(made, function)
    made._jitted = jitted
    return made


# Methods of jitted functions: jaxlib's class has none of its own ------------------------------------------------------


@api_boundary
def _trace(self: Any, *args: Any, **kwargs: Any) -> Traced:
    """The call traced to a jaxpr but not compiled; arguments may be ShapeDtypeStructs."""
    return jitted_side(self).stage_traced(args, kwargs)


@api_boundary
def _lower(self: Any, *args: Any, **kwargs: Any) -> Lowered:
    """The call as StableHLO, not compiled; arguments may be ShapeDtypeStructs."""
    return jitted_side(self).stage_traced(args, kwargs).lower()


@api_boundary
def _eval_shape(self: Any, *args: Any, **kwargs: Any) -> Any:
    """A tree like the result with shapes and dtypes in place of arrays."""
    return jitted_side(self).stage_traced(args, kwargs).out_info


def _clear_cache(self: Any) -> None:
    """Forget the function's traces and compiled programs."""
    jitted_side(self).clear()
    self._clear_cache()


def jitted_side(function: Any) -> Jitted:
    """The Python side of a jitted function; raises AttributeError for a single operation's."""
    side: Jitted = function._jitted
    return side


for _name, _method in (
    ("trace", _trace),
    ("lower", _lower),
    ("eval_shape", _eval_shape),
    ("clear_cache", _clear_cache),
):
    _method.__name__ = _name
    setattr(PjitFunction, _name, _method)

__all__ = [
    "Arguments",
    "Compiled",
    "Jitted",
    "Lowered",
    "Options",
    "Signature",
    "Traced",
    "TracedCall",
    "check_results",
    "jit_function",
    "jitted_side",
    "operand_names",
    "settings_of_trace",
]
