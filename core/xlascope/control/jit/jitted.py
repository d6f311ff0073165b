"""jit: trace once per kind of arguments, compile once, then stay in jaxlib's C++."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

from ... import records
from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...records.watchers import watchers
from ...runtime.boot import disable_jit, process_changes, unchanged_since
from ...trace.gate import described, is_value, opened
from ...trace.jaxpr_trace import stage
from ...trace.state import STATE
from ...trace.tracer import Tracer, leaked_error
from ...transforms.evaluate import evaluate
from ...xla.arrays.transfers import put
from ...xla.compilation.compile_request import CompileRequest
from ...xla.running.executables import Executable, executable_of
from ...xla.running.places import Place, place_of
from ..programs.call import call
from ..programs.interning import settings_of_trace
from ..programs.names import name_of, names_of_leaves, number_of_arguments, operand_names, parameter_names
from ..programs.values import check_results, flatten_results
from .apart import KeptApart
from .arguments import Arguments, Options, avals_of, donated, join, split
from .donation import warn_of_unusable_donations
from .misses import kinds_of, miss_reason
from .placing import constrained_operands, constrained_results, place_told, types_told
from .retrace import is_of_library, note_function, reason_of
from .signatures import Signature
from .stages import Traced
from .telling import dispatched, somebody_listens, tell_dispatched, tell_failed, tell_missed, tell_traced
from .traces import TracedCall, note_keeper, traces_of

_MOST_KINDS = 32


class Jitted:
    """The Python side of a jitted function: everything that happens when jaxlib's cache has no answer."""

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        self.function = function
        self.options = options
        self.name = name_of(function)
        self.traces = traces_of(function, options)
        statics = (options.static_argnums or options.static_argnames) and not options.normalized
        self.apart = KeptApart(self) if statics else None
        if not self.traces:
            note_function(function)
        note_keeper(self)

    def cache_miss(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Run a call for jaxlib; returns the result, and how to repeat it without Python when that can be."""
        if disable_jit.value:  # beside jax it is jax's setting that jaxlib looks at
            return self.function(*args, **kwargs), None, False
        arguments = self.split(args, kwargs)
        avals = self.avals(arguments)
        traced, new = self._trace_of(arguments, avals)
        program = traced.program
        if STATE.trace is not None or any(isinstance(c, Tracer) for c in program.consts):
            results = self._within(traced, arguments)
            return traced.out_structure.unflatten(results), None, False
        arguments = arguments._replace(operands=[opened(x) for x in arguments.operands])
        for x in arguments.operands:
            if isinstance(x, Tracer):  # no trace is current, so its own has ended
                raise leaked_error(x)
        if new and (self.options.donate_argnums or self.options.donate_argnames):
            warn_of_unusable_donations(program, self.donated(arguments))
        executable, operands = self.executable(traced, arguments, avals)
        repeatable = self.options.device is None and not executable.compilation.calls_python
        awaiting = executable.awaits_better
        if not awaiting:
            self._note_kinds(traced, arguments, new, repeatable)
        if watchers:
            records.publish(records.Started(traced.number, self.name, "run", time.time()))
        results = executable(operands, avals)
        if dispatched:
            tell_dispatched(traced.number, results)
        fast = executable.fastpath(traced.out_structure, operands) if repeatable else None
        return traced.out_structure.unflatten(results), fast, awaiting  # jaxlib has to ask again for a better version

    def _within(self, traced: TracedCall, arguments: Arguments) -> list[Any]:
        """The results of a call within another program, where it becomes an equation."""
        program, operands = traced.program, constrained_operands(self.function, self.options, arguments)
        results = evaluate(program, *operands) if self.options.inline else call(program, operands)
        return constrained_results(self.name, self.options, traced.out_structure, results)

    def cache_miss_apart(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Like :meth:`cache_miss`, for a function with static arguments: jaxlib might confuse their values."""
        if STATE.trace is None and self.apart is not None:
            statics = self.apart.confusable(args, kwargs)
            if statics is not None:
                return self.apart.call(statics, args, kwargs), None, False
        return self.cache_miss(*args, **kwargs)

    def executable(
        self, traced: TracedCall, arguments: Arguments, avals: Sequence[ShapedArray]
    ) -> tuple[Executable, Sequence[Any]]:
        """The executable for a call, and the operands where it wants them."""
        operands: Sequence[Any] = arguments.operands
        chosen = self.options.device
        if chosen is not None:
            operands = [put(x, aval, chosen) for x, aval in zip(operands, avals, strict=True)]
        request = self.request(traced, arguments)
        executable = executable_of(request, self.place(arguments, avals, traced))
        return executable, operands

    def request(self, traced: TracedCall, arguments: Arguments) -> CompileRequest:
        """What a call asks the compiler for."""
        return CompileRequest(traced.program, self.options.compile, self.donated(arguments), traced.number)

    def place(self, arguments: Arguments, avals: Sequence[ShapedArray], traced: TracedCall) -> Place:
        """Where a call runs."""
        chosen, given, wanted = self.options.device, self.options.in_shardings, self.options.out_shardings
        if given is not None or wanted is not None:
            out = traced.out_structure, traced.program.out_avals
            return place_told(self.function, arguments, avals, out, given, wanted)
        return place_of(arguments.operands) if chosen is None else Place(chosen, True)

    def split(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Arguments:
        """Flatten a call's arguments, the static ones apart."""
        return split(self.function, self.options, args, kwargs)

    def avals(self, arguments: Arguments) -> tuple[ShapedArray, ...]:
        """The types of the operands; raises TypeError naming the argument that is none."""
        found = avals_of(self.function, arguments)
        given = self.options.in_shardings
        return found if given is None else types_told(self.function, arguments, found, given)

    def trace(self, arguments: Arguments, avals: tuple[ShapedArray, ...]) -> TracedCall:
        """The trace for a call's signature: a kept one, or a new one."""
        return self._trace_of(arguments, avals)[0]

    def _trace_of(self, arguments: Arguments, avals: tuple[ShapedArray, ...]) -> tuple[TracedCall, bool]:
        changes = process_changes.value
        signature = Signature(arguments.structure, avals, arguments.positional, arguments.named, settings_of_trace())
        found = self.traces.get(signature)
        if found is not None:
            return found, False
        found = self._trace(arguments, signature)
        is_of_one_setting = unchanged_since(changes)
        if is_of_one_setting and not any(isinstance(c, Tracer) for c in found.program.consts):
            self.traces[signature] = found
        return found, True

    def _trace(self, arguments: Arguments, signature: Signature) -> TracedCall:
        number = records.next_program()
        began, clock = time.time(), time.perf_counter()
        if watchers:
            records.publish(records.Started(number, self.name, "trace", began))
        try:
            program, structure = self._staged(arguments, signature.avals)
        except BaseException as error:
            tell_failed(self.name, number, began, error)
            raise
        seconds = time.perf_counter() - clock
        names = functools.partial(self.argument_names, arguments)
        reason = reason_of(self.function, self.traces.all(), signature, names, self.parameter_names)
        tell_traced(self.name, program, number, began, seconds, reason)
        return TracedCall(program, structure, number, began, seconds, reason, [])

    def _staged(self, arguments: Arguments, avals: Sequence[ShapedArray]) -> tuple[ClosedJaxpr, Any]:
        """The program for a call's arguments, and the structure of its results."""
        structures: list[Any] = []

        def flat(*operands: Any) -> list[Any]:
            args, kwargs = join(arguments, operands)
            results, structure = flatten_results(self.function(*args, **kwargs))
            structures.append(structure)
            return check_results(self.name, results, structure, "a jitted function")

        program = stage(flat, avals, self.name, self._names_for(arguments.structure))
        return program, structures[0]

    def _names_for(self, structure: Any) -> Callable[[], list[str]]:
        """Finds the operands' names when asked. It knows neither the function nor the arguments: whoever keeps the
        program would keep them as well, and a trace that holds its function never goes away (see ``traces.py``).
        """
        return functools.partial(names_of_leaves, self.parameter_names(number_of_arguments(structure)), structure)

    def _note_kinds(self, traced: TracedCall, arguments: Arguments, new: bool, repeatable: bool) -> None:
        """Remember which calls jaxlib's cache will know, and say why it did not know this one."""
        kinds = kinds_of(arguments.operands)
        if not new and traced.kinds and somebody_listens():
            names = functools.partial(self.argument_names, arguments)
            reason = miss_reason(traced.kinds, kinds, names, repeatable)
            tell_missed(self.name, traced.number, reason._replace(fix="") if is_of_library(self.function) else reason)
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
        known = [_known(x) for x in arguments.operands]
        types = self.avals(arguments._replace(operands=known))
        traced = self.trace(arguments, types)
        place = self.place(arguments._replace(operands=known), types, traced)
        kept = arguments._replace(operands=[None] * len(arguments.operands))  # stages need their number, not the data
        return Traced(self.function, self.options, kept, traced.program, traced.out_structure, traced.number, place)

    def clear(self) -> None:
        """Forget the traces, and with them what was compiled."""
        self.traces.clear()
        if self.apart is not None:
            self.apart.clear()


class _TypeOnly:
    """An operand of which nothing is known but its type."""

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval


def _known(x: Any) -> Any:
    """What is known of an operand that nothing is computed with: its value, or its type alone."""
    aval = None if is_value(x) else described(x)
    return x if aval is None else _TypeOnly(aval)
