"""Cost model of loops: the compile time that a loop saves, and the time that it adds to a call.

Values that differ between repeats are read from a stack and written to one, which unrolled steps need not do.
If that is a large part of a repeat's work, the loop is slower. It is also slower if XLA would have fused
several repeats into one kernel. Rates are those of the cost model for materialization.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr, Jaxpr, Literal
from ...ir.operation import Operation
from ...records.traits import Trait
from ...xla.materialization.cost_model import (
    CHEAP_OP_NANOSECONDS,
    LAUNCH_NANOSECONDS,
    MULTIPLY_ADD_NANOSECONDS,
    READ_BYTE_NANOSECONDS,
    WRITE_BYTE_NANOSECONDS,
)
from ..programs.call import CallOperation
from .loop_ir import CarriedValue, Loop, RepeatResult, bytes_of
from .normalized_steps import RerollStep
from .repeated_regions import RepeatedRegion, number_by_appearance
from .value_stacks import NewStack, StackRead, Stacks

#: Minimum number of equations that a loop saves, and minimum fraction of the program's equations.
_MIN_SAVED_EQUATIONS, _MIN_SAVED_FRACTION = 100, 0.05
#: Cost of compiling the loop, and of compiling each value that is separately copied to or from a stack (a separate
#: kernel), in equations.
_LOOP_COST_EQUATIONS, _SINGLE_COPY_COST_EQUATIONS = 150, 30
#: Maximum time that a loop may add to a call, as a fraction of the repeats' time.
_MAX_ADDED_TIME_FRACTION = 0.03
#: Minimum fraction of a repeat's time that depends on the previous one: unrolled, independent repeats run in parallel.
_MIN_SERIAL_TIME_FRACTION = 0.7
#: Nanoseconds per byte copied to or from a stack; some values are computed in place, so it is less than a full copy.
_COPY_NS_PER_BYTE = 0.12
#: Minimum bytes that a loop carries: XLA emits smaller loops differently. Below the second number, values that are
#: materialized in other loops of the program would be lost (``xla/materialization/live_ranges.py``).
_MIN_CARRIED_BYTES, _MIN_CARRIED_BYTES_BESIDE_LOOPS = 1024, 4096
#: Nanoseconds of the loop counter per repeat.
_COUNTER_NS_PER_REPEAT = 300.0
#: Relative difference between two sums of the same times in different orders, at most.
_MAX_ROUNDING_FRACTION = 1e-6
#: Two repeats of a profitable loop take at least this time.
_MIN_PROFITABLE_TIME = 2 * _COUNTER_NS_PER_REPEAT / _MAX_ADDED_TIME_FRACTION * (1 - _MAX_ROUNDING_FRACTION)
#: The same if XLA would fuse both into one kernel.
_MIN_PROFITABLE_TIME_WITHOUT_KERNELS = _MIN_PROFITABLE_TIME * (1 + LAUNCH_NANOSECONDS / _COUNTER_NS_PER_REPEAT)
#: Nanoseconds per element, by trait of the operation, if it is not CHEAP.
_ELEMENT_NS_BY_TRAIT = {Trait.DIVIDES: 0.15, Trait.TRANSCENDENTAL: 0.6}

#: Minimum number of equations that a loop removes, including the cost of compiling the loop.
MIN_REMOVED_EQUATIONS = _MIN_SAVED_EQUATIONS + _LOOP_COST_EQUATIONS
#: The number of a loop and the stacks; before stacks are chosen, the ids of the program's operands instead.
LoopContext = tuple[int, Stacks] | frozenset[int]


def saves_compile_time(loop: Loop, context: LoopContext, steps: Sequence[RerollStep], program_weight: int) -> bool:
    """Return whether a loop saves compiling a sufficient part of the program's equations.

    ``program_weight`` is the number of equations of the whole program, ``steps`` are all its steps. ``context`` is
    the loop's index and the stacks, or, before stacks are chosen, the ids of the program's operands.
    """
    weight = sum(count_equations(step.operation) for step in loop.steps_of_repeat(steps, 0))
    saved = (
        (loop.repeats - 1) * weight - _SINGLE_COPY_COST_EQUATIONS * _copy_cost(loop, context)[1] - _LOOP_COST_EQUATIONS
    )
    return saved >= max(_MIN_SAVED_EQUATIONS, _MIN_SAVED_FRACTION * program_weight)


def is_profitable(loop: Loop, context: LoopContext, steps: Sequence[RerollStep], program_weight: int) -> bool:
    """Return whether a loop saves compile time and adds no significant time to a call.

    The parameters are those of :func:`saves_compile_time`.
    """
    if not saves_compile_time(loop, context, steps, program_weight) or _is_small(loop, steps):
        return False
    repeat = loop.steps_of_repeat(steps, 0)
    repeat_time, kernels = estimate_time(repeat)
    serial_time, _ = estimate_time(
        [step for step, is_serial in zip(repeat, _serial_steps(loop), strict=True) if is_serial]
    )
    if serial_time < _MIN_SERIAL_TIME_FRACTION * repeat_time:
        return False
    added_time = _copy_cost(loop, context)[0] * _COPY_NS_PER_BYTE / loop.repeats + _COUNTER_NS_PER_REPEAT
    if not kernels:  # XLA would fuse several repeats into one kernel
        added_time += LAUNCH_NANOSECONDS + (READ_BYTE_NANOSECONDS + WRITE_BYTE_NANOSECONDS) * sum(
            bytes_of(carry.init.aval) for carry in loop.carries
        )
    return added_time <= _MAX_ADDED_TIME_FRACTION * repeat_time


class RegionCosts:
    """Number of equations and estimated time of the repeats of any region of steps.

    ``weights`` are the numbers of equations of the steps, ``kinds`` has equal numbers for steps that are alike, and
    ``step_at`` returns the step with an index. ``min_copied_bytes`` returns a lower bound of the bytes that each repeat
    of a loop in a region copies.
    """

    def __init__(
        self,
        weights: Sequence[int],
        kinds: Sequence[int] | np.ndarray,
        step_at: Callable[[int], RerollStep],
        min_copied_bytes: Callable[[RepeatedRegion], float] = lambda region: 0.0,
    ) -> None:
        self._kinds, self._step_at, self._min_copied_bytes = kinds, step_at, min_copied_bytes
        self._weights = np.concatenate(([0], np.cumsum(weights)))

    @functools.cached_property
    def _times(self) -> np.ndarray:
        """Return the sums of time and kernels of all steps before a step, a row for each step and one for the end."""
        inverse, first = number_by_appearance(np.asarray(self._kinds))
        estimates = np.array([estimate_time([self._step_at(step)]) for step in first.tolist()]).reshape(-1, 2)
        return np.concatenate(([(0.0, 0.0)], np.cumsum(estimates[inverse], axis=0)))

    def may_save_compile_time(self, region: RepeatedRegion) -> bool:
        """Return False if no loop in the region saves enough of the program's equations."""
        weight = int(self._weights[region.begin + region.period] - self._weights[region.begin])
        saved = (region.repeats - 1) * weight - _LOOP_COST_EQUATIONS
        return saved >= max(_MIN_SAVED_EQUATIONS, _MIN_SAVED_FRACTION * int(self._weights[-1]))

    def may_be_profitable(self, region: RepeatedRegion) -> bool:
        """Return False if no loop in the region is profitable, even if it copies no more than it must."""
        if not self.may_save_compile_time(region):
            return False
        time, kernels = self._times[region.begin + region.period] - self._times[region.begin]
        added_time = _COUNTER_NS_PER_REPEAT + (0.0 if round(kernels) else LAUNCH_NANOSECONDS)
        limit = _MAX_ADDED_TIME_FRACTION * time * (1 + _MAX_ROUNDING_FRACTION)
        return bool(added_time <= limit) and bool(
            added_time + self._min_copied_bytes(region) * _COPY_NS_PER_BYTE <= limit
        )


def may_have_profitable_loops(jaxpr: Jaxpr) -> bool:
    """Return False if a program takes too little time for two repeats of a profitable loop.

    Two repeats without a kernel of their own have to take more time than two with one each.
    """
    estimates: dict[Any, tuple[float, int]] = {}
    total, kernels = 0.0, 0
    for equation in jaxpr.raw:
        operation, inputs = equation[0], equation[1]
        key = id(operation), *[id(x.aval) for x in inputs]
        estimate = estimates.get(key)
        if estimate is None:
            results = [v.aval for v in equation[2]]
            estimate = estimates[key] = _estimate_operation(operation, [x.aval for x in inputs], results)
        total += estimate[0]
        kernels += estimate[1]
        if total >= (_MIN_PROFITABLE_TIME if kernels > 1 else _MIN_PROFITABLE_TIME_WITHOUT_KERNELS):
            return True
    return False


def _serial_steps(loop: Loop) -> list[bool]:
    """Return a mask of the steps of a repeat that depend on the previous repeat."""
    serial: list[bool] = []
    for operands in loop.operands:
        serial.append(
            any(isinstance(x, CarriedValue) or (isinstance(x, RepeatResult) and serial[x.step]) for x in operands)
        )
    return serial


def _is_small(loop: Loop, steps: Sequence[RerollStep]) -> bool:
    """Return whether the values that a loop reads and carries are too few bytes for it to be profitable.

    XLA emits small loops differently; if the program has other loops, the limit is higher, because these would
    suffer.
    """
    loop_inputs = (
        *loop.invariants,
        *(carry.init for carry in loop.carries),
        *(x for per_repeat in loop.varying for x in per_repeat),
    )
    carried_bytes = sum(bytes_of(x.aval) for x in loop_inputs)
    has_other_loops = carried_bytes < _MIN_CARRIED_BYTES_BESIDE_LOOPS and any(
        _contains_loops(step.operation) for step in steps
    )
    return carried_bytes < (_MIN_CARRIED_BYTES_BESIDE_LOOPS if has_other_loops else _MIN_CARRIED_BYTES)


def _contains_loops(operation: Operation) -> bool:
    if not operation.composite:
        return False
    inner = (equation[0] for body in operation.bodies() for equation in body.jaxpr.raw)
    return Trait.LOOP in operation.traits or any(map(_contains_loops, inner))


def count_equations(operation: Operation) -> int:
    """Return the number of equations of an operation: 1, plus those of the programs that it holds."""
    bodies = operation.bodies() if operation.composite else ()
    return 1 + sum(count_equations(inner[0]) for body in bodies for inner in body.jaxpr.raw)


def estimate_time(steps: Sequence[RerollStep]) -> tuple[float, int]:
    """Return the estimated time of steps in nanoseconds, and the minimum number of separate kernels."""
    estimates = [
        _estimate_operation(step.operation, [x.aval for x in step.inputs], [v.aval for v in step.outputs])
        for step in steps
    ]
    return sum(time for time, _ in estimates), sum(kernels for _, kernels in estimates)


def _estimate_operation(
    operation: Operation, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]
) -> tuple[float, int]:
    """Return the estimated time of an operation in nanoseconds, and the minimum number of separate kernels.

    ``operands`` and ``results`` are their types. An elementwise operation needs no kernel of its own.
    """
    bodies = operation.bodies() if operation.composite else ()
    if bodies:
        inner = [_estimate_program(body) for body in bodies]
        time = operation.flops_of_bodies([round(item) for item, _ in inner])
        return float(time), sum(kernels for _, kernels in inner) + (not isinstance(operation, CallOperation))
    flops, elements = operation.flops(operands, results), sum(int(item.size) for item in results)
    if Trait.KERNEL in operation.traits:
        elements = max(elements, sum(int(item.size) for item in operands))
        return LAUNCH_NANOSECONDS + max(elements * CHEAP_OP_NANOSECONDS, flops * MULTIPLY_ADD_NANOSECONDS / 2), 1
    if flops > 8 * elements:  # a product: two for each multiplication and addition
        return LAUNCH_NANOSECONDS + flops * MULTIPLY_ADD_NANOSECONDS / 2, 1
    return elements * max(
        (_ELEMENT_NS_BY_TRAIT[item] for item in operation.traits if item in _ELEMENT_NS_BY_TRAIT),
        default=CHEAP_OP_NANOSECONDS,
    ), 0


def _estimate_program(body: ClosedJaxpr) -> tuple[float, int]:
    estimates = [_estimate_operation(e[0], [x.aval for x in e[1]], [v.aval for v in e[2]]) for e in body.jaxpr.raw]
    return sum(time for time, _ in estimates), sum(kernels for _, kernels in estimates)


def _copy_cost(loop: Loop, context: LoopContext) -> tuple[int, int]:
    """Return the bytes that a call copies to and from a loop's stacks, and the number of separately copied values.

    For ``context`` see :data:`LoopContext`: if the stacks are not known yet, both numbers are approximate.
    """
    total = sum(bytes_of(x.aval) for values in loop.varying for x in values)
    if isinstance(context, frozenset):
        return total, sum(id(x) in context for values in loop.varying for x in values)
    single_copies = 0
    number, stacks = context
    for read, values in zip(stacks.reads[number], loop.varying, strict=True):
        if _is_new_for_loop(read, number, stacks):
            total += sum(bytes_of(x.aval) for x in values)
            single_copies += sum(not isinstance(x, Literal) for x in values)
    for stack in stacks.stacked[number]:
        total += loop.repeats * bytes_of(stacks.type_of(number, stacks.result_of(stack)))
    for v in stacks.extracted[number]:
        total += bytes_of(v.aval)
        single_copies += 1
    return total, single_copies


def _is_new_for_loop(read: StackRead, number: int, stacks: Stacks) -> bool:
    """Return whether a read is from a stack that is created for the loop with index ``number``.

    A new stack that an earlier loop reads as well counts for that loop.
    """
    before = [earlier.stack for reads in stacks.reads[:number] for earlier in reads]
    return isinstance(read.stack, NewStack) and read.stack not in before
