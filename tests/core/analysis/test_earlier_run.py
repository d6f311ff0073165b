"""A run of a cell compared with the one before: what is said of times, kernels and equations."""

import dataclasses

import pytest
from tests.widgets import samples

from xlascope.analysis.cell_runs import CellRun, compare_runs

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
