"""Vectorization of functions and programs: applied to all examples of a batch at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ..errors import TracerError
from ..ir.avals import ShapedArray, in_words
from ..ir.jaxpr import ClosedJaxpr
from ..ir.markers import NOT_MAPPED
from ..ir.operation import Operation
from ..key_types import is_key
from ..operations.shapes import mapped_in_front, moveaxis
from ..recent import Recent
from ..runtime.boot import checked_traces, enable_x64
from ..trace.bind import bind
from ..trace.checks import raise_leaked_tracers
from ..trace.jaxpr_trace import stage
from ..trace.state import STATE
from ..trace.values import aval_of
from ..xla.system.hooks import HOOKS
from .batch_trace import BatchTrace, BatchTracer, NamedBatchTrace, axis_of_rule, with_axis, without_axis
from .dce import dependence
from .evaluate import evaluate
from .staging import stage_held


def batch(
    function: Callable[..., Sequence[Any]],
    operands: Sequence[Any],
    axes: Sequence[Any],
    axis: tuple[Hashable, int] | None = None,
) -> tuple[list[Any], list[Any]]:
    """Apply a flat function to all examples at once; return its flat results and their mapped axes.

    ``axis`` is the name and size of the mapped axis, for functions that use it in collectives.
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


def are_alike(
    function: Callable[..., Sequence[Any]],
    operands: Sequence[Any],
    axes: Sequence[Any],
    axis: tuple[Hashable, int] | None,
    result_indices: Sequence[int],
) -> bool:
    """Return whether the results at ``result_indices`` do not depend on the mapped operands.

    The flat function is staged to find out.
    """
    mapped = [a is not NOT_MAPPED for a in axes]

    def apply_to_example(*examples: Any) -> Sequence[Any]:
        remaining = iter(examples)
        return function(*(next(remaining) if m else x for x, m in zip(operands, mapped, strict=True)))

    types = [without_axis(aval_of(x), a) for x, a, m in zip(operands, axes, mapped, strict=True) if m]
    previous = STATE.axes
    try:
        if axis is not None:
            STATE.axes = (*(outer for outer in previous if outer[0] != axis[0]), axis)
        program = stage(apply_to_example, types)
    except TracerError:  # the function inspects its values, a dependence that operations do not show
        return False
    finally:
        STATE.axes = previous
    depending = dependence(program, [True] * len(types))
    return not any(depending[i] for i in result_indices)


def batch_program(
    program: ClosedJaxpr, axes: tuple[Any, ...], size: int, force: tuple[bool, ...] | None = None
) -> tuple[ClosedJaxpr, tuple[Any, ...]]:
    """Return the batched form of a program and the mapped axes of its results, for operands mapped over ``axes``.

    Results marked in ``force`` are mapped along axis 0 whether or not they differ from example to example. To be
    called from a ``batch_rule``, which determines the named axis that the program may use in collectives.
    """
    named = axis_of_rule()  # needed even if no equation uses it: rules that users write may, when they run
    key = ("batch", axes, size, force, named)
    entry = program.derived.get(key)
    if entry is None:
        out_axes: list[Any] = []

        def run_batched(*operands: Any) -> list[Any]:
            results, found_axes = batch(lambda *xs: evaluate(program, *xs), operands, axes, named)
            if force is not None:
                results = [
                    mapped_in_front(y, a, size) if f else y for y, a, f in zip(results, found_axes, force, strict=True)
                ]
                found_axes = [0 if f else a for a, f in zip(found_axes, force, strict=True)]
            out_axes[:] = found_axes
            return results

        avals = [
            aval if axis is NOT_MAPPED else with_axis(aval, axis, size)
            for aval, axis in zip(program.in_avals, axes, strict=True)
        ]
        entry = program.derived[key] = (stage_held(run_batched, avals, program.name), tuple(out_axes))
    return entry


# Keys ---------------------------------------------------------------------------------------------------------------

_programs_on_words: Recent[Any, ClosedJaxpr] = Recent(256)


def on_words(operation: Operation, types: Sequence[ShapedArray]) -> ClosedJaxpr:
    """Return an operation on keys as a program on their words, which are a batch along the last axis."""
    key = (operation, tuple(types), enable_x64.value)
    program = _programs_on_words.get(key) or _programs_on_words.again(key)
    if program is not None:
        return program
    axes = [len(aval.shape) if is_key(aval.dtype) else NOT_MAPPED for aval in types]

    def run_on_physical(*operands: Any) -> list[Any]:
        results, out_axes = batch(lambda *xs: bind(operation, *xs), operands, axes)
        return [moveaxis(y, axis, len(aval_of(y).shape) - 1) for y, axis in zip(results, out_axes, strict=True)]

    return _programs_on_words.keep(key, stage(run_on_physical, [in_words(aval) for aval in types], operation.name))


HOOKS.on_words = on_words
