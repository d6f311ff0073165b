"""The Python side of jit: trace once per kind of arguments, compile once, then repeat calls in jaxlib's C++."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

from ... import records
from ...ir.avals import ShapedArray, ShapeDtypeStruct
from ...ir.jaxpr import ClosedJaxpr
from ...records.stage_spans import stage_span
from ...records.watchers import watchers
from ...runtime.boot import disable_jit, process_changes, unchanged_since
from ...trace.jaxpr_trace import stage
from ...trace.operand_coercion import aval_from_attributes, is_value, unwrap_operand
from ...trace.state import STATE
from ...trace.tracer import TracerBase, leaked_error
from ...transforms.evaluate import evaluate
from ...xla.arrays.transfers import put_on_device
from ...xla.compilation.compile_request import CompileRequest
from ...xla.execution.executables import Executable, find_or_compile
from ...xla.execution.placement import Placement, TypeOnlyOperand, placement_of
from ...xla.sharding.named_shardings import aval_with_sharding
from ..programs.call import bind_call
from ..programs.function_names import count_arguments, name_of, names_of_leaves, operand_names, parameter_names
from ..programs.interning import settings_of_trace
from ..programs.values import check_results, flatten_results
from .arguments import CallArguments, JitOptions, avals_of, donation_mask, merge_arguments, split_arguments
from .cache_miss_reasons import explain_cache_miss, operand_kinds
from .donation import warn_of_unusable_donations
from .events import (
    call_listeners,
    call_span,
    dispatch_listeners,
    has_listeners,
    notify_call,
    notify_dispatch,
    notify_unrun_call,
    report_cache_miss,
    report_trace,
    report_trace_failure,
    unrun_call_listeners,
)
from .retrace_reasons import explain_retrace, is_of_library, record_function
from .shardings import apply_in_shardings, constrain_operands, constrain_results, place_for_shardings
from .stages import Traced
from .static_arg_cache import StaticArgCache
from .trace_cache import TracedCall, get_traces, register_trace_owner
from .trace_signature import TraceSignature

_MAX_OPERAND_KINDS = 32


class Jitted:
    """Python side of a jitted function, which runs when jaxlib's call cache misses.

    ``traces`` are the function's traces by signature, shared by equal ``options``.
    """

    def __init__(self, function: Callable[..., Any], options: JitOptions) -> None:
        self.function = function
        self.options = options
        self.name = name_of(function)
        #: Whether the next call is sent through Python on purpose, which is no miss of jaxlib's call cache to report.
        self.expects_miss = False
        #: The number of those who watch each call: while there is one, jaxlib may not repeat calls in C++.
        self.call_watchers = 0
        self.traces = get_traces(function, options)
        statics = (options.static_argnums or options.static_argnames) and not options.normalized
        self.static_arg_cache = StaticArgCache(self) if statics else None
        if not self.traces:
            record_function(function)
        register_trace_owner(self)

    def cache_miss(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Run a call that jaxlib's call cache does not have.

        Returns the results, the fast-path data with which jaxlib repeats the call without Python (None if it cannot),
        and whether jaxlib must not cache the call yet.
        """
        if disable_jit.value:  # beside jax, jaxlib reads jax's setting
            if unrun_call_listeners:
                notify_unrun_call(self)
            return self.function(*args, **kwargs), None, False
        arguments = self.split_arguments(args, kwargs)
        avals = self.avals(arguments)
        traced, is_new = self._get_trace(arguments, avals)
        program = traced.program
        if STATE.trace is not None or any(isinstance(c, TracerBase) for c in program.consts):
            results = self._call_in_trace(traced, arguments)
            return traced.out_structure.unflatten(results), None, False
        arguments = arguments._replace(operands=[unwrap_operand(x) for x in arguments.operands])
        for x in arguments.operands:
            if isinstance(x, TracerBase):  # no trace is current, so the tracer's trace has ended
                raise leaked_error(x)
        if is_new and (self.options.donate_argnums or self.options.donate_argnames):
            warn_of_unusable_donations(program, self.donation_mask(arguments))
        executable, operands = self.executable(traced, arguments, avals)
        repeatable = not self.call_watchers and self.options.device is None and not executable.compilation.calls_python
        is_pending = executable.is_optimization_pending
        if not is_pending:
            self._note_kinds(traced, arguments, is_new, repeatable)
        if call_listeners:
            notify_call(self, args, kwargs)
        if watchers:
            records.publish(records.Started(traced.number, self.name, "run", time.time()))
        with call_span(self.function, traced.number, self.name):
            results = executable(operands, avals)
        if dispatch_listeners:
            notify_dispatch(traced.number, results)
        fast = executable.fastpath_data(traced.out_structure, operands) if repeatable else None
        return (
            traced.out_structure.unflatten(results),
            fast,
            is_pending,
        )  # jaxlib must miss again to get the optimized version

    def _call_in_trace(self, traced: TracedCall, arguments: CallArguments) -> list[Any]:
        """Return the flat results of a call under another trace, where it becomes an equation, or is inlined.

        ``traced`` is the traced function, ``arguments`` are those of the call.
        """
        if unrun_call_listeners:
            notify_unrun_call(self)
        program, operands = traced.program, constrain_operands(self.function, self.options, arguments)
        results = evaluate(program, *operands) if self.options.inline else bind_call(program, operands)
        return constrain_results(self.name, self.options, traced.out_structure, results)

    def cache_miss_with_statics(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Run a call of a function with static arguments, and return the same as :meth:`cache_miss`.

        Static values that jaxlib cannot tell apart go through ``static_arg_cache``.
        """
        if STATE.trace is None and self.static_arg_cache is not None:
            statics = self.static_arg_cache.find_confusable_statics(args, kwargs)
            if statics is not None:
                return self.static_arg_cache.call(statics, args, kwargs), None, False
        return self.cache_miss(*args, **kwargs)

    def executable(
        self, traced: TracedCall, arguments: CallArguments, avals: Sequence[ShapedArray]
    ) -> tuple[Executable, Sequence[Any]]:
        """Return the executable for a call, compiled if need be, and the operands, moved to the options' device."""
        operands: Sequence[Any] = arguments.operands
        device = self.options.device
        if device is not None:
            operands = [put_on_device(x, aval, device) for x, aval in zip(operands, avals, strict=True)]
        request = self.request(traced, arguments)
        executable = find_or_compile(request, self.resolve_place(arguments, avals, traced))
        return executable, operands

    def request(self, traced: TracedCall, arguments: CallArguments) -> CompileRequest:
        """Return the compilation request for a call."""
        return CompileRequest(traced.program, self.options.compile, self.donation_mask(arguments), traced.number)

    def resolve_place(self, arguments: CallArguments, avals: Sequence[ShapedArray], traced: TracedCall) -> Placement:
        """Return the placement of a call: from shardings or device of the options, else from the operands."""
        device, in_shardings, out_shardings = self.options.device, self.options.in_shardings, self.options.out_shardings
        if in_shardings is not None or out_shardings is not None:
            result_types = traced.out_structure, traced.program.out_avals
            return place_for_shardings(self.function, arguments, avals, result_types, in_shardings, out_shardings)
        return placement_of(arguments.operands) if device is None else Placement(device, True)

    def split_arguments(self, args: Sequence[Any], kwargs: dict[str, Any]) -> CallArguments:
        """Return a call's arguments split into static values and operands, the leaves of all others.

        Raises ValueError for a static argument that has no hash or is a traced value, as
        :func:`~.arguments.split_arguments` does.
        """
        return split_arguments(self.function, self.options, args, kwargs)

    def avals(self, arguments: CallArguments) -> tuple[ShapedArray, ...]:
        """Return the types of the operands, with the explicit axes of ``in_shardings``.

        Raises TypeError, naming the argument, for one that is not an array.
        """
        avals = avals_of(self.function, arguments)
        in_shardings = self.options.in_shardings
        return avals if in_shardings is None else apply_in_shardings(self.function, arguments, avals, in_shardings)

    def trace(self, arguments: CallArguments, avals: tuple[ShapedArray, ...]) -> TracedCall:
        """Return the trace for a call's signature from the cache, or trace the function and cache the result."""
        return self._get_trace(arguments, avals)[0]

    def find_trace(self, args: Sequence[Any], kwargs: dict[str, Any] | None) -> TracedCall | None:
        """Return the trace of a call that has been made, None if it is not in the cache any more."""
        try:
            arguments = self.split_arguments(args, kwargs or {})
            return self.traces.get(_signature_of(arguments, self.avals(arguments)))
        except Exception:  # arguments that were changed or deleted since, or whose comparison raises
            return None

    def _get_trace(self, arguments: CallArguments, avals: tuple[ShapedArray, ...]) -> tuple[TracedCall, bool]:
        """Return the trace for a call's signature, and whether it is new.

        A new trace is not cached if it closes over tracers or a setting changed meanwhile.
        """
        changes = process_changes.value
        signature = _signature_of(arguments, avals)
        traced_call = self.traces.get(signature)
        if traced_call is not None:
            return traced_call, False
        traced_call = self._trace(arguments, signature)
        settings_unchanged = unchanged_since(changes)
        if settings_unchanged and not any(isinstance(c, TracerBase) for c in traced_call.program.consts):
            self.traces[signature] = traced_call
        return traced_call, True

    def _trace(self, arguments: CallArguments, signature: TraceSignature) -> TracedCall:
        """Trace the function for a signature, and publish the event with the reason; return the trace.

        ``arguments`` are those of the call that has the ``signature``. A failure is published, too, and raised.
        """
        number = records.next_program()
        began, clock = time.time(), time.perf_counter()
        if watchers:
            records.publish(records.Started(number, self.display_name, "trace", began))
        try:
            with stage_span("trace", number, self.name):
                program, structure = self._stage(arguments, signature.avals)
        except BaseException as error:
            report_trace_failure(self.display_name, number, began, error)
            raise
        seconds = time.perf_counter() - clock
        names = functools.partial(self.argument_names, arguments)
        reason = explain_retrace(self.function, self.traces.all(), signature, names, self.parameter_names)
        if is_of_library(self.function):
            reason = reason._replace(fix="", origin="operation")
        report_trace(self.name, program, number, began, seconds, reason)
        return TracedCall(program, structure, number, began, seconds, reason, [])

    @property
    def display_name(self) -> str:
        """Return the name to display before there is a trace: of a library function without leading underscores."""
        return self.name.lstrip("_") if is_of_library(self.function) else self.name

    def _stage(self, arguments: CallArguments, avals: Sequence[ShapedArray]) -> tuple[ClosedJaxpr, Any]:
        """Return the program of the function for a call's arguments, and the structure of its results."""
        structures: list[Any] = []

        def flat(*operands: Any) -> list[Any]:
            args, kwargs = merge_arguments(arguments, operands)
            results, structure = flatten_results(self.function(*args, **kwargs))
            structures.append(structure)
            return check_results(self.name, results, structure, "a jitted function", self.function)

        program = stage(flat, avals, self.name, self._names_for(arguments.structure))
        return program, structures[0]

    def _names_for(self, structure: Any) -> Callable[[], list[str]]:
        """Return a function that computes the operands' names when they are needed.

        ``structure`` is that of the arguments. The returned function references neither the jitted function nor the
        arguments, because a program would keep them alive with it (see ``trace_cache.py``).
        """
        return functools.partial(names_of_leaves, self.parameter_names(count_arguments(structure)), structure)

    def _note_kinds(self, traced: TracedCall, arguments: CallArguments, new: bool, repeatable: bool) -> None:
        """Record the operand kinds that jaxlib's call cache has from now on, and report why it did not have this call.

        ``new`` says that the call was traced just now, ``repeatable`` that jaxlib can repeat it without Python.
        """
        kinds = operand_kinds(arguments.operands)
        is_expected, self.expects_miss = self.expects_miss or self.call_watchers > 0, False
        if not new and traced.kinds and not is_expected and has_listeners():
            names = functools.partial(self.argument_names, arguments)
            reason = explain_cache_miss(traced.kinds, kinds, names, repeatable)
            report_cache_miss(
                self.name, traced.number, reason._replace(fix="") if is_of_library(self.function) else reason
            )
        if kinds not in traced.kinds and len(traced.kinds) < _MAX_OPERAND_KINDS:
            traced.kinds.append(kinds)

    def argument_names(self, arguments: CallArguments) -> list[str]:
        """Return the user's name of each operand, such as ``params[0]['w']``."""
        return operand_names(self.function, arguments.structure)

    def parameter_names(self, count: int) -> list[str]:
        """Return the names of the first ``count`` positional arguments."""
        return parameter_names(self.function, count)

    def donation_mask(self, arguments: CallArguments) -> tuple[bool, ...]:
        """Return the mask of operands whose memory may be reused for results; () for none."""
        return donation_mask(self.options, arguments)

    # Methods of jitted functions -------------------------------------------------------------------------------------

    def trace_to_stage(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Traced:
        """Trace a call, whose arguments may be types in place of arrays, and return it as the first stage."""
        arguments = self.split_arguments(args, kwargs)
        values_or_types = [_value_or_type(x) for x in arguments.operands]
        types = self.avals(arguments._replace(operands=values_or_types))
        traced = self.trace(arguments, types)
        execution_place = self.resolve_place(arguments._replace(operands=values_or_types), types, traced)
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
        """Drop the traces and everything compiled from them."""
        self.traces.clear()
        if self.static_arg_cache is not None:
            self.static_arg_cache.clear()


def _signature_of(arguments: CallArguments, avals: tuple[ShapedArray, ...]) -> TraceSignature:
    return TraceSignature(arguments.structure, avals, arguments.positional, arguments.named, settings_of_trace())


def _value_or_type(x: Any) -> Any:
    """Return ``x`` itself if it is a value, or an object with its type alone if it only has a shape and dtype."""
    aval = None if is_value(x) else aval_from_attributes(x)
    if aval is None:
        return x
    sharding = x.sharding if isinstance(x, ShapeDtypeStruct) else None
    return TypeOnlyOperand(aval_with_sharding(aval, sharding), sharding)
