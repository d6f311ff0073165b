"""What a loop over repeats is given and hands on: what stays the same, what one repeat gives to the next, and what
differs from repeat to repeat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ir.avals import ShapedArray
from ...ir.jaxpr import Atom, Literal
from .steps import Step, literal_key
from .stretches import Stretch, stretches

#: So many places are tried where a repeat may begin, those over which the fewest bytes are handed.
_MOST_CUTS = 6
_OUTSIDE = (-1, 0, 0)


class Inside(NamedTuple):
    """A value of the same repeat: result ``result`` of its step ``step``."""

    step: int
    result: int


class Same(NamedTuple):
    """The ``number``-th of the values that are the same in each repeat."""

    number: int


class Carried(NamedTuple):
    """The ``number``-th of the values that the repeat before gives."""

    number: int


class Differing(NamedTuple):
    """The ``number``-th of the values from outside that differ."""

    number: int


Operand = Inside | Same | Carried | Differing | Literal


class Carry(NamedTuple):
    """What a repeat gives to the next one: a result of a step; and what the first is given instead."""

    init: Atom
    result: Inside


class Loop(NamedTuple):
    """Repeats of ``period`` steps, from step ``begin`` on; ``operands`` are those of each step of a repeat."""

    begin: int
    period: int
    repeats: int
    operands: list[list[Operand]]
    same: list[Atom]
    carried: list[Carry]
    differing: list[tuple[Atom, ...]]

    @property
    def end(self) -> int:
        """The step behind the last."""
        return self.begin + self.period * self.repeats

    def steps(self, steps: Sequence[Step], repeat: int) -> Sequence[Step]:
        """The steps of a repeat."""
        first = self.begin + repeat * self.period
        return steps[first : first + self.period]


Places = Mapping[int, tuple[int, int]]


def bytes_of(aval: ShapedArray) -> int:
    """The bytes of a value."""
    return int(aval.size) * int(getattr(aval.dtype, "itemsize", 4))


def loops_of(steps: Sequence[Step], results: Sequence[Atom]) -> list[Loop]:
    """The loops that steps may become, in order; they do not overlap."""
    kinds: list[Any] = [_kind(step, number) for number, step in enumerate(steps)]
    places = {id(v): (number, i) for number, step in enumerate(steps) for i, v in enumerate(step.outputs)}
    last_used = _last_used(steps, results)
    found = []
    pending = stretches(kinds)
    while pending:
        stretch = pending.pop()
        if stretch.repeats < 2:
            continue
        loops = [_loop_at(steps, places, cut, stretch) for cut in _cuts(steps, last_used, stretch)]
        best = max(
            filter(None, loops),
            key=lambda loop: (loop.repeats, -sum(bytes_of(x.init.aval) for x in loop.carried)),
            default=None,
        )
        if best is not None:
            found.append(best)
            sides = (stretch.begin, best.begin), (best.end, stretch.end)
            pending += [Stretch(a, b, stretch.period) for a, b in sides if b - a >= 2 * stretch.period]
    return sorted(found, key=lambda loop: loop.begin)


def _kind(step: Step, number: int) -> Any:
    """What steps have in common that may be one step of a loop."""
    if step.operation.effects:
        return number
    return step.operation, *(id(x.aval) for x in step.inputs)


def _last_used(steps: Sequence[Step], results: Sequence[Atom]) -> dict[int, int]:
    last = {id(x): number for number, step in enumerate(steps) for x in step.inputs}
    last.update((id(x), len(steps)) for x in results)
    return last


def _cuts(steps: Sequence[Step], last_used: Mapping[int, int], stretch: Stretch) -> list[int]:
    """The places where the first repeat may begin, those first where the least is handed from repeat to repeat."""
    begin, end, period = stretch
    spare = (end - begin) % period
    if not spare:
        return [begin]
    change = np.zeros(end - begin + 2, np.int64)
    for number in range(begin, end):
        for v in steps[number].outputs:
            until = min(last_used.get(id(v), number), number + period, end)
            change[number + 1 - begin] += bytes_of(v.aval)
            change[until + 1 - begin] -= bytes_of(v.aval)
    handed = np.cumsum(change)[period : period + spare + 1]  # at the second beginning, when the first is at 0 … spare
    return [begin + int(cut) for cut in np.argsort(handed, kind="stable")[:_MOST_CUTS]]


def _loop_at(steps: Sequence[Step], places: Places, begin: int, stretch: Stretch) -> Loop | None:
    """The longest loop whose repeats begin at ``begin`` plus whole periods."""
    period = stretch.period
    rows, reach = [], []
    for repeat in range((stretch.end - begin) // period):
        row, far = _row(steps, places, begin, period, repeat)
        rows.append(row)
        reach.append(far)
    first, last = _alike(rows, reach)
    if last - first < 2:
        return None
    return _made(steps, begin + first * period, period, last - first, rows[last - 1])


def _row(
    steps: Sequence[Step], places: Places, begin: int, period: int, repeat: int
) -> tuple[list[tuple[int, int, int]], int]:
    """Where the operands of a repeat's steps come from: how many repeats before, which step and which result, or from
    outside; and the last repeat, but this one and the one before, of which one comes.
    """
    start = begin + repeat * period
    row, far = [], -1
    for step in steps[start : start + period]:
        for x in step.inputs:
            place = None if x.__class__ is Literal else places.get(id(x))
            if place is None or place[0] < begin:
                row.append(_OUTSIDE)
                continue
            number, inside = divmod(place[0] - begin, period)
            before = repeat - number
            if before > 1:
                far = max(far, number)
                row.append(_OUTSIDE)
            else:
                row.append((before, inside, place[1]))
    return row, far


def _alike(rows: Sequence[Sequence[tuple[int, int, int]]], reach: Sequence[int]) -> tuple[int, int]:
    """From which repeat to which one (exclusive) all are alike; the first may get from outside what the others get from
    the one before.
    """
    best, first = (0, 0), 0
    while first < len(rows):
        last = first + 1
        while last < len(rows) and rows[last] == rows[first] and reach[last] < first:
            last += 1
        begin = first
        if first and _may_come_before(rows[first - 1], rows[first]) and max(reach[first - 1 : last]) < first - 1:
            begin = first - 1
        if last - begin > best[1] - best[0]:
            best = begin, last
        first = last
    return best


def _may_come_before(row: Sequence[tuple[int, int, int]], others: Sequence[tuple[int, int, int]]) -> bool:
    return all(a == b or (b[0] == 1 and a[0] != 0) for a, b in zip(row, others, strict=True))


def _made(
    steps: Sequence[Step], begin: int, period: int, count: int, row: Sequence[tuple[int, int, int]]
) -> Loop | None:
    """The loop of repeats that are alike; None where a value that is carried has several types."""
    loop = Loop(begin, period, count, [], [], [], [])
    known: dict[Any, Operand] = {}
    origins = iter(row)
    repeats = [loop.steps(steps, repeat) for repeat in range(count)]
    for place in range(period):
        operands: list[Operand] = []
        for slot in range(len(repeats[0][place].inputs)):
            given = [repeat[place].inputs[slot] for repeat in repeats]
            operand = _operand(loop, known, next(origins), given)
            if isinstance(operand, Carried):
                carry = loop.carried[operand.number]
                if repeats[0][carry.result.step].outputs[carry.result.result].aval is not given[0].aval:
                    return None
            operands.append(operand)
        loop.operands.append(operands)
    return loop


def _operand(loop: Loop, known: dict[Any, Operand], origin: tuple[int, int, int], given: Sequence[Atom]) -> Operand:
    """What an operand of a step is, and of the loop, where it is new."""
    before, step, result = origin
    if before == 0:
        return Inside(step, result)
    keys = tuple(literal_key(x) if isinstance(x, Literal) else id(x) for x in given)
    if before == 1:
        key: Any = ("carried", step, result, keys[0])
        if key not in known:
            known[key] = Carried(len(loop.carried))
            loop.carried.append(Carry(given[0], Inside(step, result)))
        return known[key]
    if len(set(keys)) == 1:
        if isinstance(given[0], Literal):
            return given[0]
        key = ("same", keys[0])
        if key not in known:
            known[key] = Same(len(loop.same))
            loop.same.append(given[0])
        return known[key]
    key = ("differing", keys)
    if key not in known:
        known[key] = Differing(len(loop.differing))
        loop.differing.append(tuple(given))
    return known[key]
