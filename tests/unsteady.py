"""Record of unsteady tests: those that failed in a run and passed when `tests/rerun.py` ran them again alone.

A run prints them and adds them to build/unsteady.json. CI runs in a clone that is thrown away, so whoever reads its log
records them: `make unsteady LOG=FILE` moves the lines `unsteady: …` of a log into tests/data/unsteady.json, and
`make unsteady` those of the runs here. A test that was unsteady in `MAX_RUNS` runs is a failure until it is repaired;
whoever repairs it removes its entry.
"""

from __future__ import annotations

import datetime
import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: What was unsteady in runs here that are not recorded yet: the times of these runs, by test.
FOUND = ROOT / "build" / "unsteady.json"
#: What was unsteady in recorded runs.
RECORD = ROOT / "tests" / "data" / "unsteady.json"
#: Unsteady in so many runs is a failure.
MAX_RUNS = 3
_LINE = re.compile(r"^unsteady: (.+) \(run of (\S+), (?:\d+) of \d+\)$", re.MULTILINE)

Runs = Mapping[str, list[str]]


def read(path: Path) -> dict[str, list[str]]:
    """Return the times of the runs in which each test was unsteady."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def write(path: Path, runs: Runs) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(runs, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def merge(*records: Runs) -> dict[str, list[str]]:
    """Return the runs of all records.

    >>> merge({"a": ["1"]}, {"a": ["1", "2"], "b": ["2"]})
    {'a': ['1', '2'], 'b': ['2']}
    """
    names = sorted({name for record in records for name in record})
    return {name: sorted({run for record in records for run in record.get(name, [])}) for name in names}


def add(tests: Iterable[str]) -> dict[str, list[str]]:
    """Write down tests that were unsteady now, and return them with the time of this run."""
    now = datetime.datetime.now().isoformat(timespec="milliseconds")
    found = {test: [now] for test in tests}
    if found:
        write(FOUND, merge(read(FOUND), found))
    return found


def describe(record: Runs, found: Runs) -> list[str]:
    """Return a line for each test that was unsteady in this run, with the number of runs in which it was.

    >>> describe({"a.py::b": ["2026-11-25T10:00"]}, {"a.py::b": ["2026-11-26T10:00"]})
    ['unsteady: a.py::b (run of 2026-11-26T10:00, 2 of 3)']
    """
    together = merge(record, found)
    return [
        f"unsteady: {name} (run of {runs[-1]}, {len(together[name])} of {MAX_RUNS})" for name, runs in found.items()
    ]


def list_worn_out(runs: Runs) -> list[str]:
    """Return the tests that were unsteady in too many runs.

    >>> list_worn_out({"a": ["1", "2", "3"], "b": ["1", "2"]})
    ['a']
    """
    return [name for name, times in runs.items() if len(times) >= MAX_RUNS]


def parse(log: str) -> dict[str, list[str]]:
    """Return what a log says of unsteady tests.

    >>> parse("…\\nunsteady: a.py::b[c d] (run of 2026-11-26T10:00, 1 of 3)\\n")
    {'a.py::b[c d]': ['2026-11-26T10:00']}
    """
    return merge(*({name: [run]} for name, run in _LINE.findall(log)))


def main(logs: list[str]) -> int:
    found = merge(*(parse(Path(log).read_text(encoding="utf-8")) for log in logs)) if logs else read(FOUND)
    write(RECORD, merge(read(RECORD), found))
    print("\n".join(describe(read(RECORD), found)) or "no test was unsteady")
    if not logs:
        FOUND.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
