"""Detection of loops: repeated steps whose operands have the same origins in each repeat."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ...ir.jaxpr import Atom, Literal
from .loop_ir import CarriedValue, Invariant, Loop, LoopCarry, Operand, RepeatResult, Varying, bytes_of
from .normalized_steps import OperationTable, RerollStep, literal_key
from .repeated_regions import RepeatedRegion, RepeatedRegions

#: Maximum number of positions that are tried as the begin of a repeat, those that carry the fewest bytes first.
_MAX_CANDIDATE_BEGINS = 6
#: Maximum number of parts of a program that are searched.
_MAX_PARTS = 64
#: Maximum distance, in repeats, between a value and its use.
_MAX_REPEAT_DISTANCE = 2
#: Origin of an operand that no step of the loop computes, or none of the last repeats: the index of no origin.
_OUTSIDE_INDEX = -1


class RegionTest(Protocol):
    """Test whether a loop in a region may be worth it, whatever passes between its repeats."""

    def __call__(self, region: RepeatedRegion, kinds: Sequence[int]) -> bool:
        """Return False if no loop in ``region`` is worth it; ``kinds`` has equal numbers for steps that are alike."""


class OperandTable:
    """Where the operands of all steps come from, as arrays.

    ``codes`` has for each operand of each step the step that computes it times ``width`` plus the index of the result,
    or -1 if none does; ``offsets`` says where those of a step begin. ``producer_codes`` has the same by value's id.
    """

    def __init__(self, steps: Sequence[RerollStep]) -> None:
        self.width = max((len(step.outputs) for step in steps), default=1) or 1
        self.producer_codes: dict[int, int] = {
            id(v): number * self.width + i for number, step in enumerate(steps) for i, v in enumerate(step.outputs)
        }
        self._steps = steps

    @functools.cached_property
    def offsets(self) -> np.ndarray:
        """Return the index of the first operand of each step, and the number of all operands."""
        return np.concatenate(([0], np.cumsum([len(step.inputs) for step in self._steps])))

    @functools.cached_property
    def codes(self) -> np.ndarray:
        """Return the origins of all operands."""
        get = self.producer_codes.get  # a literal has another id than any result
        return np.array([get(id(x), -1) for step in self._steps for x in step.inputs], np.int64)


def find_loops(
    steps: Sequence[RerollStep],
    results: Sequence[Atom],
    is_worth: Callable[[Loop], bool],
    weights: Sequence[int],
    min_saved: int,
    may_be_worth: RegionTest,
    operations: OperationTable,
) -> list[Loop]:
    """Return the loops that steps can become and that pass ``is_worth``, in order, without overlaps.

    ``results`` are the program's results, ``weights`` the number of equations of each step. Each loop saves at least
    ``min_saved`` equations. Regions that fail ``may_be_worth`` are not looked into.
    ``operations`` are those of the steps.
    """
    before = np.concatenate(([0], np.cumsum(weights)))
    table = OperandTable(steps)
    kinds = _number_kinds(steps, operations)
    #: Equal by operation alone; and by operation and program operands, as repeated layers are.
    region_finders = (
        RepeatedRegions(kinds),
        RepeatedRegions(_number_kinds_with_operands(steps, kinds, table)),
    )
    last_used: dict[int, int] = {}

    def find(candidates: Sequence[RepeatedRegion]) -> Loop | None:
        promising = [region for region in candidates if may_be_worth(region, kinds)]
        if promising and not last_used:
            last_used.update(_last_uses(steps, results))
        loops = (_loop_in(steps, table, last_used, region) for region in promising)
        return next((loop for loop in loops if loop is not None and is_worth(loop)), None)

    return search_regions(kinds, region_finders, before, min_saved, find)


def search_regions(
    kinds: Sequence[int],
    finders: Sequence[RepeatedRegions],
    before: np.ndarray,
    min_saved: int,
    find: Callable[[Sequence[RepeatedRegion]], Loop | None],
) -> list[Loop]:
    """Return the loops that ``find`` finds in the longest repeated regions of a program and of what is beside them.

    ``kinds`` has equal numbers for steps that are alike, ``finders`` find regions of them, and ``before`` has the
    number of equations before each step and in all. ``find`` gets the regions of one part of the program that save at
    least ``min_saved`` equations, the longest one first.
    """
    detected: list[Loop] = []
    parts = [(0, len(kinds))]
    for _ in range(_MAX_PARTS):
        if not parts:
            break
        begin, end = parts.pop()
        if before[end] - before[begin] < min_saved:
            continue
        longest = {
            region.widen(kinds, begin, end)
            for regions in finders
            if (region := regions.longest(begin, end)) is not None
        }
        candidates = sorted(longest, key=lambda region: (-region.saved_count, region.period))
        candidates = [
            region for region in candidates if before[region.end - region.period] - before[region.begin] >= min_saved
        ]
        loop = find(candidates)
        if loop is not None:
            detected.append(loop)
            parts += [(begin, loop.begin), (loop.end, end)]
        elif candidates:  # the parts beside the longest region may have repeats
            parts += [(begin, candidates[0].begin), (candidates[0].end, end)]
    return sorted(detected, key=lambda loop: loop.begin)


def _loop_in(
    steps: Sequence[RerollStep], table: OperandTable, last_used: Mapping[int, int], region: RepeatedRegion
) -> Loop | None:
    """Return the longest loop in a repeated region; None if there is none.

    Of equally long loops it is the one that carries the fewest bytes. ``last_used`` says which step uses a value last,
    by the value's id.
    """
    loops = [_loop_at(steps, table, begin, region) for begin in _candidate_begins(steps, last_used, region)]
    return max(
        filter(None, loops),
        key=lambda loop: (loop.repeats, -sum(bytes_of(x.init.aval) for x in loop.carries)),
        default=None,
    )


def _number_kinds(steps: Sequence[RerollStep], operations: OperationTable) -> list[int]:
    """Return a number for each step, equal for steps that may be the same step of a loop's body."""
    numbers: dict[Any, int] = {}
    kinds = []
    for step in steps:
        facts = operations.get(id(step.operation)) or operations.add(step.operation)
        kind = step.number if facts.is_unique else (facts.number, *[id(x.aval) for x in step.inputs])
        kinds.append(numbers.setdefault(kind, len(numbers)))
    return kinds


def _number_kinds_with_operands(steps: Sequence[RerollStep], kinds: Sequence[int], table: OperandTable) -> list[Any]:
    """Return a value for each step, equal for steps of equal ``kinds`` that take the same operands of the program."""
    producers = table.producer_codes
    outside = [[id(x) for x in step.inputs if id(x) not in producers and x.__class__ is not Literal] for step in steps]
    return [(kind, *ids) if ids else kind for kind, ids in zip(kinds, outside, strict=True)]


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


def _loop_at(steps: Sequence[RerollStep], table: OperandTable, begin: int, region: RepeatedRegion) -> Loop | None:
    """Return the longest loop whose repeats begin at step ``begin`` plus whole periods; None if there is none."""
    period = region.period
    origins, reach = _operand_origins(table, begin, period, (region.end - begin) // period)
    first, last = _longest_alike(origins, reach, period * table.width)
    if last - first < 2:
        return None
    return _build_loop(steps, table, begin + first * period, period, last - first, origins[last - 1].tolist())


def _operand_origins(table: OperandTable, begin: int, period: int, repeats: int) -> tuple[np.ndarray, list[int]]:
    """Return the origins of the operands of each repeat's steps, and the last repeat that is too far back for each.

    An origin is the distance in repeats times the period plus the index of the step in its repeat, times the table's
    width, plus the index of the result; or -1 for outside. The first repeat begins at step ``begin``. A value from more
    than a few repeats ago counts as outside; for a repeat without one the last repeat is -1.
    """
    offsets, width = table.offsets, table.width
    codes = table.codes[offsets[begin] : offsets[begin + repeats * period]].reshape(repeats, -1)
    relative = codes - begin * width  # negative outside
    numbers, indices = np.divmod(relative, period * width)
    distances = np.arange(repeats)[:, None] - numbers
    is_inside = relative >= 0
    is_far = is_inside & (distances > _MAX_REPEAT_DISTANCE)
    reach = np.where(is_far, numbers, -1).max(axis=1, initial=-1)
    origins = np.where(is_inside & ~is_far, distances * (period * width) + indices, _OUTSIDE_INDEX)
    return origins, reach.tolist()


def _longest_alike(origins: np.ndarray, reach: Sequence[int], stride: int) -> tuple[int, int]:
    """Return the longest range (first, end) of repeats with equal origins.

    ``origins`` are those of each repeat, ``reach`` the last repeat that each takes as outside (see
    :func:`_operand_origins`). ``stride`` is the difference of origins one repeat apart. The first repeats may take from
    outside the values that later ones take from previous repeats.
    """
    rows = [row.tobytes() for row in origins]
    best, first = (0, 0), 0
    while first < len(rows):
        last = first + 1
        while last < len(rows) and rows[last] == rows[first] and reach[last] < first:
            last += 1
        begin = first
        while (
            begin
            and first - begin < _MAX_REPEAT_DISTANCE
            and _may_begin(origins[begin - 1 : first], origins[first], stride)
            and max(reach[begin - 1 : last]) < begin - 1
        ):
            begin -= 1
        if last - begin > best[1] - best[0]:
            best = begin, last
        first = last
    return best


def _may_begin(origins: np.ndarray, expected: np.ndarray, stride: int) -> bool:
    """Return whether repeats with operands of these origins may be the first ones of a loop.

    ``expected`` are the origins in all later repeats. In the first ones they may differ only where the later
    repeats take a value from an earlier repeat that does not exist yet; there a value from outside takes its place. See
    :func:`_longest_alike` for the parameters.
    """
    repeats = np.arange(len(origins))[:, None]
    distances = origins // stride
    is_missing = (expected // stride > repeats) & ~((distances >= 0) & (distances <= repeats))
    return bool(((origins == expected) | is_missing).all())


def _build_loop(
    steps: Sequence[RerollStep], table: OperandTable, begin: int, period: int, count: int, origins: Sequence[int]
) -> Loop | None:
    """Return the loop of ``count`` equal repeats of ``period`` steps from step ``begin`` on.

    ``origins`` are those of the operands in the last repeat. Returns None if a carried value has several types.
    """
    loop = Loop(begin, period, count, [], [], [], [])
    operand_by_key: dict[Any, Operand] = {}
    origin_of_next = iter(origins)
    first_repeat = loop.steps_of_repeat(steps, 0)
    for step_index in range(period):
        operands: list[Operand] = []
        for operand_index in range(len(first_repeat[step_index].inputs)):
            code, result = divmod(next(origin_of_next), table.width)
            distance, source = divmod(code, period)
            if code < 0:
                values = [steps[begin + r * period + step_index].inputs[operand_index] for r in range(count)]
                operands.append(_outside_operand(loop, operand_by_key, values))
            elif distance == 0:
                operands.append(RepeatResult(source, result))
            else:
                values = [steps[begin + r * period + step_index].inputs[operand_index] for r in range(distance)]
                if first_repeat[source].outputs[result].aval is not values[0].aval:
                    return None
                operands.append(_carry_operand(loop, operand_by_key, RepeatResult(source, result), values))
        loop.operands.append(operands)
    return loop


def _outside_operand(loop: Loop, operand_by_key: dict[Any, Operand], values: Sequence[Atom]) -> Operand:
    """Return what an operand from outside of a loop becomes in it; register it with the loop if it is new.

    A value that is equal in all repeats is an Invariant, or the Literal itself, and others are Varying. ``values``
    are the operand's values, one for each repeat. ``operand_by_key`` has the operands already registered, by keys that
    identify their values, and is added to.
    """
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
