"""Words for the time of calls."""

import dataclasses

import pytest

from xlascope.analysis.run_times import describe_call_times, describe_distribution, explain_call_times
from xlascope.records import Executed, TimeDistribution


def make_distribution(median: float, clock: str = "host") -> TimeDistribution:
    return TimeDistribution(median, 0.95 * median, 1.05 * median, median, 50, clock)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("step", "device", "period", "words"),
    [
        (9e-5, 9e-5, 2e-3, "90 µs each on the device (profiler), one every 2 ms"),
        (1.16e-4, 5e-6, 1.8e-4, "5 µs each on the device (profiler), one every 180 µs"),
        (1.16e-4, 5e-6, 1.18e-4, "116 µs each (profiler)"),
        (1.16e-4, None, 1.8e-4, "116 µs each (profiler), one every 180 µs"),
        (1.16e-4, 1.15e-4, None, "116 µs each (profiler)"),
    ],
    ids=["long on the device", "mostly dispatch", "dispatch alone", "unknown on the device", "no period"],
)
def test_dispatch_is_not_called_time_on_the_device(
    step: float, device: float | None, period: float | None, words: str
) -> None:
    run = Executed(
        program=1,
        function="f",
        time=0.0,
        calls=100,
        seconds=0.2,
        window=0.0,
        observed_calls=50,
        step=step,
        devices=(),
        clock="profile",
        period=None if period is None else make_distribution(period),
        device_time=None if device is None else make_distribution(device, "profile"),
    )
    assert describe_call_times(run) == words


@pytest.mark.parametrize(
    ("changes", "words", "median", "explained"),
    [
        ({}, "5 µs each on the device (profiler), one every 2 ms", "median 5 µs", ""),
        ({"at_most": True}, "≤ 5 µs each on the device (profiler), one every 2 ms", "median ≤ 5 µs", "an upper bound"),
        ({"scale": 0.75}, "5 µs each on the device (profiler), one every 2 ms", "median 5 µs", "multiplied by 0.75"),
        ({"scale": 0.99}, "5 µs each on the device (profiler), one every 2 ms", "median 5 µs", ""),
    ],
)
def test_what_the_profiler_adds_to_a_device_time_is_said(
    changes: dict[str, object], words: str, median: str, explained: str
) -> None:
    device = dataclasses.replace(make_distribution(5e-6, "profile"), **changes)  # type: ignore[arg-type]
    run = Executed(
        1, "f", 0.0, 100, 0.2, 0.0, 50, 1e-5, (), "profile", period=make_distribution(2e-3), device_time=device
    )
    assert describe_call_times(run) == words
    assert describe_distribution(device).startswith(median)
    sentences = " ".join(explain_call_times(run))
    assert explained in sentences and bool(explained) == ("profiler's own" in sentences or "multiplied" in sentences)
