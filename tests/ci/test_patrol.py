"""Each slow test runs on one day of the patrol, always the same, and no day is too long."""

import json
from pathlib import Path

import pytest
from tests import days, durations, patrol, unsteady
from tests.durations import Duration
from tests.patrol import Plan, SlowTest

RECORD = durations.read_record()


def test_each_day_has_its_time() -> None:
    plan = Plan(RECORD)
    assert plan.days >= patrol.MIN_DAYS
    assert all(0 < plan.seconds(day) <= patrol.MAX_DAY_SECONDS for day in range(plan.days))


def test_each_test_has_one_day() -> None:
    plan = Plan(RECORD)
    assert sorted(name for load in plan.loads for name in load) == sorted(RECORD)
    assert {plan.day_of(name) for name in RECORD} == set(range(plan.days))
    for day, load in enumerate(plan.loads):
        assert {plan.day_of(name) for name in load} == {day}


def test_days_do_not_depend_on_the_order_of_the_record() -> None:
    plan, other = Plan(RECORD), Plan(dict(reversed(RECORD.items())))
    assert [plan.day_of(name) for name in RECORD] == [other.day_of(name) for name in RECORD]


def test_a_file_stays_together_unless_it_takes_long() -> None:
    record = {f"{file}.py::test_{number}": Duration(20.0, 2, True) for file in "abcdefgh" for number in range(5)}
    record |= {f"long.py::test[{number}]": Duration(100.0, 1, True) for number in range(20)}
    plan = Plan(record)
    for file in "abcdefgh":
        assert len({plan.day_of(f"{file}.py::test_{number}[x]") for number in range(5)}) == 1
    assert {plan.day_of(f"long.py::test[{number}]") for number in range(20)} == set(range(7))


def test_what_does_not_fit_takes_more_days() -> None:
    plan = Plan({f"{number}.py::test": Duration(400.0, 1, True) for number in range(30)})
    assert plan.days == 15 and plan.seconds(0) == 800.0


def test_a_new_test_moves_no_other() -> None:
    plan = Plan(RECORD)
    new = [f"tests/new.py::test_{number}" for number in range(1000)]
    assert {plan.day_of(test) for test in new} == set(range(plan.days))
    assert plan.estimate([SlowTest(new[0], True)]) == durations.UNKNOWN_SECONDS
    assert Plan({"a.py::test[b]": Duration(3.0, 1, True)}).estimate([SlowTest("a.py::test[c]", True)]) == 3.0


def test_side_by_side_takes_less_time() -> None:
    plan = Plan({"a.py::test": Duration(30.0, 3, False)})
    assert plan.estimate([SlowTest("a.py::test[b]", False)]) == 10 / patrol.SIDE_BY_SIDE


def test_files_with_long_tests_come_first() -> None:
    plan = Plan({"a.py::test": Duration(3.0, 3, False), "b.py::one": Duration(9.0, 1, False)})
    tests = [SlowTest(test, False) for test in ("a.py::test[2]", "a.py::test[1]", "b.py::test", "b.py::one")]
    assert plan.order(tests) == [*tests[2:], *tests[:2]]


def test_another_day_is_another_list() -> None:
    count = Plan(RECORD).days
    numbers = [days.number_of(f"2026-12-{day:02}") % count for day in range(1, count + 1)]
    assert sorted(numbers) == list(range(count))


def test_only_the_list_of_the_day_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tests = (
        "import pytest\n\n@pytest.mark.slow\n@pytest.mark.parametrize('n', range(4))\ndef test(n):\n    assert n != 3\n"
    )
    tmp_path.joinpath("test_few.py").write_text(tests)
    tmp_path.joinpath("pytest.ini").write_text("[pytest]\nmarkers =\n  slow: long\n  live: watches\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(patrol.ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr(unsteady, "FOUND", tmp_path / "unsteady.json")
    for name, value in (("ROOT", tmp_path), ("BUILD", tmp_path)):
        monkeypatch.setattr(patrol, name, value)
    found = patrol.collect()
    assert found == [SlowTest(f"test_few.py::test[{n}]", False) for n in range(4)]
    assert patrol.run(found[1:3], float("inf")) == 0
    assert "2 passed, 2 deselected" in capfd.readouterr().out
    gone = [SlowTest(f"test_few.py::gone[{n}]", False) for n in range(5)]
    assert patrol.run([*found[:1], *gone[:4]], float("inf")) == 0
    assert patrol.run([*found[:1], *gone], float("inf")) == 1
    assert patrol.run([*found[:1], *gone], float("inf"), in_haste=True) == 0
    assert patrol.run(found[3:], float("inf")) == 1


def test_the_record_is_merged_by_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durations, "LINES", tmp_path / "lines")
    lines = [
        {"id": "a.py::f[x]", "live": False, "wall": 9.0, "processor": 2.04},
        {"id": "a.py::f[x]", "live": False, "wall": 9.0, "processor": 1.04},
        {"id": "a.py::f[y]", "live": False, "wall": 9.0, "processor": 2.0},
        {"id": "a.py::g[x]", "live": True, "wall": 50.0, "processor": 1.0},
        {"id": "a.py::g[y]", "live": True, "wall": 50.0, "processor": 1.0},
    ]
    durations.LINES.write_text("\n".join(map(json.dumps, lines)))
    record = durations.merge({"b.py::h": Duration(1.0, 1, False)}, durations.read_lines())
    assert record == {
        "a.py::f": Duration(3.0, 2, False),
        "a.py::g[x]": Duration(50.0, 1, True),
        "a.py::g[y]": Duration(50.0, 1, True),
        "b.py::h": Duration(1.0, 1, False),
    }
    faster = {"a.py::g[x]": Duration(1.0, 1, True), "a.py::f[y]": Duration(1.0, 1, False)}
    merged = durations.merge(record, faster)
    assert merged["a.py::g"] == Duration(51.0, 2, True) and "a.py::g[x]" not in merged
    assert merged["a.py::f"] == record["a.py::f"]  # only one of its two tests ran
