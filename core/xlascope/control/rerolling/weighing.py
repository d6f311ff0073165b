"""Whether a loop is worth it: what it spares XLA to compile, and what a call takes longer for it.

What differs from repeat to repeat is read out of a stack and written into one, which steps written one by one need not
do: where that is much of what a repeat does, the loop is slower. So it is where XLA would have computed several repeats
in one kernel. Rates are those of the model that says what is kept.
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

#: Nothing becomes a loop that spares fewer equations, or a smaller part of the program's.
_FEWEST_SPARED, _SMALLEST_PART = 100, 0.05
#: To compile the loop, and each value that is put into a stack or taken out by itself (a kernel of its own), is as much
#: work as so many equations.
_LOOP, _BY_ITSELF = 150, 30
#: Where a call is not to become slower: what a loop adds is at most that part of its time.
_MOST_ADDED = 0.03
#: So much of it waits for the repeat before: repeats that need nothing of each other run side by side, written out.
_LEAST_WAITING = 0.7
#: Nanoseconds for a byte that is copied into a stack or out of one: part of them is written where it is computed.
_COPIED = 0.12
#: A loop that carries fewer bytes is one of the smallest, which XLA writes otherwise; by one that carries less than the
#: second number, values that are kept in other loops of the program would be lost (``xla/keeping/staying.py``).
_LEAST_CARRIED, _LEAST_BESIDE_OTHERS = 1024, 4096
#: Nanoseconds that a loop takes to count a repeat.
_COUNTED = 300.0
#: Nanoseconds for an element, by trait of the operation, where it is not CHEAP.
_ELEMENT = {Trait.DIVIDES: 0.15, Trait.TRANSCENDENTAL: 0.6}

#: A loop has to spare so many equations, what it costs to compile included.
LEAST = _FEWEST_SPARED + _LOOP
#: Of a loop its number among those of some stacks, and these; while stacks are not looked at the ids of the program's
#: operands.
Of = tuple[int, Stacks] | frozenset[int]


def spares_compiling(loop: Loop, of: Of, steps: Sequence[Step], whole: int) -> bool:
    """Whether a loop spares compiling much of the ``whole`` program's equations."""
    weight = sum(weight_of(step.operation) for step in loop.steps(steps, 0))
    spared = (loop.repeats - 1) * weight - _BY_ITSELF * _copied(loop, of)[1] - _LOOP
    return spared >= max(_FEWEST_SPARED, _SMALLEST_PART * whole)


def is_worth_it(loop: Loop, of: Of, steps: Sequence[Step], whole: int) -> bool:
    """Whether a loop spares compiling, and makes a call no slower to speak of."""
    if not spares_compiling(loop, of, steps, whole) or _is_small(loop, steps):
        return False
    repeat = loop.steps(steps, 0)
    work, kernels = work_of(repeat)
    waiting, _ = work_of([step for step, waits in zip(repeat, _that_wait(loop), strict=True) if waits])
    if waiting < _LEAST_WAITING * work:
        return False
    added = _copied(loop, of)[0] * _COPIED / loop.repeats + _COUNTED
    if not kernels:  # several repeats would be computed in one kernel
        added += LAUNCH + (READ + WRITE) * sum(bytes_of(carry.init.aval) for carry in loop.carried)
    return added <= _MOST_ADDED * work


def _that_wait(loop: Loop) -> list[bool]:
    """Which steps of a repeat need what the repeat before gives."""
    found: list[bool] = []
    for operands in loop.operands:
        found.append(any(isinstance(x, Carried) or (isinstance(x, Inside) and found[x.step]) for x in operands))
    return found


def _is_small(loop: Loop, steps: Sequence[Step]) -> bool:
    """Whether a loop carries so little that XLA writes it otherwise, or what else is in loops would suffer."""
    values = (*loop.same, *(carry.init for carry in loop.carried), *(x for those in loop.differing for x in those))
    carried = sum(bytes_of(x.aval) for x in values)
    beside = carried < _LEAST_BESIDE_OTHERS and any(_holds_loops(step.operation) for step in steps)
    return carried < (_LEAST_BESIDE_OTHERS if beside else _LEAST_CARRIED)


def _holds_loops(operation: Operation) -> bool:
    if not operation.composite:
        return False
    inner = (equation[0] for body in operation.bodies() for equation in body.jaxpr.raw)
    return Trait.LOOP in operation.traits or any(map(_holds_loops, inner))


def weight_of(operation: Operation) -> int:
    """How many equations an operation counts as, with those of the programs that it holds."""
    bodies = operation.bodies() if operation.composite else ()
    return 1 + sum(weight_of(inner[0]) for body in bodies for inner in body.jaxpr.raw)


def work_of(steps: Sequence[Step]) -> tuple[float, int]:
    """About how many nanoseconds a repeat takes, and how many kernels of its own it has at least."""
    found = [_work(step.operation, [x.aval for x in step.inputs], [v.aval for v in step.outputs]) for step in steps]
    return sum(time for time, _ in found), sum(kernels for _, kernels in found)


def _work(operation: Operation, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> tuple[float, int]:
    bodies = operation.bodies() if operation.composite else ()
    if bodies:
        inner = [_work_of_program(body) for body in bodies]
        time = operation.flops_of_bodies([round(each) for each, _ in inner])
        return float(time), sum(kernels for _, kernels in inner) + (not isinstance(operation, Calling))
    flops, elements = operation.flops(operands, results), sum(int(each.size) for each in results)
    if Trait.KERNEL in operation.traits:
        elements = max(elements, sum(int(each.size) for each in operands))
        return LAUNCH + max(elements * CHEAP, flops * PRODUCT / 2), 1
    if flops > 8 * elements:  # a product: two for each multiplication and addition
        return LAUNCH + flops * PRODUCT / 2, 1
    return elements * max((_ELEMENT[each] for each in operation.traits if each in _ELEMENT), default=CHEAP), 0


def _work_of_program(body: ClosedJaxpr) -> tuple[float, int]:
    found = [_work(e[0], [x.aval for x in e[1]], [v.aval for v in e[2]]) for e in body.jaxpr.raw]
    return sum(time for time, _ in found), sum(kernels for _, kernels in found)


def _copied(loop: Loop, of: Of) -> tuple[int, int]:
    """The bytes that a loop's stacks are copied about in a call, and how many values are put into them or taken out by
    themselves; about so much where stacks are not known.
    """
    total = sum(bytes_of(x.aval) for values in loop.differing for x in values)
    if isinstance(of, frozenset):
        return total, sum(id(x) in of for values in loop.differing for x in values)
    alone = 0
    number, stacks = of
    for read, values in zip(stacks.reads[number], loop.differing, strict=True):
        if _is_own(read, number, stacks):
            total += sum(bytes_of(x.aval) for x in values)
            alone += sum(not isinstance(x, Literal) for x in values)
    for stack in stacks.kept[number]:
        total += loop.repeats * bytes_of(stacks.type_of(number, stacks.result_of(stack)))
    for v in stacks.taken[number]:
        total += bytes_of(v.aval)
        alone += 1
    return total, alone


def _is_own(read: Read, number: int, stacks: Stacks) -> bool:
    """Whether a stack is put together for this loop, and not read by one before."""
    before = [each.stack for those in stacks.reads[:number] for each in those]
    return isinstance(read.stack, Built) and read.stack not in before
