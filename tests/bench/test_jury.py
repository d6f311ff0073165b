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
from bench.jury.shown import Figure, figures, line_of
from bench.jury.verdicts import Row, compare, failing, middle_round, summary_row, table
from bench.watched import Interval

import xlascope as xs

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
        assert line["period_ms"] is None or line["period_ms"] > 0 or line["calls"] < MAX_ITERATIONS


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
    clock.tell("g", ends=[1.0, 2.0, 4.0])
    clock.tell_alone("f", list, chained=True)
    clock.tell_alone("g", list, which=0)
    clock.tell_alone("g", list, which=1, work=list)
    f, g, other = clock.parse(capsys.readouterr().out)
    assert f["period_ms"] == 10.0 and 0 < f["call_ms"] < 10.0 and f["device_ms"] > 0
    assert g["call_ms"] == 500.0 and "device_ms" not in g
    assert 0 < other["call_ms"] < 500.0


def test_of_a_loop_that_waits_for_nothing_there_is_a_median_and_a_mean(capsys: pytest.CaptureFixture[str]) -> None:
    clock.tell("f", ends=[1.0, 2.0, 2.5, 3.0, 3.5], seconds=2.4, calls=3)
    clock.tell("g", ends=[0.0, 1.0, 2.0, 4.0], warm_up=1, every=10)
    f, g = clock.parse(capsys.readouterr().out)
    assert (f["period_ms"], f["device_ms"], round(f["call_mean_ms"])) == (500.0, 500.0, 800)
    assert g["calls"] == 30 and g["period_ms"] == 100.0 and g["period_halves_ms"] == pytest.approx([100.0, 150.0])


def test_an_iteration_of_a_loop_on_the_devices_is_a_call_without_dispatch(capsys: pytest.CaptureFixture[str]) -> None:
    clock.tell("f", seconds=1.0, calls=100)
    clock.tell_inside(xs, "f", lambda x: xs.numpy.tanh(x) + x, xs.numpy.ones(30_000))
    (told,) = clock.parse(capsys.readouterr().out)
    assert 1e-4 < told["inside_ms"] < 10.0 and len(told["inside_halves_ms"]) == 2


# Figures -------------------------------------------------------------------------------------------------------------

PERIOD = {"median": 2e-3, "low": 1e-3, "high": 3e-3, "calls": 97, "clock": "host"}
BEHIND = (
    "Period (from one completion to the next): median 2 ms, 10th to 90th percentile 1 to 3 ms, mean 2.5 ms, "
    "97 warm calls, host clock. "
    "Time on the devices: median 85 µs, 10th to 90th percentile 80 µs to 1 ms, 9 warm calls, profiler."
)


@pytest.mark.parametrize(
    ("shown", "line", "expected"),
    [
        ({"step": 2e-3, "clock": "host"}, "2 ms each (host clock)", {"call": (2.0, "")}),
        ({"step": 2e-3, "clock": "host", "at_most": True}, "≤ 2 ms each (host clock)", {"call": (2.0, "uncertain")}),
        ({"step": 0.0}, "", {}),
        (
            {"text": "traced f: 2 in 1 ms; ran 1,000 times, 85 µs each on the device (profiler), one every 2 ms; more"},
            "85 µs each on the device (profiler), one every 2 ms",
            {"call": (0.085, ""), "period": (2.0, "")},
        ),
        ({"text": "traced f: 2 equations in 1 ms; ran 1 time"}, "", {}),
        ({"text": "traced f: 1 in 1 ms; ran 3 times, 1.2, 9.8, 3 ms"}, "1.2, 9.8, 3 ms", {"call": (3.0, "uncertain")}),
        ({"text": "traced f: 1 in 1 ms; ran 2 times, 12 ms, 900 µs"}, "12 ms, 900 µs", {"call": (6.45, "uncertain")}),
        (
            {"times": ["2 ms each", "host clock, unsteady: mean 2.5 ms", "", BEHIND]},
            "2 ms each (host clock, unsteady: mean 2.5 ms)",
            {"call": (2.0, "unsteady"), "period": (2.0, "unsteady"), "device": (0.085, "")},
        ),
        (
            {"text": "traced f: 1 in 1 ms; ran 9 times, 2 ms each (host clock)", "period": PERIOD, "device_time": None},
            "2 ms each (host clock)",
            {"call": (2.0, ""), "period": (2.0, "")},
        ),
        (
            {
                "text": "traced f: 1 in 1 ms; ran 9 times, ≤ 1 µs each on the device (profiler), one every 2 ms",
                "device_time": {"median": 1e-6, "low": 1e-6, "high": 2e-6, "mean": 1e-6, "at_most": True},
            },
            "≤ 1 µs each on the device (profiler), one every 2 ms",
            {"call": (1e-3, "bound"), "device": (1e-3, "bound"), "period": (2.0, "")},
        ),
        (
            {"times": ["2 ms each", "host clock", "", BEHIND.replace("median 85 µs", "median ≤ 85 µs")]},
            "2 ms each (host clock)",
            {"call": (2.0, ""), "period": (2.0, ""), "device": (0.085, "bound")},
        ),
    ],
)
def test_figures_are_read_from_what_is_shown(shown: dict[str, Any], line: str, expected: dict[str, Any]) -> None:
    assert line_of(shown) == line
    found = figures(shown)
    assert {kind: (pytest.approx(figure.ms), figure.mark) for kind, figure in found.items()} == expected


def test_percentiles_are_read_from_the_record_and_from_the_words() -> None:
    assert figures({"period": PERIOD})["period"][1:4] == (2.0, 1.0, 3.0)
    found = figures({"times": ["2 ms each", "", "", BEHIND]})
    assert found["period"][1:4] == (2.0, 1.0, 3.0) and found["device"][1:4] == pytest.approx((0.085, 0.08, 1.0))
    assert found["period"].mean == 2.5 and found["device"].mean is None


# Verdicts ------------------------------------------------------------------------------------------------------------


def seen(true: dict[str, Any], *shown: dict[str, Any]) -> dict[str, Any]:
    told = {"function": "f", "calls": 98, "period_ms": None, "call_ms": None} | true
    return {
        "told": [told],
        "shown": [{"program": n, "function": "f", "calls": 100, "clock": "host"} | one for n, one in enumerate(shown)],
    }


@pytest.mark.parametrize(
    ("true", "ms", "said"),
    [
        ((2.0,), 2.1, "right"),
        ((2.0,), 1.6, "off"),
        ((2.0,), 3.2, "wrong"),
        ((2.0,), 1.2, "wrong"),
        ((0.02,), 0.035, "right"),
        ((0.02,), 0.045, "wrong"),
        ((3.0, 2.0), 2.5, "right"),
        ((3.0, 2.0), 3.5, "off"),
        ((), 2.0, ""),
    ],
)
def test_a_figure_beside_the_truth(true: tuple[float, ...], ms: float, said: str) -> None:
    assert Row("p", "f", 9, "", "call", true, Figure("call", ms)).verdict == said


def test_device_time_may_lack_the_dispatch_and_a_period_nothing() -> None:
    assert Row("p", "f", 9, "", "device", (0.3,), Figure("device", 0.26, on_device=True)).verdict == ""
    assert Row("p", "f", 9, "", "device", (0.3,), Figure("device", 0.34, on_device=True)).verdict == "off"
    assert Row("p", "f", 9, "", "period", (0.03,), Figure("period", 0.04)).verdict == "off"
    assert Row("p", "f", 9, "", "device", (0.03,), Figure("device", 0.001, on_device=True)).verdict == ""


def test_a_figure_that_is_marked_is_not_wrong() -> None:
    marks = {"uncertain": "warned", "unsteady": "unsteady"}
    for mark, said in marks.items():
        assert Row("p", "f", 9, "", "call", (2.0,), Figure("call", 9.0, mark=mark)).verdict == said
    assert Row("p", "f", 9, "", "call", (2.0,), Figure("call", 2.0, mark="uncertain")).verdict == "warned"


@pytest.mark.parametrize(
    ("kind", "true", "figure", "drift", "said"),
    [
        ("period", (2.0,), Figure("period", 2.1), 0.05, "right"),
        ("period", (2.0,), Figure("period", 2.1), 0.15, "open"),
        ("period", (2.0,), Figure("period", 3.1), 0.15, "open"),  # it may be 2.1 in the half that was seen
        ("period", (2.0,), Figure("period", 3.6), 0.15, "wrong"),
        ("period", (2.0,), Figure("period", 3.1, mark="unsteady"), 0.15, "open"),
        ("device", (0.5, 0.6), Figure("device", 0.55, on_device=True), 0.0, "right"),
        ("device", (0.5, 0.6), Figure("device", 0.44, on_device=True), 0.0, "off"),  # no allowance for a dispatch
        ("device", (0.5, 0.6), Figure("device", 0.95, on_device=True), 0.0, "wrong"),
        ("device", (3.6e-4, 1e-2), Figure("device", 7e-4, on_device=True), 0.0, "open"),
        ("device", (3.6e-4, 1e-2), Figure("device", 2e-2, on_device=True), 0.0, "wrong"),
        ("device", (3.6e-4, 1e-2), Figure("device", 7e-4, on_device=True, mark="bound"), 0.0, "warned"),
        ("device", (3.6e-3, 1e-2), Figure("device", 7e-4, on_device=True, mark="bound"), 0.0, "wrong"),
        ("device", (8e-4, 1e-2), Figure("device", 7e-4, on_device=True, mark="bound"), 0.0, "off"),
    ],
)
def test_what_a_truth_cannot_tell_is_open(
    kind: Any, true: tuple[float, ...], figure: Figure, drift: float, said: str
) -> None:
    assert Row("p", "f", 9, "", kind, true, figure, drift, kind == "device").verdict == said


def test_a_device_time_is_compared_with_a_loop_on_the_device_and_the_time_from_call_to_call() -> None:
    device = {"device_time": {"median": 8e-4, "low": 8e-4, "high": 8e-4, "mean": 8e-4}}
    true = {"call_ms": 1.5, "device_ms": 0.9, "inside_ms": 0.85}
    ((_, _, row),) = compare("p", seen(true, device))
    assert row.true == (0.85, 0.9, 1.5) and row.verdict == "open" and row.verdict_if_steady == "right"
    ((_, _, row),) = compare("p", seen(true | {"slow_dispatch": True}, device))
    assert row.true == (0.85, 0.9) and row.verdict == "right"
    ((_, _, row),) = compare("p", seen({"call_ms": 0.78}, device))
    assert row.true == (0.78,) and row.verdict == "right"


def test_median_and_mean_are_compared_with_median_and_mean() -> None:
    ratios = [Row("p", "f", 9, "", "period", (1.0, 2.0), Figure("period", 3.0, mean=mean)).ratio for mean in (1.5, 4.0)]
    assert ratios == [1.0, 1.5]
    assert Row("p", "f", 9, "", "period", (8.0, 9.0), Figure("period", 3.0, mean=4.0)).ratio == 0.5


def test_programs_of_one_function_are_compared_in_their_order() -> None:
    both = seen({"call_ms": 1.0}, {"step": 7.0}, {"step": 1e-3}, {"step": 5e-3})
    both["told"].append({**both["told"][0], "call_ms": 5.0})
    assert [call.ratio for _, call, _ in compare("p", both)] == [1.0, 1.0]


def test_the_table_and_its_summary() -> None:
    found = [
        *compare("good", seen({"call_ms": 1.0, "period_ms": 1.0}, {"step": 1e-3})),
        *compare("bad", seen({"call_ms": 1.0, "period_ms": 1.0}, {"step": 3e-3})),
        *compare("silent", seen({"call_ms": 1.0, "period_ms": 1.0})),
    ]
    head, _, good, bad, silent = table(found)
    assert all(line.count("|") == head.count("|") for line in (good, bad, silent))
    assert "**1.00** |  |  | right |" in good and "**3.00** |  |  | wrong |" in bad and "| no number |" in silent
    said = summary_row("here", found, 0.25)
    assert said == "| here | 0.2 | - | 1 of 2 (50%) | - | **1 of 2 (50%)** | 100% | 1 | 0 | 0 | 0 | 2 of 3 |"
    assert failing(found) == ["bad", "silent"]


def test_of_several_rounds_the_one_in_the_middle_counts() -> None:
    every = [compare("p", seen({"call_ms": 1.0}, {"step": step})) for step in (9e-3, 1e-3, 2e-3)]
    ((period, call, device),) = middle_round(every)
    assert (period.ratio, call.ratio, device.ratio) == (None, 2.0, None)


def test_the_interval_of_a_median_is_between_values_that_the_binomial_distribution_names() -> None:
    assert Interval.of([float(n) for n in range(1, 31)]) == (10.0, 15.5, 21.0)
    assert Interval.of([3.0, 1.0, 2.0]) == (1.0, 2.0, 3.0)
