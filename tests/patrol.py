"""Patrol: the slow tests in a fixed list for each day, so that CI runs each on one day of a few, in bounded time.

`make patrol` prints the list of today and runs it: live tests one at a time, the others side by side. DAY names another
day, as `2026-11-26` or any text; LIST=1 only prints; STOP_AFTER=600 stops the run after so many seconds.

The lists follow from tests/data/durations.json alone: files, or parts of files that take long, are dealt out
by what they cost, the most expensive first, each to the day that has least. A test of which nothing is recorded goes
to a day by its name, so it moves no other; `make durations` records it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import subprocess
import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests import days, durations, rerun
from tests.durations import Duration

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
#: The least number of days in which every slow test runs once.
MIN_DAYS = 7
#: What a day may take on the clock, as far as durations are recorded.
MAX_DAY_SECONDS = 15 * 60.0
#: Tests of a file, or of a function, that take longer together may run on several days.
MAX_UNIT_SECONDS = 120.0
#: What running side by side divides processor time by: two cores, of which some part waits.
SIDE_BY_SIDE = 1.7
#: The part of a day's tests that may be left when the time is up.
MAX_MISSED = 0.8


#: pytest's exit codes.
_PASSED, _NO_TESTS = 0, 5
#: Entries of the record that run on one day, with their seconds on the clock.
Unit = dict[str, float]


class SlowTest(NamedTuple):
    """A slow test, and whether it needs the machine for itself."""

    id: str
    live: bool

    @property
    def file(self) -> str:
        return self.id.partition("::")[0]


# The plan -----------------------------------------------------------------------------------------------------------


class Plan:
    """Assignment of the recorded tests to days."""

    def __init__(self, record: Mapping[str, Duration]) -> None:
        self._record = record
        units = _units(record)
        self.loads = _deal(units, MIN_DAYS)
        while max(map(_sum, self.loads)) > MAX_DAY_SECONDS and len(self.loads) < len(units):
            self.loads = _deal(units, len(self.loads) + 1)
        self._days = {name: day for day, load in enumerate(self.loads) for name in load}

    @property
    def days(self) -> int:
        return len(self.loads)

    def seconds(self, day: int) -> float:
        """Return what the recorded tests of a day take on the clock."""
        return _sum(self.loads[day])

    def day_of(self, test: str) -> int:
        """Return the day on which a test runs."""
        function = durations.function_of(test)
        for name in (test, function):
            if name in self._days:
                return self._days[name]
        return zlib.crc32(test.encode()) % self.days

    def estimate(self, tests: Iterable[SlowTest]) -> float:
        """Return what tests take on the clock."""
        return sum(durations.seconds_of(test.id, self._record) / (1 if test.live else SIDE_BY_SIDE) for test in tests)

    def order(self, tests: Iterable[SlowTest]) -> list[SlowTest]:
        """Return tests by files, files with the longest tests first: what begins last is short."""
        longest: dict[str, float] = defaultdict(float)
        for test in (tests := list(tests)):
            longest[test.file] = max(longest[test.file], self.estimate([test]))
        return sorted(tests, key=lambda test: (-longest[test.file], test.file))


def _units(record: Mapping[str, Duration]) -> list[Unit]:
    """Return groups of entries that stay together: files, or parts of files that take long."""
    units: list[Unit] = []
    file = ""
    for name, entry in sorted(record.items()):
        seconds = entry.seconds / (1 if entry.live else SIDE_BY_SIDE)
        if name.partition("::")[0] != file or _sum(units[-1]) + seconds > MAX_UNIT_SECONDS:
            units.append({})
        file, units[-1][name] = name.partition("::")[0], seconds
    return units


def _deal(units: Sequence[Unit], days: int) -> list[Unit]:
    """Return what each day has: units, the most expensive first, each go to the day that has least."""
    loads: list[Unit] = [{} for _ in range(days)]
    for unit in sorted(units, key=lambda unit: (-_sum(unit), min(unit))):
        min(loads, key=_sum).update(unit)
    return loads


def _sum(unit: Unit) -> float:
    return sum(unit.values())


# The run ------------------------------------------------------------------------------------------------------------


def collect() -> list[SlowTest]:
    """Return all slow tests."""
    path = BUILD / "slow.json"
    path.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-m", "slow", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-p", "tests.selection", "--write-selected", str(path)], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode not in (_PASSED, _NO_TESTS):
        sys.exit(f"{done.stdout}\n{done.stderr}\nthe slow tests cannot be collected")
    return [SlowTest(*test) for test in json.loads(path.read_text(encoding="utf-8"))]


def describe(plan: Plan, day: int, tests: Sequence[SlowTest], of: int) -> str:
    """Return the list of a day as text: a line for each file."""
    lines = [f"patrol: day {day + 1} of {plan.days}, {len(tests)} of {of} slow tests, {_minutes(plan.estimate(tests))}"]
    by_file: dict[tuple[str, bool], list[SlowTest]] = defaultdict(list)
    for test in tests:
        by_file[test.file, test.live].append(test)
    for (file, live), held in sorted(by_file.items()):
        lines.append(f"{plan.estimate(held):6.0f} s {len(held):5} {file}{' (live)' * live}")
    return "\n".join(lines)


def run(tests: Sequence[SlowTest], until: float, side_by_side: Sequence[str] = (), *, in_haste: bool = False) -> int:
    """Run tests until a time of `time.monotonic`; return 1 where one failed or too few were reached.

    pytest has further arguments for the tests that run side by side. A run in haste has less time than its tests take
    by their recorded durations: reaching few of them is then no failure.
    """
    status, outcomes = 0, {}
    for live, arguments in ((True, ["-m", "slow and live"]), (False, ["-m", "slow and not live", *side_by_side])):
        chosen = [test.id for test in tests if test.live == live]
        if not chosen or time.monotonic() > until:
            continue
        path = BUILD / f"patrol-{'live' if live else 'beside'}.json"
        path.write_text(json.dumps(chosen), encoding="utf-8")
        files = dict.fromkeys(test.file for test in tests if test.live == live)
        code, ran = rerun.run([*arguments, "-p", "tests.selection", "--select-from", str(path), *files], until)
        status, outcomes = status or code, outcomes | ran
    missed = [test.id for test in tests if test.id not in outcomes]
    if missed:
        print(f"patrol: its time was up before these {len(missed)} of {len(tests)} tests:", *missed, sep="\n  ")
    return status or int(not in_haste and len(missed) > MAX_MISSED * len(tests))


def _minutes(seconds: float) -> str:
    return f"{seconds // 60:.0f}:{seconds % 60:02.0f} minutes"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.patrol", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--day", default=datetime.date.today().isoformat(), help="a date, or any text; today's list")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after so many")
    parser.add_argument("--list", action="store_true", help="print the list and run nothing")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest for the tests that run side by side")
    chosen = parser.parse_args(arguments)
    until = time.monotonic() + chosen.seconds
    BUILD.mkdir(exist_ok=True)
    plan, slow = Plan(durations.read_record()), collect()
    day = days.number_of(chosen.day) % plan.days
    tests = plan.order(test for test in slow if plan.day_of(test.id) == day)
    print(describe(plan, day, tests, len(slow)), flush=True)
    in_haste = chosen.seconds < plan.estimate(tests)
    return 0 if chosen.list else run(tests, until, chosen.pytest, in_haste=in_haste)


if __name__ == "__main__":
    sys.exit(main())
