"""What runs after a change: the tests recorded as nearest to each file, in turn, and those that imports reach."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests import nearby, nearest, passed, selection, thorough
from tests.mutation import nearest as choosing
from tests.thorough import Unit

A, B, C = "tests/a.py::test_f", "tests/b.py::test_g", "tests/c.py::test_h"


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Unit]]:
    monkeypatch.setattr(nearest, "RECORD", tmp_path / "nearest.json")
    units = {"core/one.py": [(A, 2), (B, 0)], "core/two.py": [(C, 0), (A, 2), (A, 3)]}
    nearest.write_record(units)
    return units


def test_a_record_is_read_as_it_was_written(record: dict[str, list[Unit]]) -> None:
    assert nearest.read_record() == record


def test_nothing_is_recorded_without_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "RECORD", tmp_path / "none.json")
    assert nearest.read_record() == {}


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ([], []),
        (["core/one.py"], [f"{A}#2", f"{B}#0"]),
        (["core/one.py", "core/two.py"], [f"{A}#2", f"{C}#0", f"{B}#0", f"{A}#3"]),
        (["core/one.py", "tests/ci/test_nearby.py"], ["tests/ci/test_nearby.py", f"{A}#2", f"{B}#0"]),
    ],
)
def test_the_nearest_tests_of_each_file_in_turn(
    changed: list[str], names: list[str], record: dict[str, list[Unit]], root: Path
) -> None:
    assert nearby.nearest_tests([root / file for file in changed]) == names


@pytest.mark.usefixtures("record")
@pytest.mark.parametrize(
    ("file", "reached"),
    [
        ("core/xlascope/profiler.py", "tests/core/test_profiler.py"),
        ("core/xlascope/operations/scaled_products.py", "tests/core/operations/test_rules.py"),
        ("widgets/xlascope_widgets/static/compiler/kernels_pane.js", None),
    ],
)
def test_what_imports_reach_where_nothing_is_recorded(file: str, reached: str | None, root: Path) -> None:
    names = nearby.nearest_tests([root / file])
    assert len(names) <= nearby.MAX_REACHED and (reached is None or reached in names)


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["tests/a.py::test_f[1]"], {"1"}),
        ([selection.name_of(thorough.unit_of("tests/a.py::test_f[1]"))], None),
        (["tests/a.py"], {str(number) for number in range(8)}),
        (["tests/other.py"], set()),
    ],
)
def test_selected_by_name(names: list[str], chosen: set[str] | None) -> None:
    rows = {str(number): selection.names_of(f"tests/a.py::test_f[{number}]") for number in range(8)}
    found = {row for row, all_names in rows.items() if set(all_names).intersection(names)}
    quarters = {row: thorough.quarter_of(test) for row, (test, _, _) in rows.items()}
    same = {row for row, quarter in quarters.items() if quarter == quarters["1"]}
    assert found == (same if chosen is None else chosen) and len(same) < 8


def test_changed_since_it_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passed, "ROOT", tmp_path)
    monkeypatch.setattr(passed, "RECORD", tmp_path / "build" / "passed.json")

    def run(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, check=True)

    for name in ("core/a.py", "core/b.py", "tests/test_c.py", "README.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    run("init", "--quiet")
    run("add", "core/a.py", "tests", "README.md")
    run("commit", "--quiet", "--message", "first")
    assert passed.changed_files() == [tmp_path / "core/b.py"]  # nothing has passed: what is not committed
    passed.note()
    assert passed.changed_files() == []
    (tmp_path / "core/a.py").write_text("other")
    (tmp_path / "core/b.py").unlink()
    (tmp_path / "README.md").write_text("other")
    run("commit", "--quiet", "--all", "--message", "second")
    assert passed.changed_files() == [tmp_path / "core/a.py"]


def test_chosen_by_what_they_cover_of_the_file() -> None:
    class Recorded:
        def lines_of(self, file: str) -> Any:
            assert file == "core/one.py"
            return [(f"{A}[1]", [1, 2, 3]), (f"{A}[2]", [1, 2, 3, 4]), (B, [1]), (C, [])]

    costs = choosing.costs_of({f"{A}[1]": (1.0, False), f"{A}[2]": (1.0, False), B: (50.0, True), C: (0.1, False)})
    (first, *others) = choosing.units_of("core/one.py", costs, Recorded())  # type: ignore[arg-type]
    assert first == thorough.unit_of(f"{A}[2]") and thorough.unit_of(C) not in others


def test_most_of_the_recorded_tests_are_there(root: Path) -> None:
    functions = {function for units in nearest.read_record().values() for function, _ in units}
    gone = [function for function in functions if not (root / function.partition("::")[0]).exists()]
    assert len(gone) <= len(functions) / 20, "choose anew: make mutants STEP=fast-part"
