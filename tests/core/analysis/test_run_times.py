"""Words for the time of calls."""

import pytest

from xlascope.analysis.run_times import describe_call_times
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
