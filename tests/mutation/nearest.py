"""Chooser of the tests that are nearest to each file of the sources: what `make test` runs when the file has changed.

They are chosen by recorded coverage, as the fast part is, from all tests that are not slow: units (quarters of the rows
of a test function) that cover most of the file's lines for the time that they take. A line may be covered several
times, because a test that runs a line need not notice what is wrong with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from tests import durations, nearest
from tests.mutation import fast_part
from tests.mutation.contexts import ROOT, Contexts
from tests.mutation.fast_part import Candidate
from tests.thorough import Unit, unit_of

#: What a line counts that no unit, one unit, … covers already.
VALUES = (1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
#: Processor seconds that the units of a file may take.
SECONDS = 60.0
#: Units that add less than so many lines for a second are not worth their time.
MIN_LINES_PER_SECOND = 0.02


def units_of(file: str, costs: Mapping[Unit, float], contexts: Contexts) -> list[Unit]:
    """Return the units nearest to a file, the nearest first, by its path from the repository's root."""
    lines: dict[Unit, set[int]] = defaultdict(set)
    for test, ran in contexts.lines_of(file):
        lines[unit_of(test)].update(ran)
    candidates = [Candidate(unit, costs[unit], frozenset(ran)) for unit, ran in lines.items() if unit in costs]
    return fast_part.choose(candidates, SECONDS, VALUES, MIN_LINES_PER_SECOND)


def costs_of(costs: Mapping[str, tuple[float, bool]]) -> dict[Unit, float]:
    """Return what the units cost, from the seconds of each test."""
    found: dict[Unit, float] = defaultdict(lambda: fast_part.MIN_COST)
    for test, (seconds, _) in costs.items():
        found[unit_of(test)] += seconds
    return found


def write(folders: Iterable[str]) -> str:
    """Write the record of the units nearest to each file of some folders."""
    contexts, costs = Contexts(), costs_of(durations.read_costs())
    files = [path.relative_to(ROOT).as_posix() for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    record = {file: units for file in files if (units := units_of(file, costs, contexts))}
    nearest.write_record(record)
    return f"{len(record)} of {len(files)} files have nearest tests"
