"""A run of a cell compared with the one before: what is said of times, kernels and equations."""

import dataclasses

import pytest
from tests.widgets import samples

from xlascope.analysis.cell_runs import MAX_RUNS, MAX_WHOLE_RUNS, CellHistory, CellRun, compare_runs
from xlascope.records import TimeDistribution

BEFORE = CellRun(samples.traced(), samples.compiled(), samples.executed())


def ran(step, calls=100, clock="host", **more):
    assert BEFORE.executed is not None
    return dataclasses.replace(BEFORE.executed, step=step, calls=calls, clock=clock, **more)


def run(executed, kernels=0, text=None):
    assert BEFORE.traced is not None and BEFORE.compiled is not None
    compiled = dataclasses.replace(BEFORE.compiled, kernels=BEFORE.compiled.kernels[kernels:])
    traced = BEFORE.traced if text is None else dataclasses.replace(BEFORE.traced, program=99, text=text)
    return CellRun(traced, compiled, executed)


@pytest.mark.parametrize(
    ("before", "now", "was"),
    [
        (ran(5.4e-3), ran(3.1e-3), 5.4e-3),
        (ran(3.1e-3), ran(3.3e-3), 0.0),  # within the noise
        (ran(5.4e-3, at_most=True), ran(3.1e-3), 0.0),  # what else is in it nobody knows
        (ran(5.4e-3), ran(3.1e-3, at_most=True), 0.0),
        (ran(5.4e-3, clock="profile"), ran(3.1e-3), 0.0),
        (ran(5.4e-3, calls=1), ran(3.1e-3), 0.0),
        (ran(0.0, clock=""), ran(3.1e-3), 0.0),
    ],
)
def test_times_are_compared_where_they_can_be(before, now, was):
    found = compare_runs(run(before), run(now, kernels=1, text="another"))
    assert found is not None and found.was == was and found.words == ("one kernel fewer",) and found.differs


def test_the_same_program_again_is_nothing_new():
    assert compare_runs(run(ran(3.1e-3)), run(ran(3.2e-3))) is None
    assert compare_runs(run(None), run(None)) is None


def test_the_same_program_that_takes_another_time():
    found = compare_runs(run(ran(3.1e-3)), run(ran(6.2e-3)))
    assert found is not None and found.words == ("the same program",) and not found.differs


def test_another_program_with_as_many_kernels_and_equations():
    found = compare_runs(run(None), run(None, text="another"))
    assert found is not None and found.words == ("other equations",) and found.was == 0.0


def test_equations_that_are_gone_are_counted():
    assert BEFORE.traced is not None
    jaxpr = dataclasses.replace(BEFORE.traced.jaxpr, equations=BEFORE.traced.jaxpr.equations[1:])
    shorter = dataclasses.replace(BEFORE.traced, program=99, text="another", jaxpr=jaxpr)
    found = compare_runs(run(None), CellRun(shorter, BEFORE.compiled, None))
    assert found is not None and found.words == ("one equation fewer",)


def spread(median, clock="host"):
    return TimeDistribution(median, 0.9 * median, 1.2 * median, median, 97, clock)


@pytest.mark.parametrize(
    ("executed", "median", "low", "high", "words"),
    [
        (ran(2e-3, period=spread(2e-3)), 2e-3, 1.8e-3, 2.4e-3, "In[5]: median 2 ms, 10th to 90th percentile"),
        (
            ran(8e-5, clock="profile", period=spread(2e-3), device_time=spread(8e-5)),
            8e-5,
            7.2e-5,
            9.6e-5,
            "median 80 µs",
        ),
        (ran(1e-3, period=spread(2e-3)), 1e-3, 1e-3, 1e-3, "In[5]: 1 ms, 100 calls, host clock"),
        (
            ran(2e-3, at_most=True, period=spread(2e-3)),
            2e-3,
            1.8e-3,
            2.4e-3,
            "In[5]: at most, from call to call: median",
        ),
        (ran(9e-4, calls=3, first_calls=(0.5, 1e-3, 3e-3)), 2e-3, 1e-3, 3e-3, "In[5]: 2 ms, 3 calls, host clock"),
        (ran(9e-4, calls=30, first_calls=(0.5, 1e-3, 3e-3)), 9e-4, 9e-4, 9e-4, "In[5]: 900 µs, 30 calls, host clock"),
        (ran(1e-3, calls=1, first_calls=(1e-3,)), 1e-3, 1e-3, 1e-3, "In[5]: 1 ms, 1 call, host clock"),
    ],
)
def test_the_time_of_a_run_is_that_of_a_warm_call(executed, median, low, high, words):
    (time,) = CellHistory().times("step", "In[5]", run(executed))
    assert (time.median, time.low, time.high) == pytest.approx((median, low, high)) and words in time.words


def test_a_history_has_the_latest_runs_and_the_running_one_once():
    history = CellHistory()
    for number in range(1, MAX_RUNS + 4):
        history.add(f"In[{number}]", {"step": run(ran(number * 1e-3))})
    history.add("In[99]", {})
    last = f"In[{MAX_RUNS + 3}]"
    times = history.times("step", last, run(ran(0.5)))
    assert [time.title for time in times] == [f"In[{number}]" for number in range(4, MAX_RUNS + 4)]
    assert times[-1].median == 0.5 and history.times("other") == []
    assert history.title_before(last, "step") == f"In[{MAX_RUNS + 2}]" and history.title_before(last, "other") == ""
    assert history.find("In[1]", "step") is None and set(history.latest()) == {"step"}
    assert CellHistory().latest() == {} and CellHistory().title_before("In[1]", "step") == ""
    assert history.times("step", "In[50]", run(None))[-1].title == last  # nothing was timed


def test_old_runs_keep_sums_without_single_spans():
    history = CellHistory()
    for number in range(1, 5):
        history.add(f"In[{number}]", {"step": run(ran(1e-3))})
    for number in range(1, 5):
        found = history.find(f"In[{number}]", "step").executed.devices
        assert any(device.spans for device in found) == (number > 4 - MAX_WHOLE_RUNS)
        assert [device.kernels for device in found] == [device.kernels for device in BEFORE.executed.devices]


def test_times_by_another_clock_are_not_comparable_with_the_latest():
    history = CellHistory()
    runs = (ran(1e-3), ran(1e-5, clock="profile"), ran(1e-3, at_most=True))
    for number, executed in enumerate(runs):
        history.add(f"In[{number}]", {"step": run(executed)})
    assert [time.is_comparable for time in history.times("step", "In[9]", run(ran(2e-3)))] == [True, False, False, True]
