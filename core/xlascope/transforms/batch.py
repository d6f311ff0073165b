"""Vectorization of functions and programs: applied to all examples of a batch at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ..errors import TracerError
from ..ir.avals import ShapedArray, physical_aval
from ..ir.jaxpr import ClosedJaxpr
from ..ir.markers import NOT_MAPPED
from ..ir.operation import Operation
from ..key_types import is_key
from ..lru_cache import FastLRUCache
from ..operations.shapes import mapped_in_front, moveaxis
from ..runtime.boot import checked_traces, enable_x64
from ..trace.bind import bind
from ..trace.checks import raise_leaked_tracers
from ..trace.jaxpr_trace import stage
from ..trace.state import STATE
from ..trace.values import aval_of
from ..xla.system.hooks import HOOKS
from .batch_trace import BatchTrace, BatchTracer, NamedBatchTrace, current_rule_axis, insert_axis, remove_axis
from .dce import find_dependent_results
from .evaluate import evaluate
from .staging import stage_with_consts


def batch(
    function: Callable[..., Sequence[Any]],
    operands: Sequence[Any],
    axes: Sequence[Any],
    axis: tuple[Hashable, int] | None = None,
) -> tuple[list[Any], list[Any]]:
    """Apply a function to all examples of a batch at once; return its results and their batch axes.

    ``function`` takes operands and returns a sequence of results. ``axes`` has the batch axis of each
    operand, or ``NOT_MAPPED`` for one that all examples share; so has the second list returned for the
    results. ``axis`` is the name and size of the mapped axis, for functions that use it in collectives.
    """
    previous, bound = STATE.trace, STATE.axes
    trace = BatchTrace(previous) if axis is None else NamedBatchTrace(previous, *axis)
    tracers = [x if a is NOT_MAPPED else BatchTracer(trace, x, a) for x, a in zip(operands, axes, strict=True)]
    try:
        STATE.trace = trace
        if axis is not None:
            STATE.axes = (*(outer for outer in bound if outer[0] != axis[0]), axis)
        results = function(*tracers)
    finally:
        STATE.trace, STATE.axes = previous, bound
        trace.alive = False
    owned = [y.__class__ is BatchTracer and y._trace is trace for y in results]
    outputs = (
        [y.value if is_own else y for y, is_own in zip(results, owned, strict=True)],
        [y.axis if is_own else NOT_MAPPED for y, is_own in zip(results, owned, strict=True)],
    )
    if checked_traces.value:
        del tracers, results
        raise_leaked_tracers(trace)
    return outputs


def are_independent_of_batch(
    function: Callable[..., Sequence[Any]],
    operands: Sequence[Any],
    axes: Sequence[Any],
    axis: tuple[Hashable, int] | None,
    result_indices: Sequence[int],
) -> bool:
    """Return whether the results at ``result_indices`` are the same for all examples of a batch.

    The other arguments are those of :func:`batch`. The function is staged to find out. The result is False
    for a function that inspects values.
    """
    mapped = [a is not NOT_MAPPED for a in axes]

    def apply_to_example(*examples: Any) -> Sequence[Any]:
        remaining = iter(examples)
        return function(*(next(remaining) if m else x for x, m in zip(operands, mapped, strict=True)))

    types = [remove_axis(aval_of(x), a) for x, a, m in zip(operands, axes, mapped, strict=True) if m]
    previous = STATE.axes
    try:
        if axis is not None:
            STATE.axes = (*(outer for outer in previous if outer[0] != axis[0]), axis)
        program = stage(apply_to_example, types)
    except TracerError:  # the function inspects its values, a dependence that operations do not show
        return False
    finally:
        STATE.axes = previous
    depending = find_dependent_results(program, [True] * len(types))
    return not any(depending[i] for i in result_indices)


def batch_program(
    program: ClosedJaxpr, axes: tuple[Any, ...], size: int, force: tuple[bool, ...] | None = None
) -> tuple[ClosedJaxpr, tuple[Any, ...]]:
    """Return the program for a whole batch, and the batch axes of its results (``NOT_MAPPED`` for those shared by all).

    ``axes`` are the batch axes of the operands, ``size`` is the number of examples. Results marked in
    ``force`` are mapped along axis 0 whether or not they differ from example to example. To be called from a
    ``batch_rule``, which determines the named axis that the program may use in collectives.
    """
    named_axis = current_rule_axis()  # needed even if no equation uses it: rules that users write may, when they run
    key = ("batch", axes, size, force, named_axis)
    entry = program.derived.get(key)
    if entry is None:
        out_axes: list[Any] = []

        def run_batched(*operands: Any) -> list[Any]:
            results, found_axes = batch(lambda *xs: evaluate(program, *xs), operands, axes, named_axis)
            if force is not None:
                results = [
                    mapped_in_front(y, a, size) if f else y for y, a, f in zip(results, found_axes, force, strict=True)
                ]
                found_axes = [0 if f else a for a, f in zip(found_axes, force, strict=True)]
            out_axes[:] = found_axes
            return results

        avals = [
            aval if axis is NOT_MAPPED else insert_axis(aval, axis, size)
            for aval, axis in zip(program.in_avals, axes, strict=True)
        ]
        entry = program.derived[key] = (stage_with_consts(run_batched, avals, program.name), tuple(out_axes))
    return entry


# Keys ---------------------------------------------------------------------------------------------------------------

_physical_programs: FastLRUCache[Any, ClosedJaxpr] = FastLRUCache(256)


def lower_on_physical(operation: Operation, types: Sequence[ShapedArray]) -> ClosedJaxpr:
    """Return a program that applies an operation on typed keys to their words, which lie along a new last axis.

    ``types`` are the types of the operands; the program takes their physical types.
    """
    key = (operation, tuple(types), enable_x64.value)
    program = _physical_programs.get(key) or _physical_programs.promote(key)
    if program is not None:
        return program
    axes = [len(aval.shape) if is_key(aval.dtype) else NOT_MAPPED for aval in types]

    def run_on_physical(*operands: Any) -> list[Any]:
        results, out_axes = batch(lambda *xs: bind(operation, *xs), operands, axes)
        return [moveaxis(y, axis, len(aval_of(y).shape) - 1) for y, axis in zip(results, out_axes, strict=True)]

    return _physical_programs.insert(
        key, stage(run_on_physical, [physical_aval(aval) for aval in types], operation.name)
    )


HOOKS.lower_on_physical = lower_on_physical
