"""The versions that the README names are those that the tests ran with, and `make matrix` runs them again."""

import random
import time

import pytest
from tests import matrix


def test_the_readme_names_what_ran() -> None:
    readme = matrix.README.read_text()
    assert matrix.with_line(readme, matrix.versions_line(matrix.recorded())) == readme


def test_every_environment_ran_and_nothing_failed() -> None:
    rows = matrix.recorded()
    ran = [(".".join(row["python"].split(".")[:2]), row["jaxlib"]) for row in rows]
    assert ran == [(each.python, each.jaxlib) for each in matrix.ENVIRONMENTS]
    for row in rows:
        assert len(row["parts"]) >= len(matrix.SOME)
        for part, counts in row["parts"].items():
            assert counts["passed"] > 0 and not matrix.failed(counts), (row["python"], part)


def test_what_ci_draws_are_parts() -> None:
    assert set(matrix.SOME) <= set(matrix.parts())
    drawn = {random.Random(f"2026-11-{day:02}").choice(matrix.SOME) for day in range(1, 31)}
    assert drawn == set(matrix.SOME)


def test_what_is_not_there_is_no_failure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    missing = matrix.Environment("2.1", "0.10.2")
    monkeypatch.setattr(matrix, "ENVIRONMENTS", (missing,))
    assert matrix.some("a seed", 1) == 0
    assert capsys.readouterr().out == (
        "matrix: Python 2.1, jaxlib 0.10.2: not run, there is no Python 2.1 on this machine\n"
    )
    with pytest.raises(matrix.UnavailableError, match="no Python"):
        matrix.made(missing, time.time() + 1)


def test_summaries_are_read() -> None:
    assert matrix.counted("1 failed, 281 passed, 3 deselected, 64 warnings in 107.78s (0:01:47)") == {
        "failed": 1,
        "passed": 281,
    }
    assert matrix.counted("2 errors in 0.10s") == {"error": 2}
    assert matrix.counted("killed") == {}
