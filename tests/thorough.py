"""Plugin of pytest that marks thorough tests: `make test` leaves them out, `make test-all` and CI run them.

What `make test` runs is chosen by what tests cover and cost (`tests/mutation/fast_part.py`), and recorded in
tests/data/thorough.json by test function: how many quarters of its rows `make test` runs. A row's quarter follows from
its name, so a new row moves no other. A file or a function that the record does not name runs whole.
"""

from __future__ import annotations

import functools
import json
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "tests" / "data" / "thorough.json"
#: Parts of the rows of a function.
QUARTERS = 4

#: A quarter of the rows of a test function: the function's id and the number of the quarter.
Unit = tuple[str, int]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_thorough(item.nodeid):
            item.add_marker(pytest.mark.thorough)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files of which a run without thorough tests has none: collecting them takes each process its time."""
    if "not thorough" not in str(config.option.markexpr) or not collection_path.is_relative_to(ROOT):
        return None
    return True if read_record().get(collection_path.relative_to(ROOT).as_posix()) == 0 else None


def is_thorough(test: str) -> bool:
    """Return whether `make test` leaves a test out."""
    return quarter_of(test) >= quarters_of(test)


def quarter_of(test: str) -> int:
    """Return to which quarter of its function's rows a test belongs.

    >>> quarter_of("tests/test_a.py::test_b[c]"), quarter_of("tests/test_a.py::test_b")
    (1, 0)
    """
    return zlib.crc32(test.encode()) % QUARTERS if "[" in test else 0


def unit_of(test: str) -> Unit:
    """Return the unit to which a test belongs.

    >>> unit_of("tests/test_a.py::test_b[c]")
    ('tests/test_a.py::test_b', 1)
    """
    return test.partition("[")[0], quarter_of(test)


def quarters_of(test: str) -> int:
    """Return how many quarters of the rows of a test's function `make test` runs."""
    file, function = test.partition("::")[0], test.partition("[")[0]
    return min(read_record().get(file, QUARTERS), read_record().get(function, QUARTERS))


@functools.cache
def read_record() -> dict[str, int]:
    """Return the recorded quarters by file or function."""
    return dict(json.loads(RECORD.read_text(encoding="utf-8"))) if RECORD.exists() else {}
