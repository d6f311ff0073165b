"""Functions of one example, and programs of them, for all examples at once."""

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
    """The flat results of a flat function for all examples at once, and the axes along which they lie.

    ``axis`` is the name and size of the mapped axis, for functions that cross it.
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
    mine = [y.__class__ is BatchTracer and y._trace is trace for y in results]
    found = (
        [y.value if own else y for y, own in zip(results, mine, strict=True)],
        [y.axis if own else NOT_MAPPED for y, own in zip(results, mine, strict=True)],
    )
    if checked_traces.value:
        del tracers, results
        raise_leaked_tracers(trace)
    return found


def are_alike(
    function: Callable[..., Sequence[Any]],
    operands: Sequence[Any],
    axes: Sequence[Any],
    axis: tuple[Hashable, int] | None,
    which: Sequence[int],
) -> bool:
    """Whether those results of a flat function do not depend on the mapped operands: found out by staging it."""
    mapped = [a is not NOT_MAPPED for a in axes]

    def of_one_example(*examples: Any) -> Sequence[Any]:
        given = iter(examples)
        return function(*(next(given) if m else x for x, m in zip(operands, mapped, strict=True)))

    types = [without_axis(aval_of(x), a) for x, a, m in zip(operands, axes, mapped, strict=True) if m]
    previous = STATE.axes
    try:
        if axis is not None:
            STATE.axes = (*(outer for outer in previous if outer[0] != axis[0]), axis)
        program = stage(of_one_example, types)
    except TracerError:  # it looks at what it computes, which the operations that it is made of do not show
        return False
    finally:
        STATE.axes = previous
    depending = dependence(program, [True] * len(types))
    return not any(depending[i] for i in which)


def batch_program(
    program: ClosedJaxpr, axes: tuple[Any, ...], size: int, forced: tuple[bool, ...] | None = None
) -> tuple[ClosedJaxpr, tuple[Any, ...]]:
    """A program for all examples at once, and the axes of its results; ``axes`` are those of its operands.

    Results marked in ``forced`` are mapped along axis 0 whether or not they differ from example to example. Called from
    a ``batch_rule``, which says whose axis it is that the program may cross.
    """
    named = axis_of_rule()  # needed even if no equation crosses it: rules that users write may, when they are run
    key = ("batch", axes, size, forced, named)
    found = program.derived.get(key)
    if found is None:
        out_axes: list[Any] = []

        def batched(*operands: Any) -> list[Any]:
            results, found_axes = batch(lambda *xs: evaluate(program, *xs), operands, axes, named)
            if forced is not None:
                results = [
                    mapped_in_front(y, a, size) if f else y for y, a, f in zip(results, found_axes, forced, strict=True)
                ]
                found_axes = [0 if f else a for a, f in zip(found_axes, forced, strict=True)]
            out_axes[:] = found_axes
            return results

        avals = [
            aval if axis is NOT_MAPPED else with_axis(aval, axis, size)
            for aval, axis in zip(program.in_avals, axes, strict=True)
        ]
        found = program.derived[key] = (stage_held(batched, avals, program.name), tuple(out_axes))
    return found


# Keys ---------------------------------------------------------------------------------------------------------------

_programs_on_words: Recent[Any, ClosedJaxpr] = Recent(256)


def on_words(operation: Operation, types: Sequence[ShapedArray]) -> ClosedJaxpr:
    """The program of an operation that makes keys of keys, for their words: these are examples along a last axis."""
    key = (operation, tuple(types), enable_x64.value)
    found = _programs_on_words.get(key) or _programs_on_words.again(key)
    if found is not None:
        return found
    axes = [len(aval.shape) if is_key(aval.dtype) else NOT_MAPPED for aval in types]

    def moved(*operands: Any) -> list[Any]:
        results, out_axes = batch(lambda *xs: bind(operation, *xs), operands, axes)
        return [moveaxis(y, axis, len(aval_of(y).shape) - 1) for y, axis in zip(results, out_axes, strict=True)]

    return _programs_on_words.keep(key, stage(moved, [in_words(aval) for aval in types], operation.name))


HOOKS.on_words = on_words
