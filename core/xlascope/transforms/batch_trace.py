"""Vectorization: values with a mapped axis, each operation applied by its ``batch_rule``.

A mapped axis may have a name. Collectives over it are evaluated by the trace that maps over it, whether or
not their operands are mapped; so are the programs held by other operations (a jitted call, a loop) that
contain such collectives. The rules of those operations read the name from ``STATE.batch`` while they run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, NamedTuple

from ..ir.atoms import NO_LINE
from ..ir.avals import ShapedArray, shaped
from ..ir.explicit import with_explicit_axis, without_explicit_axis
from ..ir.markers import NOT_MAPPED
from ..ir.operation import Operation
from ..operations.collectives import Collective, axis_names_of
from ..recent import Recent
from ..runtime.boot import enable_x64, settings_of_traces, trace_settings
from ..trace.jaxpr_trace import bind_each, bind_each_from
from ..trace.planned import ARRAYS
from ..trace.plans import NO_PLAN, Plan, follow, found_plan, kind_of, work_out
from ..trace.source import user_frame, with_line
from ..trace.state import STATE
from ..trace.steps import Steps
from ..trace.tracer import Tracer
from ..trace.values import aval_of
from ..xla.running.eager import run


class BatchTracer(Tracer):
    """One example of a batch: ``value`` holds all examples, along ``axis``."""

    __slots__ = ("_trace", "aval", "axis", "value")

    def __init__(self, trace: BatchTrace, value: Any, axis: int) -> None:
        self._trace = trace
        self.value = value
        self.axis = axis
        batch_aval = aval_of(value)
        self.aval = without_axis(batch_aval, axis)

    def inner(self) -> Any:
        return self.value


ARRAYS.add(BatchTracer)
_new: Callable[[type[BatchTracer]], BatchTracer] = object.__new__


class _BatchedSteps(NamedTuple):
    """Batched form of a sequence of operations.

    ``outputs`` has for each value that is used afterwards its index, its index among the recorded values, its
    mapped axis, and the type of one example.
    """

    plan: Plan
    made: tuple[tuple[int, int, Any, ShapedArray], ...]


#: The entry for operations whose rules have to run.
_ONE_BY_ONE: Final = _BatchedSteps(NO_PLAN, ())


class BatchTrace:
    """Trace that applies each operation to all examples at once."""

    __slots__ = ("alive", "parent", "staging")

    def __init__(self, parent: Any) -> None:
        self.parent = parent
        self.staging: bool = parent is not None and parent.staging
        self.alive = True

    def take(self, steps: Steps, values: list[Any], used: Sequence[int]) -> None:
        """Apply operations in order, by one recorded batched sequence for all of them."""
        origin = STATE.origin
        if origin is None:
            code, lasti = user_frame(2)
        else:
            if origin.lasti == NO_LINE:
                origin = with_line(origin, 3)
            code, lasti = origin.code, origin.lasti
        self.take_from(steps, values, used, code, lasti, origin)

    def take_from(
        self, steps: Steps, values: list[Any], used: Sequence[int], code: Any, lasti: int, origin: Any
    ) -> None:
        """Apply operations like :meth:`emit`, at a known user line and with a known origin, if there is one."""
        parent = self.parent
        inputs: list[Any] = []
        kinds: list[Any] = [enable_x64.value, trace_settings.value and settings_of_traces()]
        mapped = False
        for i in steps.needs:
            x = values[i]
            if x.__class__ is BatchTracer and x._trace is self:
                kinds.append(x.axis)
                x = x.value
                mapped = True
            inputs.append(x)
            kinds.append(x.aval if x.__class__ in ARRAYS else kind_of(x))
        if not mapped:
            if parent is not None:
                parent.take_from(steps, values, used, code, lasti, origin)
            else:
                _take_at_once(steps, values)
            return
        key = tuple(kinds)  # inlined find_trace key
        entry = steps.batched.get(key) or steps.batched.again(key)
        if entry is None:
            entry = steps.batched.keep(key, _batched_steps(self, steps, inputs, values))
        if entry is _ONE_BY_ONE:
            bind_each_from(self, steps, values, used, code, lasti, origin)
            return
        recorded, outputs = entry
        inputs += recorded.literals if self.staging else recorded.constants
        if parent is not None:
            parent.take_from(recorded.steps, inputs, recorded.used, code, lasti, origin)
        else:
            _take_at_once(recorded.steps, inputs)
        values += [None] * (steps.last - steps.first)
        for index, result, axis, aval in outputs:
            if axis is NOT_MAPPED:
                values[index] = inputs[result]
            else:
                values[index] = tracer = _new(BatchTracer)
                tracer._trace = self
                tracer.value = inputs[result]
                tracer.axis = axis
                tracer.aval = aval

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """Apply an operation and return its results, mapped if an operand is."""
        if operation.stage_rule is not None:  # its function may close over mapped values
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
        try:
            STATE.trace = self.parent
            results, out_axes = _batched(operation, values, axes)
        finally:
            STATE.trace = previous
        return [y if a is NOT_MAPPED else BatchTracer(self, y, a) for y, a in zip(results, out_axes, strict=True)]


def _take_at_once(steps: Steps, values: list[Any]) -> None:
    """Run operations eagerly, where there is no enclosing trace."""
    for operation, operands_in, _ in steps:
        values += run(operation, operands_in(values))


def _batched_steps(trace: BatchTrace, steps: Steps, inputs: Sequence[Any], values: Sequence[Any]) -> _BatchedSteps:
    """Record the batched form of a sequence, for operands mapped like these."""
    if not all(operation.plannable and operation.stage_rule is None for operation, _, _ in steps):
        return _ONE_BY_ONE
    outputs: list[tuple[Any, ShapedArray]] = []

    def rule(operands: Sequence[Any]) -> list[Any]:
        inner = BatchTrace(STATE.trace)
        numbered: list[Any] = [None] * steps.first
        for i in steps.constants:
            numbered[i] = values[i]
        for i, x in zip(steps.needs, operands, strict=True):
            y = values[i]
            numbered[i] = BatchTracer(inner, x, y.axis) if y.__class__ is BatchTracer and y._trace is trace else x
        bind_each(inner, steps, numbered, ())
        results = [numbered[i] for i in steps.wanted]
        owned = [y.__class__ is BatchTracer and y._trace is inner for y in results]
        outputs[:] = [(y.axis if is_own else NOT_MAPPED, aval_of(y)) for y, is_own in zip(results, owned, strict=True)]
        return [y.value if is_own else y for y, is_own in zip(results, owned, strict=True)]

    recorded = work_out(Recent(1), None, rule, inputs)
    if recorded is NO_PLAN:
        return _ONE_BY_ONE
    slots = zip(steps.wanted, recorded.results, outputs, strict=True)
    return _BatchedSteps(recorded, tuple((index, result, axis, aval) for index, result, (axis, aval) in slots))


def _batched(operation: Operation, values: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the results and axes of the operation's ``batch_rule``, replayed where it is recorded."""
    if not operation.plannable:
        return operation.batch_rule(values, axes)

    key, recorded = found_plan(operation.batch_plans, (*map(kind_of, values), *axes))
    if recorded is None:

        def rule(operands: Sequence[Any]) -> list[Any]:
            results, out_axes = operation.batch_rule(operands, axes)
            return [*results, *out_axes]

        recorded = work_out(operation.batch_plans, key, rule, values)
    if recorded is NO_PLAN:
        return operation.batch_rule(values, axes)
    flat = follow(recorded, values)
    half = len(flat) // 2
    return flat[:half], flat[half:]


class NamedBatchTrace(BatchTrace):
    """Trace that maps over a named axis and evaluates the collectives over it."""

    __slots__ = ("name", "size")
    take = bind_each  # an operation may be a collective over the axis
    take_from = bind_each_from

    def __init__(self, parent: Any, name: Hashable, size: int) -> None:
        super().__init__(parent)
        self.name = name
        self.size = size

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """Apply an operation; its results are mapped if an operand is or if it is a collective over the axis."""
        if isinstance(operation, Collective) and self.name in operation.axes:
            return self._crossed(operation, operands)
        if not operation.composite:
            return super().bind(operation, operands)
        previous = STATE.batch
        try:
            STATE.batch = self
            if any(self.name in axis_names_of(body) for body in operation.bodies()):
                return self._applied(operation.batch_rule, *self._apart(operands))
            return super().bind(operation, operands)
        finally:
            STATE.batch = previous

    def _crossed(self, operation: Collective, operands: Sequence[Any]) -> list[Any]:
        operation.abstract_eval([aval_of(x) for x in operands])  # raises for operands of wrong types
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
        owned = [x.__class__ is BatchTracer and x._trace is self for x in operands]
        return (
            [x.value if is_own else x for x, is_own in zip(operands, owned, strict=True)],
            [x.axis if is_own else NOT_MAPPED for x, is_own in zip(operands, owned, strict=True)],
        )

    def _applied(self, rule: Callable[..., Any], values: list[Any], axes: list[Any]) -> list[Any]:
        previous = STATE.trace
        try:
            STATE.trace = self.parent
            results, out_axes = rule(values, axes)
        finally:
            STATE.trace = previous
        return [y if a is NOT_MAPPED else BatchTracer(self, y, a) for y, a in zip(results, out_axes, strict=True)]


def axis_of_rule() -> tuple[Hashable, int] | None:
    """Return the name and size of the axis that the running ``batch_rule`` of a composite operation maps over.

    None when the axis has no name. Rules that batch a function later have to keep the result, and pass it to
    :func:`batch` then.
    """
    trace: NamedBatchTrace | None = STATE.batch
    # A rule binds to the enclosing trace, which may batch as well but is not the one that STATE.batch names.
    return (trace.name, trace.size) if trace is not None and trace.parent is STATE.trace else None


def batch_size(operands: Sequence[Any], axes: Sequence[Any]) -> int:
    """Return the number of examples, for a ``batch_rule``: the size of the mapped axes.

    No operand need be mapped when a program that the operation holds uses the named axis.
    """
    for x, axis in zip(operands, axes, strict=True):
        if axis is not NOT_MAPPED:
            return int(aval_of(x).shape[axis])
    named = axis_of_rule()
    if named is None:
        raise AssertionError("a batch_rule runs without a mapped operand and without a named axis")
    return named[1]


def without_axis(aval: ShapedArray, axis: int) -> ShapedArray:
    """Return the type of one example of a batch."""
    example_aval = shaped(aval.shape[:axis] + aval.shape[axis + 1 :], aval.dtype, aval.weak_type)
    return example_aval if aval.explicit is None else without_explicit_axis(aval, axis, example_aval)


def with_axis(aval: ShapedArray, axis: int, size: int) -> ShapedArray:
    """Return the type of a batch of ``size`` examples."""
    batch_aval = shaped((*aval.shape[:axis], size, *aval.shape[axis:]), aval.dtype, aval.weak_type)
    return batch_aval if aval.explicit is None else with_explicit_axis(aval, axis, batch_aval)
