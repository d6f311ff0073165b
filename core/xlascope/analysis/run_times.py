"""Descriptions of how long the calls of a program took, the same in text, in the strip and in watched scripts.

Two quantities have names. The *period* is the time between the completions of successive calls, whatever the caller
does between them included. The *device time* is the time of a call on the devices, from profiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..records.events import Executed, TimeDistribution
from .formatting import plural, seconds

#: Names of clocks, and that of one which a newer version wrote.
CLOCKS = {"host": "host clock", "profile": "profiler", "": "measured"}
UNKNOWN_CLOCK = "by a clock that this version does not know"
#: So many calls are listed one by one, if there is no median.
MAX_LISTED_CALLS = 7
#: A period is longer than a call if it exceeds it by this factor.
LONGER_FACTOR = 1.1
#: Calls are unsteady if the 90th percentile exceeds the 10th by this factor, or the mean differs from the median by
#: this fraction.
UNSTEADY_FACTOR, UNSTEADY_MEAN_FRACTION = 2.0, 0.1
#: Times that are scaled by less than this fraction need no explanation.
MIN_SCALING = 0.02


class CallTimeWords(NamedTuple):
    """Time of a program's calls in words: the time, its clock, and the period if it is longer; "" where unknown."""

    time: str
    clock: str = ""
    period: str = ""


def describe_call_times(run: Executed) -> str:
    """Return the time of a program's calls as a phrase; "" while it is unknown.

    >>> steady = TimeDistribution(0.002, 0.0019, 0.0022, 0.00205, 97, "host")
    >>> describe_call_times(Executed(1, "f", 0.0, 100, 0.2, 0.0, 0, 0.002, (), "host", period=steady))
    '2 ms each (host clock)'
    >>> on_device = TimeDistribution(8.5e-5, 8e-5, 9e-5, 8.6e-5, 9, "profile")
    >>> describe_call_times(
    ...     Executed(1, "f", 0.0, 100, 0.2, 0.0, 9, 3e-4, (), "profile", period=steady, device_time=on_device)
    ... )
    '85 µs each on the device (profiler), one every 2 ms'
    >>> describe_call_times(Executed(1, "f", 0.0, 3, 0.2, 0.0, 0, 0.0012, (), "host", first_calls=(0.012, 9e-4, 8e-4)))
    '12 ms, 900 µs, 800 µs'
    """
    words = word_call_times(run)
    return f"{words.time}{f' ({words.clock})' if words.clock else ''}{f', {words.period}' if words.period else ''}"


def word_call_times(run: Executed) -> CallTimeWords:
    """Return the time of a program's calls in words; a few calls are listed one by one."""
    number = len(run.first_calls)
    if run.period is None and number and run.calls <= MAX_LISTED_CALLS:
        return CallTimeWords(_join_series(run.first_calls), "" if run.calls == number else f"{number} of them timed")
    if not run.step:
        return CallTimeWords("")
    clock, period = CLOCKS.get(run.clock, UNKNOWN_CLOCK), run.period
    if run.at_most:
        words = f"≤ {seconds(run.step)}{_each(run)}" if period is None else f"one every {seconds(period.median)}"
        return CallTimeWords(words, clock)
    is_longer = period is not None and period.median > LONGER_FACTOR * run.step
    step, where, times, bound = run.step, "", None if is_longer else period, ""
    if run.clock == "profile":
        times = run.device_time
        if times is not None and is_longer:
            step, where, bound = times.median, " on the device", "≤ " if times.at_most else ""
        elif times is not None and step > LONGER_FACTOR * times.median:
            times = None  # the step of a small call includes its dispatch
    if times is not None and _is_unsteady(times):
        clock += ", unsteady"
        if abs(times.mean - times.median) > UNSTEADY_MEAN_FRACTION * times.median:
            clock += f": mean {seconds(times.mean)}"
    every = f"one every {seconds(period.median)}" if period is not None and is_longer else ""
    return CallTimeWords(f"{bound}{seconds(step)}{_each(run)}{where}", clock, every)


def explain_call_times(run: Executed) -> list[str]:
    """Return what the numbers of :func:`describe_call_times` were measured on, one sentence for each."""
    if not run.step:
        return ["No call has finished yet."]
    sentences = []
    if run.period is not None:
        sentences.append(f"Period (from one completion to the next): {describe_distribution(run.period)}.")
    elif run.first_calls:
        sentences.append("Times of single calls: there is a median from five warm calls on.")
    elif run.at_most:
        sentences.append("A call takes at most the time from call to call; something else may be done in between.")
    elif run.step and run.clock == "host":
        sentences.append("Time of a call by the host's clock, without the profiler, until its results are ready.")
    if run.device_time is not None:
        sentences.append(f"Time on the devices: {describe_distribution(run.device_time)}.")
        sentences += _explain_device_time(run.device_time)
    elif run.clock == "profile" and run.step:
        sentences.append("Time by the profiler's clock, which slows a call down a little.")
    if run.warm_up and run.period is not None:
        sentences.append(f"The first {plural(run.warm_up, 'call')} (warm-up) not included.")
    return sentences


def _explain_device_time(times: TimeDistribution) -> list[str]:
    """Return how much of a time on the devices is the profiler's own, as sentences."""
    if times.at_most:
        return ["It is an upper bound: more than a tenth of so short a call is the profiler's own time."]
    if times.scale < 1 - MIN_SCALING:
        return [f"The profiler made calls slower: its times are multiplied by {times.scale:.2f}."]
    return []


def describe_distribution(times: TimeDistribution) -> str:
    """Return a distribution as words.

    >>> describe_distribution(TimeDistribution(0.002, 0.0019, 0.0022, 0.00205, 97, "host"))
    'median 2 ms, 10th to 90th percentile 1.9 to 2.2 ms, mean 2.05 ms, 97 warm calls, host clock'
    """
    clock = CLOCKS.get(times.clock, UNKNOWN_CLOCK)
    spread = "no percentiles"
    if times.low != times.high:
        spread = f"{describe_percentiles(times)}, mean {seconds(times.mean)}"
    bound = "≤ " if times.at_most else ""
    return f"median {bound}{seconds(times.median)}, {spread}, {plural(times.calls, 'warm call')}, {clock}"


def describe_percentiles(times: TimeDistribution) -> str:
    """Return the percentiles of a distribution as words.

    >>> describe_percentiles(TimeDistribution(0.002, 0.0019, 0.0022, 0.00205, 97, "host"))
    '10th to 90th percentile 1.9 to 2.2 ms'
    """
    low, high = seconds(times.low), seconds(times.high)
    if low.split()[1] == high.split()[1]:
        low = low.split()[0]
    return f"10th to 90th percentile {low} to {high}"


def _each(run: Executed) -> str:
    return "" if run.calls == 1 else " each"


def _is_unsteady(times: TimeDistribution) -> bool:
    difference = abs(times.mean - times.median)
    return times.high > UNSTEADY_FACTOR * times.low or difference > UNSTEADY_MEAN_FRACTION * times.median


def _join_series(values: Sequence[float]) -> str:
    """Return durations, with the unit after the last one if all have the same.

    >>> _join_series((0.0012, 0.0098)), _join_series((0.012, 9e-4))
    ('1.2, 9.8 ms', '12 ms, 900 µs')
    """
    texts = [seconds(value) for value in values]
    units = {text.split()[1] for text in texts}
    if len(units) == 1:
        texts[:-1] = [text.split()[0] for text in texts[:-1]]
    return ", ".join(texts)
