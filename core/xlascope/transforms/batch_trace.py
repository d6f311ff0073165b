"""Vectorization: values with a mapped axis, each operation by its ``batch_rule``.

A mapped axis may have a name. Collectives that cross it are carried out by the trace that maps over it, whether or not
their operands are mapped; so are the programs held by other operations (a jitted call, a loop) that contain such
collectives. The rules of those operations learn of the name through ``STATE.batch``, while they run.
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


ARRAYS.add(BatchTracer)
_new: Callable[[type[BatchTracer]], BatchTracer] = object.__new__


class _BatchedSteps(NamedTuple):
    """What takes steps for all examples at once: a plan, and of the values that are wanted their places, those among
    the values of the plan, the axes, and the types of one example.
    """

    plan: Plan
    made: tuple[tuple[int, int, Any, ShapedArray], ...]


#: Of steps whose rules have to run.
_ONE_BY_ONE: Final = _BatchedSteps(NO_PLAN, ())


class BatchTrace:
    """Applies each operation to all examples at once."""

    __slots__ = ("alive", "parent", "staging")

    def __init__(self, parent: Any) -> None:
        self.parent = parent
        self.staging: bool = parent is not None and parent.staging
        self.alive = True

    def take(self, steps: Steps, values: list[Any], used: Sequence[int]) -> None:
        """Apply operations one after the other, by one plan for all of them."""
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
        """The same for who knows the user's line, and the origin if there is one."""
        parent = self.parent
        given: list[Any] = []
        kinds: list[Any] = [enable_x64.value, trace_settings.value and settings_of_traces()]
        mapped = False
        for i in steps.needs:
            x = values[i]
            if x.__class__ is BatchTracer and x._trace is self:
                kinds.append(x.axis)
                x = x.value
                mapped = True
            given.append(x)
            kinds.append(x.aval if x.__class__ in ARRAYS else kind_of(x))
        if not mapped:
            if parent is not None:
                parent.take_from(steps, values, used, code, lasti, origin)
            else:
                _take_at_once(steps, values)
            return
        key = tuple(kinds)  # as in found_plan, without a call
        found = steps.batched.get(key) or steps.batched.again(key)
        if found is None:
            found = steps.batched.keep(key, _batched_steps(self, steps, given, values))
        if found is _ONE_BY_ONE:
            bind_each_from(self, steps, values, used, code, lasti, origin)
            return
        plan, made = found
        given += plan.literals if self.staging else plan.constants
        if parent is not None:
            parent.take_from(plan.steps, given, plan.used, code, lasti, origin)
        else:
            _take_at_once(plan.steps, given)
        values += [None] * (steps.last - steps.first)
        for place, result, axis, aval in made:
            if axis is NOT_MAPPED:
                values[place] = given[result]
            else:
                values[place] = tracer = _new(BatchTracer)
                tracer._trace = self
                tracer.value = given[result]
                tracer.axis = axis
                tracer.aval = aval

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
        try:
            STATE.trace = self.parent
            results, out_axes = _batched(operation, values, axes)
        finally:
            STATE.trace = previous
        return [y if a is NOT_MAPPED else BatchTracer(self, y, a) for y, a in zip(results, out_axes, strict=True)]


def _take_at_once(steps: Steps, values: list[Any]) -> None:
    """Take steps where no trace is outside."""
    for operation, operands_in, _ in steps:
        values += run(operation, operands_in(values))


def _batched_steps(trace: BatchTrace, steps: Steps, given: Sequence[Any], values: Sequence[Any]) -> _BatchedSteps:
    """How to take steps for operands mapped like these."""
    if not all(operation.plannable and operation.stage_rule is None for operation, _, _ in steps):
        return _ONE_BY_ONE
    made: list[tuple[Any, ShapedArray]] = []

    def rule(operands: Sequence[Any]) -> list[Any]:
        inner = BatchTrace(STATE.trace)
        counted: list[Any] = [None] * steps.first
        for i in steps.constants:
            counted[i] = values[i]
        for i, x in zip(steps.needs, operands, strict=True):
            y = values[i]
            counted[i] = BatchTracer(inner, x, y.axis) if y.__class__ is BatchTracer and y._trace is trace else x
        bind_each(inner, steps, counted, ())
        results = [counted[i] for i in steps.wanted]
        mine = [y.__class__ is BatchTracer and y._trace is inner for y in results]
        made[:] = [(y.axis if own else NOT_MAPPED, aval_of(y)) for y, own in zip(results, mine, strict=True)]
        return [y.value if own else y for y, own in zip(results, mine, strict=True)]

    plan = work_out(Recent(1), None, rule, given)
    if plan is NO_PLAN:
        return _ONE_BY_ONE
    places = zip(steps.wanted, plan.results, made, strict=True)
    return _BatchedSteps(plan, tuple((place, result, axis, aval) for place, result, (axis, aval) in places))


def _batched(operation: Operation, values: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """What the operation's ``batch_rule`` gives."""
    if not operation.plannable:
        return operation.batch_rule(values, axes)

    key, plan = found_plan(operation.batch_plans, (*map(kind_of, values), *axes))
    if plan is None:

        def rule(given: Sequence[Any]) -> list[Any]:
            results, out_axes = operation.batch_rule(given, axes)
            return [*results, *out_axes]

        plan = work_out(operation.batch_plans, key, rule, values)
    if plan is NO_PLAN:
        return operation.batch_rule(values, axes)
    found = follow(plan, values)
    half = len(found) // 2
    return found[:half], found[half:]


class NamedBatchTrace(BatchTrace):
    """Applies each operation to all examples along an axis with a name, and carries out what crosses it."""

    __slots__ = ("name", "size")
    take = bind_each  # an operation may cross the axis
    take_from = bind_each_from

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
        try:
            STATE.batch = self
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
        try:
            STATE.trace = self.parent
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
    found = shaped(aval.shape[:axis] + aval.shape[axis + 1 :], aval.dtype, aval.weak_type)
    return found if aval.explicit is None else without_explicit_axis(aval, axis, found)


def with_axis(aval: ShapedArray, axis: int, size: int) -> ShapedArray:
    """The type of a batch of ``size`` examples."""
    found = shaped((*aval.shape[:axis], size, *aval.shape[axis:]), aval.dtype, aval.weak_type)
    return found if aval.explicit is None else with_explicit_axis(aval, axis, found)
