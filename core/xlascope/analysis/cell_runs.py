"""The runs of a cell: their times, and how a program differs from an earlier one."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..records.events import Compiled, Executed, TimeDistribution, Traced
from .formatting import plural, seconds
from .run_times import CLOCKS, LONGER_FACTOR, MAX_LISTED_CALLS, UNKNOWN_CLOCK, describe_distribution

#: Medians of fewer calls, or closer to each other than this factor, may differ by noise.
MIN_CALLS, NOISE_FACTOR = 8, 1.25
#: The maximum number of runs of a cell that are remembered, and how many of them with every kernel's time of start.
MAX_RUNS, MAX_WHOLE_RUNS = 12, 2


@dataclass(frozen=True, slots=True)
class CellRun:
    """Records of one program in one run of a cell; None where a stage did not happen or was not recorded."""

    traced: Traced | None
    compiled: Compiled | None
    executed: Executed | None


@dataclass(frozen=True, slots=True)
class RunDifference:
    """Difference of a program from the previous run of its cell.

    ``was`` is the previous seconds of a call, 0.0 where the times cannot be compared. ``words`` describe other
    changes, and ``differs`` is False where the very same program ran again.
    """

    was: float
    words: tuple[str, ...]
    differs: bool


class RunTime(NamedTuple):
    """Time of a program's calls in one run of a cell, in seconds: median and spread, and what they were measured on.

    ``is_comparable`` is False where the latest run has a time by another clock, or one that is a bound.
    """

    title: str
    median: float
    low: float
    high: float
    words: str
    is_comparable: bool = True


class _PastRun(NamedTuple):
    """Records of one program in a run of a cell, and the time of its calls; None where no call was timed."""

    run: CellRun
    time: RunTime | None


class CellHistory:
    """The latest runs of one cell, the oldest first.

    A run is named by its title, such as ``In[7]``, and has the records of what it ran by function name.

    >>> history = CellHistory()
    >>> history.add("In[3]", {"step": CellRun(None, None, None)})
    >>> history.title_before("In[4]", "step")
    'In[3]'
    """

    def __init__(self) -> None:
        #: By title and function name the records, and the time, which each message with a later run has again.
        self._runs: dict[str, dict[str, _PastRun]] = {}

    def add(self, title: str, runs: Mapping[str, CellRun]) -> None:
        """Add a run, or replace the one of that title; a run in which nothing ran is not added."""
        if not runs:
            return
        latest = {name: _PastRun(run, _time_of_run(title, run)) for name, run in runs.items()}
        earlier = [item for item in self._runs.items() if item[0] != title][1 - MAX_RUNS :]
        # Other threads read: what they read stays as it is.
        self._runs = {
            other: {
                name: past if index < MAX_WHOLE_RUNS else past._replace(run=_without_spans(past.run))
                for name, past in old.items()
            }
            for index, (other, old) in reversed(list(enumerate([(title, latest), *reversed(earlier)])))
        }

    def find(self, title: str, function: str) -> CellRun | None:
        """Return the records of a function in the run of that title, None where it did not run or is forgotten."""
        past = self._runs.get(title, {}).get(function)
        return None if past is None else past.run

    def title_before(self, title: str, function: str) -> str:
        """Return the title of the latest run of a function other than the one of that title; "" without one."""
        return next((other for other, runs in reversed(self._runs.items()) if other != title and function in runs), "")

    def latest(self) -> Mapping[str, CellRun]:
        """Return what the latest run had, by function name; empty before the first."""
        return {name: past.run for name, past in next(reversed(self._runs.values()), {}).items()}

    def times(self, function: str, title: str = "", now: CellRun | None = None) -> list[RunTime]:
        """Return the times of a function's runs that were timed, the latest last: ``now``, the run of that title."""
        runs = [past[function] for old, past in self._runs.items() if function in past and old != title]
        if now is not None:
            runs.append(_PastRun(now, _time_of_run(title, now)))
        timed = [(_scale_of(run.executed), time) for run, time in runs if time is not None]
        return [time._replace(is_comparable=scale == timed[-1][0]) for scale, time in timed]


def _without_spans(run: CellRun) -> CellRun:
    """Return a run without the single spans of its kernels, which are most of its size; their sums stay."""
    if run.executed is None or not any(device.spans or device.transfers for device in run.executed.devices):
        return run
    devices = tuple(replace(device, spans=(), transfers=()) for device in run.executed.devices)
    return replace(run, executed=replace(run.executed, devices=devices))


def _time_of_run(title: str, run: CellRun) -> RunTime | None:
    """Return the time of a call in one run, by the clock that the strip names; None if no call was timed."""
    executed = run.executed
    if executed is None or not executed.step:
        return None
    head = f"{title}: at most, from call to call" if executed.at_most else title
    times = _distribution_of_step(executed)
    if times is not None:
        return RunTime(title, times.median, times.low, times.high, f"{head}: {describe_distribution(times)}")
    # The first call is not warm.
    single = executed.first_calls[1:] if executed.period is None and executed.calls <= MAX_LISTED_CALLS else ()
    median, clock = statistics.median(single or (executed.step,)), CLOCKS.get(executed.clock, UNKNOWN_CLOCK)
    words = f"{head}: {seconds(median)}, {plural(executed.calls, 'call')}, {clock}"
    return RunTime(title, median, min(single, default=median), max(single, default=median), words)


def _scale_of(executed: Executed | None) -> tuple[str, bool]:
    """Return what has to be equal for times to be comparable: the clock, and whether they are bounds."""
    return ("", False) if executed is None else (executed.clock, executed.at_most)


def _distribution_of_step(executed: Executed) -> TimeDistribution | None:
    """Return the distribution whose median the step is, None where there is none."""
    if executed.clock == "profile" and not executed.at_most:
        return executed.device_time
    period = executed.period
    is_longer = period is not None and not executed.at_most and period.median > LONGER_FACTOR * executed.step
    return None if is_longer else period


def compare_runs(before: CellRun, now: CellRun) -> RunDifference | None:
    """Return how a program differs from the previous run of its cell, or None where no change is known."""
    was = before.executed.step if are_times_comparable(before, now) and before.executed is not None else 0.0
    differs = before.traced is not None and now.traced is not None and not _is_same_program(before.traced, now.traced)
    kernels = _kernel_change(before.compiled, now.compiled)
    words = [kernels] if kernels else []
    if differs:
        words += _equation_change(before.traced, now.traced)
    if not words:
        words = ["other equations"] if differs else ["the same program"]
    return RunDifference(was, tuple(words), differs or bool(kernels)) if was or differs or kernels else None


def are_times_comparable(before: CellRun, now: CellRun) -> bool:
    """Return whether the times of both runs can be shown side by side.

    Both have to be times of complete calls by one clock, of enough calls, and to differ beyond noise.
    """
    old, new = before.executed, now.executed
    if old is None or new is None or old.clock != new.clock or not old.clock:
        return False
    if old.at_most or new.at_most or min(old.calls, new.calls) < MIN_CALLS:
        return False
    return min(old.step, new.step) > 0.0 and not 1 / NOISE_FACTOR < new.step / old.step < NOISE_FACTOR


def _is_same_program(before: Traced, now: Traced) -> bool:
    return before is now or before.program == now.program or (before.text == now.text and bool(now.text))


def _kernel_change(before: Compiled | None, now: Compiled | None) -> str:
    if before is None or now is None or before.unread or now.unread:
        return ""
    return _describe_change(len(now.kernels) - len(before.kernels), "kernel")


def _equation_change(before: Traced | None, now: Traced | None) -> list[str]:
    if before is None or now is None:
        return []
    counts = [sum(1 for _ in traced.jaxpr.walk()) for traced in (before, now)]
    description = _describe_change(counts[1] - counts[0], "equation")
    return [description] if description else []


def _describe_change(number: int, noun: str) -> str:
    """Return a description such as ``one kernel fewer``.

    >>> _describe_change(-1, "kernel"), _describe_change(3, "equation"), _describe_change(0, "kernel")
    ('one kernel fewer', '3 equations more', '')
    """
    if not number:
        return ""
    many = abs(number)
    return f"{'one' if many == 1 else f'{many:,}'} {noun}{'' if many == 1 else 's'} {'more' if number > 0 else 'fewer'}"
