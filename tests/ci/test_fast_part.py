"""The fast part covers most for its time, and which tests belong to it follows from their names and a record."""

import itertools
import json
from pathlib import Path

import pytest
import scipy.stats
from tests import thorough
from tests.mutation import check, fast_part, intervals
from tests.mutation.fast_part import Candidate


def candidate(name: str, cost: float, *lines: int) -> Candidate:
    return Candidate((name, 0), cost, frozenset(lines))


CHOICES = [
    ("the one that covers more", [candidate("a", 1, 1), candidate("b", 1, 1, 2)], 1, "b"),
    ("the one that costs less", [candidate("a", 2, 1, 2), candidate("b", 1, 1, 2)], 1, "b"),
    ("what fits", [candidate("a", 2, *range(9)), candidate("b", 1, 1)], 1, "b"),
    ("nothing twice", [candidate("a", 1, 1, 2, 3), candidate("b", 1, 1, 2), candidate("c", 1, 4)], 2, "ac"),
    ("a second time before nothing", [candidate("a", 1, 1, 2, 3), candidate("b", 1, 1, 2)], 2, "ab"),
    ("all that there is", [candidate("a", 1, 1), candidate("b", 1)], 9, "ab"),
]


@pytest.mark.parametrize(
    ("candidates", "seconds", "chosen"), [row[1:] for row in CHOICES], ids=[row[0] for row in CHOICES]
)
def test_chosen(candidates: list[Candidate], seconds: float, chosen: str) -> None:
    assert "".join(sorted(name for name, _ in fast_part.choose(candidates, seconds))) == chosen


def test_quarters_of_a_function_are_about_equal() -> None:
    counts = [0] * thorough.QUARTERS
    for number in range(400):
        counts[thorough.quarter_of(f"tests/a.py::test_b[{number}]")] += 1
    assert min(counts) > 70


@pytest.mark.parametrize(
    ("record", "fast"),
    [
        ({}, 40),
        ({"tests/a.py": 0}, 0),
        ({"tests/a.py::test_b": 0}, 0),
        ({"tests/other.py::test_b": 0, "tests/a.py::test_c": 0}, 40),
        ({"tests/a.py::test_b": 4}, 40),
    ],
)
def test_which_rows_are_fast(record: dict[str, int], fast: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thorough, "read_record", lambda: record)
    rows = [f"tests/a.py::test_b[{number}]" for number in range(40)]
    assert sum(not thorough.is_thorough(row) for row in rows) == fast


def test_a_part_of_the_rows_grows_with_its_quarters(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"tests/a.py::test_b[{number}]" for number in range(40)]
    parts = []
    for quarters in range(thorough.QUARTERS + 1):
        monkeypatch.setattr(thorough, "read_record", lambda quarters=quarters: {"tests/a.py::test_b": quarters})
        parts.append({row for row in rows if not thorough.is_thorough(row)})
    assert all(part < larger for part, larger in itertools.pairwise(parts))


def test_each_record_names_what_is_there(root: Path) -> None:
    """A file or a function that was renamed runs whole, which nobody would notice."""
    gone = []
    for name, quarters in thorough.read_record().items():
        file, _, function = name.partition("::")
        assert 0 <= quarters < thorough.QUARTERS
        is_test = function and file.startswith("tests/")
        if not (root / file).exists() or (
            is_test and f"def {function.rpartition('::')[2].rpartition('.')[2]}(" not in (root / file).read_text()
        ):
            gone.append(name)
    assert not gone, "choose anew: make mutants STEP=fast-part"


def test_all_of_the_smoke_test_is_there(root: Path) -> None:
    tests = json.loads(check.SMOKE.read_text(encoding="utf-8"))
    assert len(tests) == 20
    for test in tests:
        file, _, function = test.partition("[")[0].partition("::")
        assert f"def {function}(" in (root / file).read_text(encoding="utf-8")


@pytest.mark.parametrize(("part", "of"), [(0, 10), (10, 10), (170, 200), (1, 3)])
def test_intervals(part: int, of: int) -> None:
    interval = scipy.stats.binomtest(part, of).proportion_ci(0.95, "wilson")
    expected = f"{100 * interval.low:.0f} to {100 * interval.high:.0f} %"
    assert intervals.share_and_interval(part, of)[1] == expected
    assert f"({expected})" in intervals.share(part, of)
