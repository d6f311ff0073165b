"""Cost model of loops: the compile time that a loop saves, and the time that it adds to a call.

Values that differ between repeats are read from a stack and written to one, which unrolled steps need not do.
If that is a large part of a repeat's work, the loop is slower. It is also slower if XLA would have fused
several repeats into one kernel. Rates are those of the cost model for materialization.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr, Literal
from ...ir.operation import Operation
from ...records.traits import Trait
from ...xla.keeping.rates import CHEAP, LAUNCH, PRODUCT, READ, WRITE
from ..programs.call import Calling
from .loop import Carried, Inside, Loop, bytes_of
from .stacks import Built, Read, Stacks
from .steps import Step

#: Minimum number of equations that a loop saves, and minimum fraction of the program's equations.
_FEWEST_SPARED, _SMALLEST_PART = 100, 0.05
#: Cost of compiling the loop, and of compiling each value that is separately copied to or from a stack (a separate
#: kernel), in equations.
_LOOP, _BY_ITSELF = 150, 30
#: Maximum time that a loop may add to a call, as a fraction of the repeats' time.
_MOST_ADDED = 0.03
#: Minimum fraction of a repeat's time that depends on the previous one: unrolled, independent repeats run in parallel.
_LEAST_WAITING = 0.7
#: Nanoseconds per byte copied to or from a stack; some values are computed in place, so it is less than a full copy.
_COPIED = 0.12
#: Minimum bytes that a loop carries: XLA emits smaller loops differently. Below the second number, values that are
#: materialized in other loops of the program would be lost (``xla/materialization/live_ranges.py``).
_LEAST_CARRIED, _LEAST_BESIDE_OTHERS = 1024, 4096
#: Nanoseconds of the loop counter per repeat.
_COUNTED = 300.0
#: Nanoseconds per element, by trait of the operation, if it is not CHEAP.
_ELEMENT = {Trait.DIVIDES: 0.15, Trait.TRANSCENDENTAL: 0.6}

#: Minimum number of equations that a loop removes, including the cost of compiling the loop.
LEAST = _FEWEST_SPARED + _LOOP
#: The number of a loop and the stacks; before stacks are chosen, the ids of the program's operands instead.
Of = tuple[int, Stacks] | frozenset[int]


def spares_compiling(loop: Loop, context: Of, steps: Sequence[Step], program_weight: int) -> bool:
    """Return whether a loop saves compiling a sufficient part of the program's equations."""
    weight = sum(weight_of(step.operation) for step in loop.steps(steps, 0))
    saved = (loop.repeats - 1) * weight - _BY_ITSELF * _copied(loop, context)[1] - _LOOP
    return saved >= max(_FEWEST_SPARED, _SMALLEST_PART * program_weight)


def is_worth_it(loop: Loop, context: Of, steps: Sequence[Step], program_weight: int) -> bool:
    """Return whether a loop saves compile time and adds no significant time to a call."""
    if not spares_compiling(loop, context, steps, program_weight) or _is_small(loop, steps):
        return False
    repeat = loop.steps(steps, 0)
    repeat_time, kernels = work_of(repeat)
    serial_time, _ = work_of([step for step, is_serial in zip(repeat, _that_wait(loop), strict=True) if is_serial])
    if serial_time < _LEAST_WAITING * repeat_time:
        return False
    added_time = _copied(loop, context)[0] * _COPIED / loop.repeats + _COUNTED
    if not kernels:  # XLA would fuse several repeats into one kernel
        added_time += LAUNCH + (READ + WRITE) * sum(bytes_of(carry.init.aval) for carry in loop.carried)
    return added_time <= _MOST_ADDED * repeat_time


def _that_wait(loop: Loop) -> list[bool]:
    """Return which steps of a repeat depend on the previous repeat."""
    serial: list[bool] = []
    for operands in loop.operands:
        serial.append(any(isinstance(x, Carried) or (isinstance(x, Inside) and serial[x.step]) for x in operands))
    return serial


def _is_small(loop: Loop, steps: Sequence[Step]) -> bool:
    """Return whether a loop carries so few bytes that XLA emits it differently, or other loops would suffer."""
    loop_inputs = (
        *loop.same,
        *(carry.init for carry in loop.carried),
        *(x for per_repeat in loop.differing for x in per_repeat),
    )
    carried_bytes = sum(bytes_of(x.aval) for x in loop_inputs)
    has_other_loops = carried_bytes < _LEAST_BESIDE_OTHERS and any(_holds_loops(step.operation) for step in steps)
    return carried_bytes < (_LEAST_BESIDE_OTHERS if has_other_loops else _LEAST_CARRIED)


def _holds_loops(operation: Operation) -> bool:
    if not operation.composite:
        return False
    inner = (equation[0] for body in operation.bodies() for equation in body.jaxpr.raw)
    return Trait.LOOP in operation.traits or any(map(_holds_loops, inner))


def weight_of(operation: Operation) -> int:
    """Return the number of equations of an operation, including the programs that it holds."""
    bodies = operation.bodies() if operation.composite else ()
    return 1 + sum(weight_of(inner[0]) for body in bodies for inner in body.jaxpr.raw)


def work_of(steps: Sequence[Step]) -> tuple[float, int]:
    """Return an estimate of a repeat's time in nanoseconds, and the minimum number of separate kernels."""
    estimates = [_work(step.operation, [x.aval for x in step.inputs], [v.aval for v in step.outputs]) for step in steps]
    return sum(time for time, _ in estimates), sum(kernels for _, kernels in estimates)


def _work(operation: Operation, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> tuple[float, int]:
    bodies = operation.bodies() if operation.composite else ()
    if bodies:
        inner = [_work_of_program(body) for body in bodies]
        time = operation.flops_of_bodies([round(item) for item, _ in inner])
        return float(time), sum(kernels for _, kernels in inner) + (not isinstance(operation, Calling))
    flops, elements = operation.flops(operands, results), sum(int(item.size) for item in results)
    if Trait.KERNEL in operation.traits:
        elements = max(elements, sum(int(item.size) for item in operands))
        return LAUNCH + max(elements * CHEAP, flops * PRODUCT / 2), 1
    if flops > 8 * elements:  # a product: two for each multiplication and addition
        return LAUNCH + flops * PRODUCT / 2, 1
    return elements * max((_ELEMENT[item] for item in operation.traits if item in _ELEMENT), default=CHEAP), 0


def _work_of_program(body: ClosedJaxpr) -> tuple[float, int]:
    estimates = [_work(e[0], [x.aval for x in e[1]], [v.aval for v in e[2]]) for e in body.jaxpr.raw]
    return sum(time for time, _ in estimates), sum(kernels for _, kernels in estimates)


def _copied(loop: Loop, context: Of) -> tuple[int, int]:
    """Return the bytes that a call copies to and from a loop's stacks, and the number of separately copied values.

    If the stacks are not known yet both are approximate.
    """
    total = sum(bytes_of(x.aval) for values in loop.differing for x in values)
    if isinstance(context, frozenset):
        return total, sum(id(x) in context for values in loop.differing for x in values)
    single_copies = 0
    number, stacks = context
    for read, values in zip(stacks.reads[number], loop.differing, strict=True):
        if _is_own(read, number, stacks):
            total += sum(bytes_of(x.aval) for x in values)
            single_copies += sum(not isinstance(x, Literal) for x in values)
    for stack in stacks.kept[number]:
        total += loop.repeats * bytes_of(stacks.type_of(number, stacks.result_of(stack)))
    for v in stacks.taken[number]:
        total += bytes_of(v.aval)
        single_copies += 1
    return total, single_copies


def _is_own(read: Read, number: int, stacks: Stacks) -> bool:
    """Return whether a stack is created for this loop, and not read by a previous one."""
    before = [earlier.stack for reads in stacks.reads[:number] for earlier in reads]
    return isinstance(read.stack, Built) and read.stack not in before
