"""The Python side of jit: trace once per kind of arguments, compile once, then repeat calls in jaxlib's C++."""

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
    """Python side of a jitted function, which runs when jaxlib's call cache misses."""

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
        """Run a call for jaxlib; return the result, and how to repeat it without Python if possible."""
        if disable_jit.value:  # beside jax, jaxlib reads jax's setting
            return self.function(*args, **kwargs), None, False
        arguments = self.split(args, kwargs)
        avals = self.avals(arguments)
        traced, is_new = self._trace_of(arguments, avals)
        program = traced.program
        if STATE.trace is not None or any(isinstance(c, Tracer) for c in program.consts):
            results = self._within(traced, arguments)
            return traced.out_structure.unflatten(results), None, False
        arguments = arguments._replace(operands=[opened(x) for x in arguments.operands])
        for x in arguments.operands:
            if isinstance(x, Tracer):  # no trace is current, so the tracer's trace has ended
                raise leaked_error(x)
        if is_new and (self.options.donate_argnums or self.options.donate_argnames):
            warn_of_unusable_donations(program, self.donated(arguments))
        executable, operands = self.executable(traced, arguments, avals)
        repeatable = self.options.device is None and not executable.compilation.calls_python
        is_pending = executable.awaits_better
        if not is_pending:
            self._note_kinds(traced, arguments, is_new, repeatable)
        if watchers:
            records.publish(records.Started(traced.number, self.name, "run", time.time()))
        results = executable(operands, avals)
        if dispatched:
            tell_dispatched(traced.number, results)
        fast = executable.fastpath(traced.out_structure, operands) if repeatable else None
        return (
            traced.out_structure.unflatten(results),
            fast,
            is_pending,
        )  # jaxlib must miss again to get the optimized version

    def _within(self, traced: TracedCall, arguments: Arguments) -> list[Any]:
        """Return the results of a call within another program, where it becomes an equation."""
        program, operands = traced.program, constrained_operands(self.function, self.options, arguments)
        results = evaluate(program, *operands) if self.options.inline else call(program, operands)
        return constrained_results(self.name, self.options, traced.out_structure, results)

    def cache_miss_apart(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Run a call of a function with static arguments, whose values jaxlib might confuse.

        See :meth:`cache_miss`.
        """
        if STATE.trace is None and self.apart is not None:
            statics = self.apart.confusable(args, kwargs)
            if statics is not None:
                return self.apart.call(statics, args, kwargs), None, False
        return self.cache_miss(*args, **kwargs)

    def executable(
        self, traced: TracedCall, arguments: Arguments, avals: Sequence[ShapedArray]
    ) -> tuple[Executable, Sequence[Any]]:
        """Return the executable for a call, and the operands on its device."""
        operands: Sequence[Any] = arguments.operands
        device = self.options.device
        if device is not None:
            operands = [put(x, aval, device) for x, aval in zip(operands, avals, strict=True)]
        request = self.request(traced, arguments)
        executable = executable_of(request, self.place(arguments, avals, traced))
        return executable, operands

    def request(self, traced: TracedCall, arguments: Arguments) -> CompileRequest:
        """Return the compile request of a call."""
        return CompileRequest(traced.program, self.options.compile, self.donated(arguments), traced.number)

    def place(self, arguments: Arguments, avals: Sequence[ShapedArray], traced: TracedCall) -> Place:
        """Return where a call runs."""
        device, in_shardings, out_shardings = self.options.device, self.options.in_shardings, self.options.out_shardings
        if in_shardings is not None or out_shardings is not None:
            result_types = traced.out_structure, traced.program.out_avals
            return place_told(self.function, arguments, avals, result_types, in_shardings, out_shardings)
        return place_of(arguments.operands) if device is None else Place(device, True)

    def split(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Arguments:
        """Flatten a call's dynamic arguments and separate the static ones."""
        return split(self.function, self.options, args, kwargs)

    def avals(self, arguments: Arguments) -> tuple[ShapedArray, ...]:
        """Return the types of the operands; raise TypeError naming an argument that is not an array."""
        avals = avals_of(self.function, arguments)
        in_shardings = self.options.in_shardings
        return avals if in_shardings is None else types_told(self.function, arguments, avals, in_shardings)

    def trace(self, arguments: Arguments, avals: tuple[ShapedArray, ...]) -> TracedCall:
        """Return the trace for a call's signature, cached or new."""
        return self._trace_of(arguments, avals)[0]

    def _trace_of(self, arguments: Arguments, avals: tuple[ShapedArray, ...]) -> tuple[TracedCall, bool]:
        changes = process_changes.value
        signature = Signature(arguments.structure, avals, arguments.positional, arguments.named, settings_of_trace())
        traced_call = self.traces.get(signature)
        if traced_call is not None:
            return traced_call, False
        traced_call = self._trace(arguments, signature)
        settings_unchanged = unchanged_since(changes)
        if settings_unchanged and not any(isinstance(c, Tracer) for c in traced_call.program.consts):
            self.traces[signature] = traced_call
        return traced_call, True

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
        """Return the program for a call's arguments, and the structure of its results."""
        structures: list[Any] = []

        def flat(*operands: Any) -> list[Any]:
            args, kwargs = join(arguments, operands)
            results, structure = flatten_results(self.function(*args, **kwargs))
            structures.append(structure)
            return check_results(self.name, results, structure, "a jitted function")

        program = stage(flat, avals, self.name, self._names_for(arguments.structure))
        return program, structures[0]

    def _names_for(self, structure: Any) -> Callable[[], list[str]]:
        """Return a function that computes the operands' names on request.

        It references neither the function nor the arguments, because a program would keep them alive with it, and a
        trace that references its function is never freed (see ``traces.py``).
        """
        return functools.partial(names_of_leaves, self.parameter_names(number_of_arguments(structure)), structure)

    def _note_kinds(self, traced: TracedCall, arguments: Arguments, new: bool, repeatable: bool) -> None:
        """Record the kinds of operands that jaxlib's cache will have, and report why it did not have this call."""
        kinds = kinds_of(arguments.operands)
        if not new and traced.kinds and somebody_listens():
            names = functools.partial(self.argument_names, arguments)
            reason = miss_reason(traced.kinds, kinds, names, repeatable)
            tell_missed(self.name, traced.number, reason._replace(fix="") if is_of_library(self.function) else reason)
        if kinds not in traced.kinds and len(traced.kinds) < _MOST_KINDS:
            traced.kinds.append(kinds)

    def argument_names(self, arguments: Arguments) -> list[str]:
        """Return the user's name of each operand, such as ``params[0]['w']``."""
        return operand_names(self.function, arguments.structure)

    def parameter_names(self, count: int) -> list[str]:
        """Return the names of the first ``count`` positional arguments."""
        return parameter_names(self.function, count)

    def donated(self, arguments: Arguments) -> tuple[bool, ...]:
        """Return the mask of operands whose memory may be reused."""
        return donated(self.options, arguments)

    # Methods of jitted functions -------------------------------------------------------------------------------------

    def stage_traced(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Traced:
        """Trace a call and return it as the first stage."""
        arguments = self.split(args, kwargs)
        values_or_types = [_known(x) for x in arguments.operands]
        types = self.avals(arguments._replace(operands=values_or_types))
        traced = self.trace(arguments, types)
        execution_place = self.place(arguments._replace(operands=values_or_types), types, traced)
        arguments_without_data = arguments._replace(
            operands=[None] * len(arguments.operands)
        )  # stages need the number of operands, not the data
        return Traced(
            self.function,
            self.options,
            arguments_without_data,
            traced.program,
            traced.out_structure,
            traced.number,
            execution_place,
        )

    def clear(self) -> None:
        """Clear the traces and everything compiled from them."""
        self.traces.clear()
        if self.apart is not None:
            self.apart.clear()


class _TypeOnly:
    """Operand of which only the type is known."""

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval


def _known(x: Any) -> Any:
    """Return an operand that is not computed with: its value, or its type alone."""
    aval = None if is_value(x) else described(x)
    return x if aval is None else _TypeOnly(aval)
