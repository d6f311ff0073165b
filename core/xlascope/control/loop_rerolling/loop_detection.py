"""Detection of loops: repeated steps whose operands have the same origins in each repeat."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...ir.jaxpr import Atom, Literal
from .loop_ir import CarriedValue, Invariant, Loop, LoopCarry, Operand, RepeatResult, Varying, bytes_of
from .normalized_steps import RerollStep, has_barriers, literal_key
from .repeated_regions import RepeatedRegion, RepeatedRegions

#: Maximum number of positions that are tried as the begin of a repeat, those that carry the fewest bytes first.
_MAX_CANDIDATE_BEGINS = 6
#: Maximum number of parts of a program that are searched.
_MAX_PARTS = 64
#: Maximum distance, in repeats, between a value and its use.
_MAX_REPEAT_DISTANCE = 2
_OUTSIDE = (-1, 0, 0)

#: Map from the id of a value to the step that computes it and the index among its results.
ProducerIndex = Mapping[int, tuple[int, int]]


def find_loops(
    steps: Sequence[RerollStep],
    results: Sequence[Atom],
    is_worth: Callable[[Loop], bool],
    weights: Sequence[int],
    min_saved: int,
) -> list[Loop]:
    """Return the loops that steps can become and that pass ``is_worth``, in order, without overlaps.

    ``results`` are the program's results, ``weights`` the number of equations of each step. Each loop saves at least
    ``min_saved`` equations.
    """
    before = np.concatenate(([0], np.cumsum(weights)))
    producers = {id(v): (number, i) for number, step in enumerate(steps) for i, v in enumerate(step.outputs)}
    last_used = _last_uses(steps, results)
    barriers: dict[int, bool] = {}
    kinds = [_step_kind(step, number, barriers) for number, step in enumerate(steps)]
    outside_inputs = [
        [id(x) for x in step.inputs if x.__class__ is not Literal and id(x) not in producers] for step in steps
    ]
    #: Equal by operation alone; and by operation and program operands, as repeated layers are.
    region_finders = (
        RepeatedRegions(kinds),
        RepeatedRegions([(kind, *ids) for kind, ids in zip(kinds, outside_inputs, strict=True)]),
    )
    detected: list[Loop] = []
    parts = [(0, len(steps))]
    for _ in range(_MAX_PARTS):
        if not parts:
            break
        begin, end = parts.pop()
        if before[end] - before[begin] < min_saved:
            continue
        longest = {
            region.widen(kinds, begin, end)
            for regions in region_finders
            if (region := regions.longest(begin, end)) is not None
        }
        candidates = sorted(longest, key=lambda region: (-region.saved_count, region.period))
        candidates = [
            region for region in candidates if before[region.end - region.period] - before[region.begin] >= min_saved
        ]
        loops = (_loop_in(steps, producers, last_used, stretch) for stretch in candidates)
        loop = next((loop for loop in loops if loop is not None and is_worth(loop)), None)
        if loop is not None:
            detected.append(loop)
            parts += [(begin, loop.begin), (loop.end, end)]
        elif candidates:  # the parts beside the longest region may have repeats
            parts += [(begin, candidates[0].begin), (candidates[0].end, end)]
    return sorted(detected, key=lambda loop: loop.begin)


def _loop_in(
    steps: Sequence[RerollStep], producers: ProducerIndex, last_used: Mapping[int, int], stretch: RepeatedRegion
) -> Loop | None:
    """Return the longest loop in a repeated region; None if there is none.

    Of equally long loops it is the one that carries the fewest bytes. ``producers`` says which step computes a value,
    ``last_used`` which step uses it last, both by the value's id; ``stretch`` is the region.
    """
    loops = [_loop_at(steps, producers, begin, stretch) for begin in _candidate_begins(steps, last_used, stretch)]
    return max(
        filter(None, loops),
        key=lambda loop: (loop.repeats, -sum(bytes_of(x.init.aval) for x in loop.carries)),
        default=None,
    )


def _step_kind(step: RerollStep, number: int, barriers: dict[int, bool]) -> Any:
    """Return a key that is equal for steps that may be the same step of a loop's body.

    ``number`` is the step's index, ``barriers`` a cache of :func:`has_barriers`. Steps with effects or barriers equal
    only themselves: XLA's CPU compiler removes barriers in loops from programs with small loops.
    """
    if step.operation.effects or has_barriers(step.operation, barriers):
        return number
    return step.operation, *(id(x.aval) for x in step.inputs)


def _last_uses(steps: Sequence[RerollStep], results: Sequence[Atom]) -> dict[int, int]:
    """Return the index of the last step that uses each value, by the value's id; results are used after all steps."""
    last = {id(x): number for number, step in enumerate(steps) for x in step.inputs}
    last.update((id(x), len(steps)) for x in results)
    return last


def _candidate_begins(steps: Sequence[RerollStep], last_used: Mapping[int, int], stretch: RepeatedRegion) -> list[int]:
    """Return the indices of steps where the first repeat may begin, those that pass the fewest bytes on first.

    ``last_used`` is the index of the last step that uses a value, by the value's id. A region that is a whole number
    of periods has one candidate.
    """
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
    costs = np.cumsum(change)[period : period + spare + 1]  # at the second beginning, when the first is at 0 … spare
    return [begin + int(offset) for offset in np.argsort(costs, kind="stable")[:_MAX_CANDIDATE_BEGINS]]


def _loop_at(steps: Sequence[RerollStep], producers: ProducerIndex, begin: int, stretch: RepeatedRegion) -> Loop | None:
    """Return the longest loop whose repeats begin at step ``begin`` plus whole periods; None if there is none.

    ``producers`` says which step computes a value, by the value's id; ``stretch`` is the region with the period.
    """
    period = stretch.period
    rows, reach = [], []
    for repeat in range((stretch.end - begin) // period):
        row, far = _operand_origins(steps, producers, begin, period, repeat)
        rows.append(row)
        reach.append(far)
    first, last = _longest_alike(rows, reach)
    if last - first < 2:
        return None
    return _build_loop(steps, begin + first * period, period, last - first, rows[last - 1])


def _operand_origins(
    steps: Sequence[RerollStep], producers: ProducerIndex, begin: int, period: int, repeat: int
) -> tuple[list[tuple[int, int, int]], int]:
    """Return the origins of the operands of a repeat's steps, and the last repeat that is too far back for one of them.

    An origin is (distance in repeats, index of the step in its repeat, index of the result), or ``_OUTSIDE``. Repeat
    ``repeat`` begins at step ``begin + repeat * period``. A value from more than a few repeats ago counts as outside;
    if there is none, the second number is -1.
    """
    start = begin + repeat * period
    row, far = [], -1
    for step in steps[start : start + period]:
        for x in step.inputs:
            producer = None if x.__class__ is Literal else producers.get(id(x))
            if producer is None or producer[0] < begin:
                row.append(_OUTSIDE)
                continue
            number, step_index = divmod(producer[0] - begin, period)
            before = repeat - number
            if before > _MAX_REPEAT_DISTANCE:
                far = max(far, number)
                row.append(_OUTSIDE)
            else:
                row.append((before, step_index, producer[1]))
    return row, far


def _longest_alike(rows: Sequence[Sequence[tuple[int, int, int]]], reach: Sequence[int]) -> tuple[int, int]:
    """Return the longest range (first, end) of repeats with equal origins.

    ``rows`` are the origins of each repeat, ``reach`` the last repeat that each takes as outside (see
    :func:`_operand_origins`). The first repeats may take from outside the values that later ones take from previous
    repeats.
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


def _may_begin(rows: Sequence[Sequence[tuple[int, int, int]]], expected_row: Sequence[tuple[int, int, int]]) -> bool:
    """Return whether repeats with operands of origins ``rows`` may be the first ones of a loop.

    ``expected_row`` are the origins in all later repeats. In the first ones they may differ only where the later
    repeats take a value from an earlier repeat that does not exist yet; there a value from outside takes its place. See
    :func:`_operand_origins`.
    """
    return len(rows) <= _MAX_REPEAT_DISTANCE and all(
        origin == expected or (expected[0] > repeat and not 0 <= origin[0] <= repeat)
        for repeat, row in enumerate(rows)
        for origin, expected in zip(row, expected_row, strict=True)
    )


def _build_loop(
    steps: Sequence[RerollStep], begin: int, period: int, count: int, row: Sequence[tuple[int, int, int]]
) -> Loop | None:
    """Return the loop of ``count`` equal repeats of ``period`` steps from step ``begin`` on.

    ``row`` are the origins of the operands in the last repeat. Returns None if a carried value has several types.
    """
    loop = Loop(begin, period, count, [], [], [], [])
    operand_by_key: dict[Any, Operand] = {}
    origins = iter(row)
    repeats = [loop.steps_of_repeat(steps, repeat) for repeat in range(count)]
    for step_index in range(period):
        operands: list[Operand] = []
        for operand_index in range(len(repeats[0][step_index].inputs)):
            values = [repeat[step_index].inputs[operand_index] for repeat in repeats]
            origin = next(origins)
            if origin[0] > 0 and repeats[0][origin[1]].outputs[origin[2]].aval is not values[0].aval:
                return None
            operand = _classify_operand(loop, operand_by_key, origin, values)
            operands.append(operand)
        loop.operands.append(operands)
    return loop


def _classify_operand(
    loop: Loop, operand_by_key: dict[Any, Operand], origin: tuple[int, int, int], values: Sequence[Atom]
) -> Operand:
    """Return what an operand of a repeat's step becomes in the loop; register it with the loop if it is new.

    It is a result of the same repeat (RepeatResult) or of an earlier one (CarriedValue); from outside of the loop, a
    value that is equal in all repeats (Invariant, or the Literal itself) or that differs (Varying). ``origin`` is
    (distance in repeats, index of the step in its repeat, index of the result), with distance -1 for outside.
    ``values`` are the operand's values, one for each repeat. ``operand_by_key`` has the operands already registered, by
    keys that identify their values, and is added to.
    """
    before, step, result = origin
    if before == 0:
        return RepeatResult(step, result)
    if before > 0:
        return _carry_operand(loop, operand_by_key, RepeatResult(step, result), values[:before])
    keys = tuple(map(_key, values))
    if len(set(keys)) == 1:
        if isinstance(values[0], Literal):
            return values[0]
        key: Any = ("same", keys[0])
        if key not in operand_by_key:
            operand_by_key[key] = Invariant(len(loop.invariants))
            loop.invariants.append(values[0])
        return operand_by_key[key]
    key = ("differing", keys)
    if key not in operand_by_key:
        operand_by_key[key] = Varying(len(loop.varying))
        loop.varying.append(tuple(values))
    return operand_by_key[key]


def _carry_operand(
    loop: Loop, operand_by_key: dict[Any, Operand], result: RepeatResult, first: Sequence[Atom]
) -> CarriedValue:
    """Return the carried value that stands for a result of as many repeats before as there are values in ``first``.

    ``first`` are the initial values. A distance of several repeats adds several carried values to the loop, each of
    which passes on the next.
    """
    key = ("carried", result, *map(_key, first))
    if key not in operand_by_key:
        before = _carry_operand(loop, operand_by_key, result, first[1:]) if len(first) > 1 else result
        operand_by_key[key] = CarriedValue(len(loop.carries))
        loop.carries.append(LoopCarry(first[0], before))
    carried_value = operand_by_key[key]
    assert isinstance(carried_value, CarriedValue)
    return carried_value


def _key(x: Atom) -> Any:
    return literal_key(x) if isinstance(x, Literal) else id(x)
