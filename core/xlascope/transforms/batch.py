"""Vectorization: values with a mapped axis, each operation by its ``batch_rule``.

A mapped axis may have a name. Collectives that cross it are carried out by the trace that maps over it, whether or not
their operands are mapped; so are the programs held by other operations (a jitted call, a loop) that contain such
collectives. The rules of those operations learn of the name through ``STATE.batch``, while they run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ..ir.avals import ShapedArray, shaped
from ..ir.jaxpr import ClosedJaxpr
from ..ir.markers import NOT_MAPPED
from ..ir.operation import Operation
from ..operations.collectives import Collective, axis_names_of
from ..operations.shapes import mapped_in_front
from ..runtime.boot import checked_traces
from ..trace.checks import raise_leaked_tracers
from ..trace.state import STATE
from ..trace.tracer import Tracer
from ..trace.values import aval_of
from ..xla.dispatch import run
from .evaluate import evaluate
from .staging import stage_held


class BatchTracer(Tracer):
    """One example of a batch: ``value`` holds them all, along ``axis``."""

    __slots__ = ("_trace", "aval", "axis", "value")

    def __init__(self, trace: BatchTrace, value: Any, axis: int) -> None:
        self._trace = trace
        self.value = value
        self.axis = axis
        whole = aval_of(value)
        self.aval = without_axis(whole, axis)

    def inner(self) -> Any:
        return self.value


class BatchTrace:
    """Applies each operation to all examples at once."""

    __slots__ = ("alive", "parent", "staging")

    def __init__(self, parent: Any) -> None:
        self.parent = parent
        self.staging: bool = parent is not None and parent.staging
        self.alive = True

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """The results of an operation, mapped where an operand is."""
        if operation.stage_rule is not None:  # what its function closes over may be mapped as well
            return operation.stage_rule(self, operands)
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


class NamedBatchTrace(BatchTrace):
    """Applies each operation to all examples along an axis with a name, and carries out what crosses it."""

    __slots__ = ("name", "size")

    def __init__(self, parent: Any, name: Hashable, size: int) -> None:
        super().__init__(parent)
        self.name = name
        self.size = size

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """The results of an operation, mapped where an operand is or where the operation crosses the axis."""
        if isinstance(operation, Collective) and self.name in operation.axes:
            return self._crossed(operation, operands)
        if not operation.composite:
            return super().bind(operation, operands)
        previous = STATE.batch
        STATE.batch = self
        try:
            if any(self.name in axis_names_of(body) for body in operation.bodies()):
                return self._applied(operation.batch_rule, *self._apart(operands))
            return super().bind(operation, operands)
        finally:
            STATE.batch = previous

    def _crossed(self, operation: Collective, operands: Sequence[Any]) -> list[Any]:
        operation.abstract_eval([aval_of(x) for x in operands])  # says what does not fit
        previous = STATE.trace
        try:
            STATE.trace = self
            simpler = operation.simpler(operands)
        finally:
            STATE.trace = previous
        if simpler is not None:
            return simpler
        rule = functools.partial(operation.carry_out, name=self.name, size=self.size)
        return self._applied(rule, *self._apart(operands))

    def _apart(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        mine = [x.__class__ is BatchTracer and x._trace is self for x in operands]
        return (
            [x.value if own else x for x, own in zip(operands, mine, strict=True)],
            [x.axis if own else NOT_MAPPED for x, own in zip(operands, mine, strict=True)],
        )

    def _applied(self, rule: Callable[..., Any], values: list[Any], axes: list[Any]) -> list[Any]:
        previous = STATE.trace
        STATE.trace = self.parent
        try:
            results, out_axes = rule(values, axes)
        finally:
            STATE.trace = previous
        return [y if a is NOT_MAPPED else BatchTracer(self, y, a) for y, a in zip(results, out_axes, strict=True)]


def axis_of_rule() -> tuple[Hashable, int] | None:
    """The name and size of the axis that the running ``batch_rule`` of a composite operation maps over; None when the
    axis has no name.

    Rules that batch a function later have to keep it, and hand it to :func:`batch` then.
    """
    trace: NamedBatchTrace | None = STATE.batch
    # A rule binds to the trace outside of its own, which may batch as well: it is not the one that STATE.batch names.
    return (trace.name, trace.size) if trace is not None and trace.parent is STATE.trace else None


def batch_size(operands: Sequence[Any], axes: Sequence[Any]) -> int:
    """The number of examples, for a ``batch_rule``: the size of the mapped axes.

    No operand need be mapped when a program that the operation holds crosses the named axis.
    """
    for x, axis in zip(operands, axes, strict=True):
        if axis is not NOT_MAPPED:
            return int(aval_of(x).shape[axis])
    named = axis_of_rule()
    if named is None:
        raise AssertionError("a batch_rule runs without a mapped operand and without a named axis")
    return named[1]


def without_axis(aval: ShapedArray, axis: int) -> ShapedArray:
    """The type of one example of a batch."""
    return shaped(aval.shape[:axis] + aval.shape[axis + 1 :], aval.dtype, aval.weak_type)


def with_axis(aval: ShapedArray, axis: int, size: int) -> ShapedArray:
    """The type of a batch of ``size`` examples."""
    return shaped((*aval.shape[:axis], size, *aval.shape[axis:]), aval.dtype, aval.weak_type)


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
