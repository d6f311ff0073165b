"""Which steps may become loops: those that repeat, whose operands come from alike places in each repeat."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...ir.jaxpr import Atom, Literal
from .loop import Carried, Carry, Differing, Inside, Loop, Operand, Same, bytes_of
from .steps import Step, has_barriers, literal_key
from .stretches import Stretch, Stretches

#: So many places are tried where a repeat may begin, those over which the fewest bytes are handed.
_MOST_CUTS = 6
#: So many parts of a program are looked at one after the other.
_MOST_PARTS = 64
#: A repeat may need what so many repeats before it gave.
_MOST_BACK = 2
_OUTSIDE = (-1, 0, 0)

#: By the id of a value, the step that gives it, and which of its results it is.
Places = Mapping[int, tuple[int, int]]


def loops_of(
    steps: Sequence[Step],
    results: Sequence[Atom],
    worth: Callable[[Loop], bool],
    weights: Sequence[int],
    least: int,
) -> list[Loop]:
    """The loops that steps may become, if they are ``worth`` it, in order; they do not overlap.

    None of them spares less than ``least``, by the steps' ``weights``.
    """
    before = np.concatenate(([0], np.cumsum(weights)))
    places = {id(v): (number, i) for number, step in enumerate(steps) for i, v in enumerate(step.outputs)}
    last_used = _last_used(steps, results)
    barriers: dict[int, bool] = {}
    kinds = [_kind(step, number, barriers) for number, step in enumerate(steps)]
    given = [[id(x) for x in step.inputs if x.__class__ is not Literal and id(x) not in places] for step in steps]
    #: Alike by what they do; and by what of the program's operands they do it to, as layers are that come again.
    known = Stretches(kinds), Stretches([(kind, *ids) for kind, ids in zip(kinds, given, strict=True)])
    found: list[Loop] = []
    parts = [(0, len(steps))]
    for _ in range(_MOST_PARTS):
        if not parts:
            break
        begin, end = parts.pop()
        if before[end] - before[begin] < least:
            continue
        longest = {each.widened(kinds, begin, end) for one in known if (each := one.longest(begin, end)) is not None}
        tried = sorted(longest, key=lambda each: (-each.spared, each.period))
        tried = [each for each in tried if before[each.end - each.period] - before[each.begin] >= least]
        loops = (_loop_in(steps, places, last_used, stretch) for stretch in tried)
        loop = next((loop for loop in loops if loop is not None and worth(loop)), None)
        if loop is not None:
            found.append(loop)
            parts += [(begin, loop.begin), (loop.end, end)]
        elif tried:  # what is beside the longest one may repeat by itself
            parts += [(begin, tried[0].begin), (tried[0].end, end)]
    return sorted(found, key=lambda loop: loop.begin)


def _loop_in(steps: Sequence[Step], places: Places, last_used: Mapping[int, int], stretch: Stretch) -> Loop | None:
    """The longest loop in a stretch; of equals that which hands on least."""
    loops = [_loop_at(steps, places, cut, stretch) for cut in _cuts(steps, last_used, stretch)]
    return max(
        filter(None, loops),
        key=lambda loop: (loop.repeats, -sum(bytes_of(x.init.aval) for x in loop.carried)),
        default=None,
    )


def _kind(step: Step, number: int, barriers: dict[int, bool]) -> Any:
    """What steps have in common that may be one step of a loop.

    Barriers stay where they are: a CPU's compiler takes those in loops out of programs that have small loops.
    """
    if step.operation.effects or has_barriers(step.operation, barriers):
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
    outside; and the last repeat of which one comes that is farther back than repeats may look.
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
            if before > _MOST_BACK:
                far = max(far, number)
                row.append(_OUTSIDE)
            else:
                row.append((before, inside, place[1]))
    return row, far


def _alike(rows: Sequence[Sequence[tuple[int, int, int]]], reach: Sequence[int]) -> tuple[int, int]:
    """From which repeat to which one (exclusive) all are alike; the first ones may get from outside what the others get
    from those before.
    """
    best, first = (0, 0), 0
    while first < len(rows):
        last = first + 1
        while last < len(rows) and rows[last] == rows[first] and reach[last] < first:
            last += 1
        begin = first
        while begin and _may_begin(rows[begin - 1 : first], rows[first]) and max(reach[begin - 1 : last]) < begin - 1:
            begin -= 1
        if last - begin > best[1] - best[0]:
            best = begin, last
        first = last
    return best


def _may_begin(rows: Sequence[Sequence[tuple[int, int, int]]], others: Sequence[tuple[int, int, int]]) -> bool:
    """Whether a loop may begin with the repeats of ``rows``, when all that follow are like ``others``."""
    return len(rows) <= _MOST_BACK and all(
        one == other or (other[0] > repeat and not 0 <= one[0] <= repeat)
        for repeat, row in enumerate(rows)
        for one, other in zip(row, others, strict=True)
    )


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
            origin = next(origins)
            if origin[0] > 0 and repeats[0][origin[1]].outputs[origin[2]].aval is not given[0].aval:
                return None
            operand = _operand(loop, known, origin, given)
            operands.append(operand)
        loop.operands.append(operands)
    return loop


def _operand(loop: Loop, known: dict[Any, Operand], origin: tuple[int, int, int], given: Sequence[Atom]) -> Operand:
    """What an operand of a step is, and of the loop, where it is new."""
    before, step, result = origin
    if before == 0:
        return Inside(step, result)
    if before > 0:
        return _carried(loop, known, Inside(step, result), given[:before])
    keys = tuple(map(_key, given))
    if len(set(keys)) == 1:
        if isinstance(given[0], Literal):
            return given[0]
        key: Any = ("same", keys[0])
        if key not in known:
            known[key] = Same(len(loop.same))
            loop.same.append(given[0])
        return known[key]
    key = ("differing", keys)
    if key not in known:
        known[key] = Differing(len(loop.differing))
        loop.differing.append(tuple(given))
    return known[key]


def _carried(loop: Loop, known: dict[Any, Operand], result: Inside, first: Sequence[Atom]) -> Carried:
    """What was given as many repeats before as there are values that the first repeats are given instead."""
    key = ("carried", result, *map(_key, first))
    if key not in known:
        before = _carried(loop, known, result, first[1:]) if len(first) > 1 else result
        known[key] = Carried(len(loop.carried))
        loop.carried.append(Carry(first[0], before))
    found = known[key]
    assert isinstance(found, Carried)
    return found


def _key(x: Atom) -> Any:
    return literal_key(x) if isinstance(x, Literal) else id(x)
