"""Chooser of the tests that `make test` runs: those that cover most for the processor time that they take.

A unit is a quarter of the rows of a test function. Units are taken one after the other, each time the one that covers
most for its cost, until the seconds are used: a line counts when the first unit covers it, less for the second and the
third, and not any more. Live tests and others have seconds of their own, because they run one after the other.
"""

from __future__ import annotations

import heapq
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tests import durations, thorough
from tests.mutation.contexts import NO_TEST, Contexts
from tests.thorough import Unit, unit_of

#: What a line counts that no unit, one unit or two units cover already.
VALUES = (1.0, 0.4, 0.2)
#: Seconds of processor time that a unit costs at least.
MIN_COST = 0.02

Line = tuple[str, int]


class Candidate(NamedTuple):
    """A unit with the processor seconds that it takes and the lines that it covers."""

    unit: Unit
    cost: float
    lines: frozenset[int]


def choose(
    candidates: Iterable[Candidate], seconds: float, values: Sequence[float] = VALUES, least: float = 0.0
) -> list[Unit]:
    """Return the units that cover most in so many seconds, those that cover most for their cost first.

    ``values`` are what a line counts that no unit, one unit, … covers already. Units that add less than ``least`` for
    each second are left out.
    """
    covered: dict[int, int] = defaultdict(int)

    def value(candidate: Candidate) -> float:
        gain = sum(values[covered[line]] for line in candidate.lines if covered[line] < len(values))
        return gain / candidate.cost

    chosen: list[Unit] = []
    queue = [(-value(candidate), candidate.unit, candidate) for candidate in candidates]
    heapq.heapify(queue)
    while queue and seconds > 0:
        _, unit, candidate = heapq.heappop(queue)
        now = value(candidate)  # others have covered some of its lines since it was put in
        if now < least:
            continue
        if queue and -now > queue[0][0]:
            heapq.heappush(queue, (-now, unit, candidate))
        elif candidate.cost <= seconds:
            chosen.append(unit)
            seconds -= candidate.cost
            for line in candidate.lines:
                covered[line] += 1
    return chosen


def candidates_of(tests: Mapping[str, float], contexts: Contexts) -> list[Candidate]:
    """Return the units of tests with their costs, which are given by test."""
    costs: dict[Unit, float] = defaultdict(lambda: MIN_COST)
    for test, cost in tests.items():
        costs[unit_of(test)] += cost
    numbers: dict[Line, int] = {}
    lines: dict[Unit, set[int]] = defaultdict(set)
    for test, file, ran in contexts.lines_by_test():
        if test != NO_TEST and test in tests:
            lines[unit_of(test)].update(numbers.setdefault((file, line), len(numbers)) for line in ran)
    return [Candidate(unit, cost, frozenset(lines[unit])) for unit, cost in costs.items()]


def record_of(units: Iterable[Unit], chosen: Iterable[Unit]) -> dict[str, int]:
    """Return the record of what is chosen of all units: quarters by function, or 0 for a whole file.

    Of a function as many quarters run as are chosen of it, the first ones.

    >>> record_of([("a.py::f", 0), ("a.py::f", 3), ("b.py::g", 0), ("c.py::h", 0)], [("a.py::f", 3), ("c.py::h", 0)])
    {'a.py::f': 1, 'b.py': 0}
    """
    quarters: dict[str, int] = {function: 0 for function, _ in units}
    all_of = {function: {unit for unit in units if unit[0] == function} for function in quarters}
    for function, _ in chosen:
        quarters[function] += 1
    full = {function for function, units in all_of.items() if quarters[function] == len(units)}
    files = {function.partition("::")[0] for function, count in quarters.items() if count}
    record: dict[str, int] = {}
    for function, count in sorted(quarters.items()):
        file = function.partition("::")[0]
        if file not in files:
            record[file] = 0
        elif function not in full:
            record[function] = count
    return record


def write(seconds: float, live_seconds: float) -> str:
    """Write the record of what fits into some processor seconds of the live tests and of the others."""
    costs = durations.read_costs()
    candidates = candidates_of({test: cost for test, (cost, _) in costs.items()}, Contexts())
    live = {unit_of(test) for test, (_, is_live) in costs.items() if is_live}
    chosen = choose((one for one in candidates if one.unit not in live), seconds)
    chosen += choose((one for one in candidates if one.unit in live), live_seconds)
    record = record_of([one.unit for one in candidates], chosen)
    thorough.RECORD.write_text(json.dumps(record, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    return f"{len(chosen)} of {len(candidates)} units are in `make test`"
