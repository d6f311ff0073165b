"""A failed test is run again alone, once; what passes then is unsteady, and a failure in the third run."""

import json
import math
import time
from pathlib import Path

import pytest
from tests import rerun, unsteady

#: A project of tests: `once` fails in its first run, `always` in each, and one kills its worker in its first run.
PROJECT = """
import os
import pathlib
import time

import pytest

def first_time(test):
    seen = pathlib.Path(__file__).with_name(f"{test}.seen")
    first = not seen.exists()
    seen.touch()
    return first

def test_passes():
    pass

@pytest.mark.parametrize("text", ["a b::c[d]/é 'e\\" $HOME"])
def test_once(text):
    assert not first_time("once")

def test_always():
    raise AssertionError("as ever")

@pytest.fixture
def unclean():
    yield
    assert not first_time("teardown")

def test_teardown(unclean):
    pass

def test_crash():
    if first_time("crash"):
        os._exit(3)

def test_skips_then():
    if not first_time("skips_then"):
        pytest.skip("is no pass")
    raise AssertionError

@pytest.mark.parametrize("number", range(20))
def test_many(number):
    assert number > 10

def test_endless():
    time.sleep(600)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.joinpath("test_project.py").write_text(PROJECT, encoding="utf-8")
    tmp_path.joinpath("pytest.ini").write_text("[pytest]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(rerun.ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # each run starts in half the time
    monkeypatch.setattr(unsteady, "FOUND", tmp_path / "build" / "unsteady.json")
    monkeypatch.setattr(unsteady, "RECORD", tmp_path / "unsteady.json")
    return tmp_path


def run(*names: str, seconds: float = math.inf, more: tuple[str, ...] = ()) -> tuple[int, dict[str, str]]:
    """Run tests of the project; return the exit code and how each went, without the file."""
    ids = [f"test_project.py::test_{name}" for name in names]
    code, ran = rerun.run(["-p", "no:cacheprovider", *more, *ids], time.monotonic() + seconds)
    return code, {test.removeprefix("test_project.py::test_"): outcome for test, outcome in ran.items()}


def test_what_passes_is_run_once(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("passes") == (0, {"passes": "passed"})
    said = capfd.readouterr().out
    assert "1 passed" in said and "rerun" not in said and not unsteady.FOUND.exists()


@pytest.mark.parametrize("name", ["once", "teardown"])
def test_what_passes_the_second_time_is_unsteady(name: str, project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, ran = run(name, "passes")
    assert code == 0 and set(ran.values()) == {"passed"}
    (found,) = unsteady.read(unsteady.FOUND)
    assert found.startswith(f"test_project.py::test_{name}")
    said = capfd.readouterr().out
    assert unsteady.parse(said) == unsteady.read(unsteady.FOUND) and "1 of 3)" in said


def test_what_fails_twice_is_a_failure(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("always", "skips_then", "teardown")[0] == 1
    said = capfd.readouterr().out
    assert "rerun: failed again: test_project.py::test_always" in said
    assert "rerun: failed again: test_project.py::test_skips_then" in said  # to be skipped is not to pass
    assert list(unsteady.parse(said)) == ["test_project.py::test_teardown"]


def test_a_worker_that_dies_is_a_failed_test(project: Path) -> None:
    assert run("crash", "passes", more=("-p", "xdist", "--numprocesses", "1")) == (
        0,
        {"crash": "passed", "passes": "passed"},
    )
    assert list(unsteady.read(unsteady.FOUND)) == ["test_project.py::test_crash"]


def test_many_failures_have_one_cause(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("many")[0] == 1
    assert "none of 11 failures is run again" in capfd.readouterr().out


def test_a_file_that_cannot_be_read_is_a_failure(project: Path) -> None:
    project.joinpath("test_project.py").write_text("import missing_here")
    code, _ = rerun.run(["-p", "no:cacheprovider"])
    assert code == 1
    assert rerun.run(["test_that_is_not_there.py"])[0] == 4


def test_unsteady_in_three_runs_is_a_failure(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("teardown")[0] == 0
    found = unsteady.read(unsteady.FOUND)
    assert unsteady.main([]) == 0 and not unsteady.FOUND.exists()
    assert unsteady.read(unsteady.RECORD) == found
    unsteady.write(unsteady.RECORD, unsteady.merge(found, {test: ["2026-11-26T10:00:00"] for test in found}))
    assert "2 of 3)" not in capfd.readouterr().out
    project.joinpath("teardown.seen").unlink()
    assert run("teardown")[0] == 1
    said = capfd.readouterr().out
    assert "3 of 3)" in said and "rerun: unsteady in 3 runs, to be repaired: test_project.py::test_teardown" in said


def test_a_log_is_merged_once(project: Path) -> None:
    log = project / "ci.log"
    log.write_text("unsteady: a.py::b[c (d)] (run of 2026-11-26T10:00:00, 1 of 3)\nunsteady: nothing\n")
    for _ in range(2):
        assert unsteady.main([str(log)]) == 0
        assert json.loads(unsteady.RECORD.read_text()) == {"a.py::b[c (d)]": ["2026-11-26T10:00:00"]}


def test_when_the_time_is_up_what_ran_counts(project: Path) -> None:
    code, ran = run("passes", "endless", seconds=5)
    assert code == 0 and "endless" not in ran


def test_no_test_was_unsteady_too_often() -> None:
    """Tests that were unsteady in three recorded runs are to be repaired, and removed from the record."""
    assert not unsteady.list_worn_out(unsteady.read(unsteady.RECORD))
