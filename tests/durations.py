"""Recorder of what each slow test costs, and the record in the repository by which `tests/patrol.py` plans its days.

A slow test that passes appends a line to build/durations.jsonl: its seconds on the clock, and the processor seconds of
its process and of all that this process started. `make durations` merges these lines into tests/data/durations.json.
There a live test, which runs alone, has its seconds on the clock; a test that shares the machine has its processor
seconds, because its time on the clock depends on what runs beside it.

With XLASCOPE_TESTS_COSTS=1 the other tests append their processor seconds to build/costs.jsonl, by which
`tests/mutation/fast_part.py` chooses what `make test` runs.

The record has an entry per test function: `[seconds, number of tests, whether they are live]`. Where the tests of a
function take longer than `MAX_FUNCTION_SECONDS` together, each that takes long has an entry of its own.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
LINES = ROOT / "build" / "durations.jsonl"
RECORD = ROOT / "tests" / "data" / "durations.json"
#: Costs of tests that are not slow.
COSTS = ROOT / "build" / "costs.jsonl"
#: In functions whose tests take longer together, tests of at least so many seconds are recorded one by one.
MAX_FUNCTION_SECONDS = 60.0
MIN_TEST_SECONDS = 2.0
#: What a test costs of which nothing is recorded, nor of another one of its function.
UNKNOWN_SECONDS = 10.0

_PROPERTY = "durations"
_START = pytest.StashKey[tuple[float, float]]()
_PASSED = pytest.StashKey[bool]()
_RECORD_COSTS = os.environ.get("XLASCOPE_TESTS_COSTS") == "1"


class Duration(NamedTuple):
    """The seconds that some tests take together: on the clock where they are live, else of processor time."""

    seconds: float
    tests: int
    live: bool


# The recorder -------------------------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if _is_recorded(item):
        item.stash[_START] = _now()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report: Any = yield
    if call.when == "call":
        item.stash[_PASSED] = report.passed
    if call.when == "teardown" and item.stash.get(_PASSED, False) and _is_recorded(item):
        wall, processor = (after - before for after, before in zip(_now(), item.stash[_START], strict=True))
        kinds = {"slow": "slow" in item.keywords, "live": "live" in item.keywords}
        taken = {**kinds, "wall": round(wall, 3), "processor": round(processor, 3)}
        report.user_properties.append((_PROPERTY, taken))
    return report


def _is_recorded(item: pytest.Item) -> bool:
    return _RECORD_COSTS or "slow" in item.keywords


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # under xdist the controller receives the reports of all workers
        config.pluginmanager.register(Writer(), "durations-writer")


class Writer:
    """Writer of a line per test that passed and is recorded."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        taken = dict(report.user_properties).get(_PROPERTY)
        if isinstance(taken, dict) and report.when == "teardown":
            lines = LINES if taken.pop("slow") else COSTS
            lines.parent.mkdir(exist_ok=True)
            with lines.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"id": report.nodeid, **taken}) + "\n")


def _now() -> tuple[float, float]:
    """Return seconds on the clock, and of processor time of this process and of all that it started."""
    times = os.times()
    processor = times.user + times.system + times.children_user + times.children_system
    return time.monotonic(), processor + sum(map(_processor_seconds, _descendants(os.getpid())))


def _descendants(process: int | str) -> Iterator[str]:
    """Yield the living processes that a process started, with those that they started."""
    try:
        texts = [file.read_text() for file in Path(f"/proc/{process}/task").glob("*/children")]
    except OSError:  # it has just ended
        return
    for child in " ".join(texts).split():
        yield child
        yield from _descendants(child)


def _processor_seconds(process: str) -> float:
    """Return the processor time of a process and of those that it waited for; 0 where it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


# The record ---------------------------------------------------------------------------------------------------------


def read_record() -> dict[str, Duration]:
    """Return what is recorded, by test function or by test."""
    return {name: Duration(*entry) for name, entry in json.loads(RECORD.read_text(encoding="utf-8")).items()}


def read_lines() -> dict[str, Duration]:
    """Return what the tests took that ran here, each in its last run."""
    lines = map(json.loads, LINES.read_text(encoding="utf-8").splitlines() if LINES.exists() else [])
    return {line["id"]: Duration(line["wall" if line["live"] else "processor"], 1, line["live"]) for line in lines}


def read_costs() -> dict[str, tuple[float, bool]]:
    """Return the processor seconds of each test that is not slow and ran here, and whether it is live."""
    lines = map(json.loads, COSTS.read_text(encoding="utf-8").splitlines() if COSTS.exists() else [])
    return {line["id"]: (line["processor"], line["live"]) for line in lines}


def merge(record: Mapping[str, Duration], ran: Mapping[str, Duration]) -> dict[str, Duration]:
    """Return the record with new entries for the functions whose tests ran, unless only some of them did.

    >>> merge({"a.py::f": Duration(9.0, 2, False)}, {"a.py::f[x]": Duration(1.0, 1, False)})
    {'a.py::f': Duration(seconds=9.0, tests=2, live=False)}
    """
    merged, recorded = dict(record), _by_function(record)
    for function, anew in _by_function(ran).items():
        single = {name: entry for name, entry in recorded.get(function, {}).items() if name != function}
        others = {name: entry for name, entry in anew.items() if name not in single}
        single |= {name: entry for name, entry in anew.items() if name in single}
        if function in record and len(others) < record[function].tests:
            merged |= single
        else:
            for name in recorded.get(function, {}):
                del merged[name]
            merged |= _shorten(function, single | others)
    return {name: merged[name] for name in sorted(merged)}


def _shorten(function: str, tests: Mapping[str, Duration]) -> dict[str, Duration]:
    """Return an entry for the tests of a function, and in long ones an entry of each test that takes long."""
    long = sum(entry.seconds for entry in tests.values()) > MAX_FUNCTION_SECONDS and len(tests) > 1
    entries = {name: entry for name, entry in tests.items() if long and entry.seconds >= MIN_TEST_SECONDS}
    if rest := [entry for name, entry in tests.items() if name not in entries]:
        entries[function] = Duration(sum(entry.seconds for entry in rest), len(rest), rest[0].live)
    return {name: entry._replace(seconds=round(entry.seconds, 1)) for name, entry in entries.items()}


def _by_function(entries: Mapping[str, Duration]) -> dict[str, dict[str, Duration]]:
    functions: dict[str, dict[str, Duration]] = defaultdict(dict)
    for name, entry in entries.items():
        functions[function_of(name)][name] = entry
    return functions


def seconds_of(test: str, record: Mapping[str, Duration]) -> float:
    """Return what a test costs, from its own entry, from that of its function, or as others of its function do.

    >>> seconds_of("a.py::f[x]", {"a.py::f": Duration(3.0, 2, False)})
    1.5
    """
    function = function_of(test)
    own = record.get(test) or record.get(function)
    entries = [own] if own else [entry for name, entry in record.items() if name.startswith(f"{function}[")]
    if not entries:
        return UNKNOWN_SECONDS
    return sum(entry.seconds for entry in entries) / sum(entry.tests for entry in entries)


def function_of(test: str) -> str:
    """Return a test's id without its parameters.

    >>> function_of("tests/test_a.py::test_b[c[0]-d::e]")
    'tests/test_a.py::test_b'
    """
    return test.partition("[")[0]


def write_record(record: Mapping[str, Duration]) -> None:
    lines = (f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in record.items())
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main() -> int:
    ran = read_lines()
    record = merge(read_record(), ran)
    write_record({name: entry for name, entry in record.items() if (ROOT / name.partition("::")[0]).exists()})
    print(f"{len(ran)} tests ran; {len(record)} entries in {RECORD.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
