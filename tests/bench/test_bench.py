"""``make bench``: its tables are distinct, what it says of a case follows from the rounds, and one run writes all."""

from __future__ import annotations

import json

import pytest
from bench import __main__ as bench
from bench import eager, groups, measured, paired, reasons, results
from bench.sides import side

RATIOS = (0.9, 0.95, 1.0, 1.02, 1.04, 1.05, 1.06, 1.1, 3.0)


def found(case: str, *ratios: float) -> paired.Compared:
    return paired.Compared(case, (1e-3, 2e-3), ratios or RATIOS)


def test_the_interval_is_within_the_rounds_and_holds_the_quartiles() -> None:
    compared = found("a case")
    assert compared.ratio == 1.04 and compared.interval == (0.95, 1.1)
    (low, high), (least, most) = compared.quartiles, compared.interval
    assert least <= low <= compared.ratio <= high <= most
    assert found("of one round", 1.5).interval == found("of one round", 1.5).quartiles == (1.5, 1.5)


@pytest.mark.parametrize(("goal", "failed"), [(None, False), (1.0, False), (0.95, False), (0.94, True)])
def test_a_case_fails_when_the_lower_end_of_its_interval_exceeds_the_goal(goal: float | None, failed: bool) -> None:
    assert results.fails(found("a case"), goal) == failed
    assert ("fails" in results.row(found("a case"), goal)) == failed


def test_tables_have_names_and_cases_of_their_own() -> None:
    names = [group.name for group in groups.GROUPS] + [groups.OWN_SPREAD.name, "fresh"]
    assert len(set(names)) == len(names)
    for group in groups.GROUPS:
        assert group.cases and len(set(group.cases)) == len(group.cases)
        assert group.goals.keys() <= {*group.cases}
    assert len(eager.OPERATIONS) >= 90 and len(measured.STEPS) == len(measured.FIRST_CALLS) == 32


def test_each_eager_operation_runs() -> None:
    of = side("xlascope")
    calls = eager.operations(of)
    assert set(calls) == set(eager.OPERATIONS)
    for call in calls.values():
        of.xs.block_until_ready(call())


def test_reasons_are_of_cases_and_groups_that_there_are() -> None:
    cases = {case for group in groups.GROUPS for case in group.cases} | set(groups.FRESH)
    assert set(reasons.OF_CASES) <= cases
    assert set(reasons.OF_GROUPS) <= {group.name for group in groups.GROUPS}


def test_one_run_writes_all_its_rows_and_nothing_else(tmp_path, monkeypatch, capsys) -> None:
    asked = []

    def compare(module, cases, environment, rounds, sides):
        asked.append((module, [side.name for side in sides]))
        yield from map(found, cases)

    monkeypatch.setattr(bench, "compare", compare)
    monkeypatch.setattr(bench, "_compare_fresh", lambda case, sides, rounds: found(case))
    monkeypatch.setattr(bench, "REPORTS", {"a report": lambda: ["| of its own |"]})
    monkeypatch.setattr(results, "PATH", tmp_path / "RESULTS.md")
    monkeypatch.setattr(results, "DATA", tmp_path / "results.json")
    (tmp_path / "RESULTS.md").write_text("| a row of another day |")
    monkeypatch.setattr("sys.argv", ["bench"])
    bench.main()
    text, data = (tmp_path / "RESULTS.md").read_text(), json.loads((tmp_path / "results.json").read_text())
    assert asked[0] == ("bench.measured", ["xlascope", "xlascope"]) and asked[1][1] == ["xlascope", "jax"]
    assert "another day" not in text and "| of its own |" not in text and "load average" in text
    cases = {case for group in groups.GROUPS for case in group.cases} | set(groups.FRESH)
    assert all(f"| {case} |" in text for case in cases)
    assert {case for table in data["tables"].values() for case in table["cases"]} >= cases
    assert data["tables"]["lowering"]["cases"]["lower lstm_64"]["fails"]  # 0.95 exceeds 0.5
    assert "fails: lowering: lower lstm_64 1.040, at most 0.5: XLA's fusion" in capsys.readouterr().out
    plot = (tmp_path / "growth.svg").read_text()
    assert "(growth.svg)" in text and "<svg" in plot and ">jax<" in plot and ">equations of the chain<" in plot


@pytest.mark.parametrize("case", ["lower", "lower a chain of 300", "first call of heat", "step of heat"])
def test_a_measured_case_is_found_by_its_name(case: str) -> None:
    assert measured.measure("xlascope", case) > 0


def test_a_case_that_ends_its_process_is_told_and_the_others_are_measured(tmp_path) -> None:
    (tmp_path / "cases_of_a_test.py").write_text(
        "import sys\nfor line in sys.stdin:\n"
        "    if line == 'dies\\n' and sys.argv[1] == 'jax':\n        sys.exit(3)\n"
        "    print(2.0 if sys.argv[1] == 'jax' else 1.0, flush=True)\n"
    )
    rows = [*paired.compare("cases_of_a_test", ["one", "dies", "two"], {"PYTHONPATH": str(tmp_path)}, rounds=2)]
    assert rows[0] == paired.Compared("one", (1.0, 2.0), (0.5, 0.5)) and rows[2] == rows[0]._replace(case="two")
    assert rows[1] == paired.Unmeasured("dies", "the process of the second side ended with status 3")


def test_a_run_says_what_it_could_not_measure_and_fails(tmp_path, monkeypatch) -> None:
    rows = [found("trace"), paired.Unmeasured("lower", "ended")]
    monkeypatch.setattr(bench, "compare", lambda *_: iter(rows))
    monkeypatch.setattr(bench, "_compare_fresh", lambda case, sides, rounds: found(case))
    monkeypatch.setattr(results, "PATH", tmp_path / "RESULTS.md")
    monkeypatch.setattr(results, "DATA", tmp_path / "results.json")
    monkeypatch.setattr("sys.argv", ["bench"])
    with pytest.raises(SystemExit, match="1"):
        bench.main()
    text = (tmp_path / "RESULTS.md").read_text()
    assert "not measured: stages: lower: ended" in text and "| trace |" in text


def test_a_report_runs_where_it_is_named(monkeypatch, capsys) -> None:
    monkeypatch.setattr(bench, "REPORTS", {"whole": lambda: ["| of its own |"], "broken": lambda: 1 / 0})
    monkeypatch.setattr("sys.argv", ["bench", "whole", "broken"])
    with pytest.raises(SystemExit, match="1"):
        bench.main()
    printed = capsys.readouterr().out
    assert "| of its own |" in printed and "not measured: broken: ZeroDivisionError" in printed


def test_names_choose_and_write_nothing(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(bench, "compare", lambda module, cases, *_: map(found, cases))
    monkeypatch.setattr(results, "PATH", tmp_path / "RESULTS.md")
    monkeypatch.setattr("sys.argv", ["bench", "unary_sin", "devices"])
    bench.main()
    printed = capsys.readouterr().out
    assert "| unary sin |" in printed and "| psum by pmap |" in printed
    assert "unary cos" not in printed and "A again" not in printed and not list(tmp_path.iterdir())
