"""The jury: each program runs and tells what it measured, and figures are compared with that as they should be."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
from typing import Any

import pytest
from bench.jury import clock
from bench.jury.places import environment
from bench.jury.program import Program
from bench.jury.programs import PROGRAMS
from bench.jury.verdicts import Row, failing, middle_round, rows, summary, table
from bench.watched import Interval

#: Iterations of a loop here, and of the one that fails in the middle.
MAX_ITERATIONS, MAX_FAILING_ITERATIONS = 4, 61
IN_PROCESS = [program for program in PROGRAMS.values() if program.engine == "xlascope" and program.devices == 1]
ON_EIGHT = [program for program in PROGRAMS.values() if program.engine == "xlascope" and program.devices == 8]


def shortened(program: Program) -> str:
    """The source of a program, with fewer iterations and without what follows its cell."""
    most = MAX_FAILING_ITERATIONS if program.raises else MAX_ITERATIONS
    source = program._replace(after="", again=False).script
    return re.sub(r"\brange\(([\d_]+)\)", lambda found: f"range({min(int(found[1]), most)})", source)


def run(source: str, raises: str) -> list[dict[str, Any]]:
    printed, error = io.StringIO(), ""
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(source, "<jury>", "exec"), {"__name__": "jury"})
        except KeyError as raised:
            error = type(raised).__name__
    assert error == raises
    return clock.parse(printed.getvalue())


def check(told: list[dict[str, Any]]) -> None:
    assert told
    for line in told:
        assert line["function"].isidentifier() and line["calls"] >= 0
        assert not line["calls"] or line["period_ms"] > 0
        assert line["period_ms"] is None or line["period_ms"] >= (line["call_ms"] or 0.0) * 0.5


def test_there_are_forty_programs_that_python_reads() -> None:
    assert len(PROGRAMS) >= 40
    for program in PROGRAMS.values():
        for source in (program.imports, program.setup, program.cell, program.after, program.script):
            compile(source, program.name, "exec")


@pytest.mark.parametrize("program", IN_PROCESS, ids=lambda program: program.name)
def test_a_program_tells_what_it_measured(program: Program) -> None:
    check(run(shortened(program), program.raises))


def test_those_on_eight_devices_do() -> None:
    lines = json.dumps([shortened(program) for program in ON_EIGHT])
    done = subprocess.run(
        [sys.executable, "-c", "import json, sys\nfor source in json.load(sys.stdin): exec(source, {})"],
        input=lines,
        env=environment(ON_EIGHT[0]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    told = clock.parse(done.stdout)
    assert len(told) == len(ON_EIGHT)
    check(told)


# Clocks --------------------------------------------------------------------------------------------------------------


def test_warm_up_calls_are_no_part_of_the_truth(capsys: pytest.CaptureFixture[str]) -> None:
    clock.tell("f", ends=[9.0, 10.0, 10.5, 11.0, 11.5], spans=[8.0, 0.9, 0.2, 0.3, 0.4])
    (told,) = clock.parse(capsys.readouterr().out)
    assert (told["calls"], told["period_ms"], told["call_ms"]) == (3, 500.0, 300.0)


def test_what_is_measured_after_the_cell_fills_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    clock.tell("f", seconds=1.0, calls=100, alone=False)
    clock.tell("g", ends=[1.0, 2.0, 3.0], spans=[0.5, 0.5, 0.5])
    clock.tell_alone("f", list, chained=True)
    clock.tell_alone("g", list)
    f, g = clock.parse(capsys.readouterr().out)
    assert f["period_ms"] == 10.0 and 0 < f["call_ms"] < 10.0 and f["device_ms"] > 0
    assert g["call_ms"] == 500.0


# Verdicts ------------------------------------------------------------------------------------------------------------


def seen(true: dict[str, Any], *shown: dict[str, Any]) -> dict[str, Any]:
    told = {"function": "f", "calls": 98, "period_ms": None, "call_ms": None} | true
    return {
        "told": [told],
        "shown": [{"program": n, "function": "f", "calls": 100, "clock": "host"} | one for n, one in enumerate(shown)],
    }


def verdict(true: dict[str, Any], *shown: dict[str, Any]) -> list[str]:
    return [row.verdict for row in rows("p", "ipython", seen(true, *shown)) if row.shown is not None]


@pytest.mark.parametrize(
    ("true", "step", "said"),
    [
        ({"call_ms": 2.0}, 2.1e-3, "right"),
        ({"call_ms": 2.0}, 1.6e-3, "off"),
        ({"call_ms": 2.0}, 3.2e-3, "wrong"),
        ({"call_ms": 2.0}, 1.2e-3, "wrong"),
        ({"call_ms": 0.02}, 0.035e-3, "right"),
        ({"call_ms": 0.02}, 0.045e-3, "wrong"),
        ({"call_ms": 3.0, "device_ms": 2.0}, 2.5e-3, "right"),
        ({"call_ms": 3.0, "device_ms": 2.0}, 3.5e-3, "off"),
        ({}, 2e-3, "none"),
    ],
)
def test_a_figure_beside_the_truth(true: dict[str, Any], step: float, said: str) -> None:
    assert verdict(true, {"step": step}) == [said]


def test_a_figure_that_is_marked_is_not_wrong_but_not_right_either() -> None:
    assert verdict({"period_ms": 2.0}, {"step": 9e-3, "at_most": True}) == ["warned"]
    assert verdict({"period_ms": 2.0}, {"step": 9e-3, "at_most": True, "text": "ran 9 times, 9 ms each"}) == ["wrong"]
    assert verdict({"period_ms": 2.0}, {"step": 9e-3, "at_most": True, "text": "ran 9 times, ≤ 9 ms"}) == ["warned"]


def test_programs_of_one_function_are_compared_in_their_order() -> None:
    both = seen({"call_ms": 1.0}, {"step": 7.0}, {"step": 1e-3}, {"step": 5e-3})
    both["told"].append({**both["told"][0], "call_ms": 5.0})
    assert [row.ratio for row in rows("p", "watch", both) if row.kind == "call"] == [1.0, 1.0]


def test_the_table_and_its_summary() -> None:
    found = [
        *rows("good", "ipython", seen({"call_ms": 1.0, "period_ms": 1.0}, {"step": 1e-3})),
        *rows("bad", "ipython", seen({"call_ms": 1.0, "period_ms": 1.0}, {"step": 3e-3})),
        *rows("silent", "ipython", seen({"call_ms": 1.0, "period_ms": 1.0})),
    ]
    head, _, good, bad, silent = table(found)
    assert all(line.count("|") == head.count("|") for line in (good, bad, silent))
    assert "**1.00** | right |" in good and "**3.00** | wrong |" in bad and "| none |" in silent
    said = summary(found)
    assert said.startswith("1 of 2 unmarked numbers") and "without a warning: 1" in said and "2 of 3" in said
    assert failing(found) == ["bad", "silent"]


def test_of_several_rounds_the_one_in_the_middle_counts() -> None:
    every = [rows("p", "ipython", seen({"call_ms": 1.0}, {"step": step})) for step in (9e-3, 1e-3, 2e-3)]
    assert [row.ratio for row in middle_round(every)] == [None, 2.0]
    assert isinstance(middle_round(every)[0], Row)


def test_the_interval_of_a_median_is_between_values_that_the_binomial_distribution_names() -> None:
    assert Interval.of([float(n) for n in range(1, 31)]) == (10.0, 15.5, 21.0)
    assert Interval.of([3.0, 1.0, 2.0]) == (1.0, 2.0, 3.0)
