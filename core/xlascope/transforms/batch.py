"""Vectorization: values with a mapped axis, each operation by its ``batch_rule``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ir.avals import ShapedArray, shaped
from ..ir.jaxpr import ClosedJaxpr
from ..ir.markers import NOT_MAPPED
from ..ir.operation import Operation
from ..operations.shapes import mapped_in_front
from ..trace.jaxpr_trace import stage
from ..trace.state import STATE
from ..trace.tracer import Tracer
from ..trace.values import aval_of
from ..xla.dispatch import run
from .evaluate import evaluate


class BatchTracer(Tracer):
    """One example of a batch: ``value`` holds them all, along ``axis``."""

    __slots__ = ("_trace", "aval", "axis", "value")

    def __init__(self, trace: BatchTrace, value: Any, axis: int) -> None:
        self._trace = trace
        self.value = value
        self.axis = axis
        whole = aval_of(value)
        self.aval = without_axis(whole, axis)


class BatchTrace:
    """Applies each operation to all examples at once."""

    __slots__ = ("alive", "parent", "staging")

    def __init__(self, parent: Any) -> None:
        self.parent = parent
        self.staging: bool = parent is not None and parent.staging
        self.alive = True

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """The results of an operation, mapped where an operand is."""
        values: list[Any] = []
        axes: list[Any] = []
        mapped = False
        for x in operands:
            if x.__class__ is BatchTracer and x._trace is self:
                values.append(x.value)
                axes.append(x.axis)
                mapped = True
            else:
                values.append(x)
                axes.append(NOT_MAPPED)
        if not mapped:
            return run(operation, values) if self.parent is None else self.parent.bind(operation, values)
        previous = STATE.trace
        STATE.trace = self.parent
        try:
            results, out_axes = operation.batch_rule(values, axes)
        finally:
            STATE.trace = previous
        return [y if a is NOT_MAPPED else BatchTracer(self, y, a) for y, a in zip(results, out_axes, strict=True)]


def without_axis(aval: ShapedArray, axis: int) -> ShapedArray:
    """The type of one example of a batch."""
    return shaped(aval.shape[:axis] + aval.shape[axis + 1 :], aval.dtype, aval.weak_type)


def with_axis(aval: ShapedArray, axis: int, size: int) -> ShapedArray:
    """The type of a batch of ``size`` examples."""
    return shaped((*aval.shape[:axis], size, *aval.shape[axis:]), aval.dtype, aval.weak_type)


def batch(
    function: Callable[..., Sequence[Any]], operands: Sequence[Any], axes: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """The flat results of a flat function for all examples at once, and the axes along which they lie."""
    previous = STATE.trace
    trace = BatchTrace(previous)
    tracers = [x if a is NOT_MAPPED else BatchTracer(trace, x, a) for x, a in zip(operands, axes, strict=True)]
    try:
        STATE.trace = trace
        results = function(*tracers)
    finally:
        STATE.trace = previous
        trace.alive = False
    mine = [y.__class__ is BatchTracer and y._trace is trace for y in results]
    return (
        [y.value if own else y for y, own in zip(results, mine, strict=True)],
        [y.axis if own else NOT_MAPPED for y, own in zip(results, mine, strict=True)],
    )


def batch_program(
    program: ClosedJaxpr, axes: tuple[Any, ...], size: int, forced: tuple[bool, ...] | None = None
) -> tuple[ClosedJaxpr, tuple[Any, ...]]:
    """A program for all examples at once, and the axes of its results; ``axes`` are those of its operands.

    Results marked in ``forced`` are mapped along axis 0 whether or not they differ from example to example.
    """
    key = ("batch", axes, size, forced)
    found = program.derived.get(key)
    if found is None:
        out_axes: list[Any] = []

        def batched(*operands: Any) -> list[Any]:
            results, found_axes = batch(lambda *xs: evaluate(program, *xs), operands, axes)
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
        found = program.derived[key] = (stage(batched, avals, program.name), tuple(out_axes))
    return found
