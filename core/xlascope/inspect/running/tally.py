"""What has been measured of one program so far, added up over profiler windows, as an :class:`Executed` record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ... import records
from ...readers.profiles import ModuleProfile
from .pace import StepTime, weighted_median

NO_TIME = StepTime(0.0, "")


@dataclass
class Tally:
    """Calls and host seconds of one program, and the sums of all windows in which it was seen whole.

    ``profiled`` are the profiler's seconds in which the calls seen ran, ``looked`` the seconds of the longest window
    that held only parts of calls, ``profiling`` the processor time that looking cost until a whole one was seen.
    ``notes`` say, each once, what of the windows could not be read.
    """

    program: int
    function: str
    began: float
    calls: int = 0
    seconds: float = 0.0
    observed: int = 0
    profiled: float = 0.0
    looked: float = 0.0
    profiling: float = 0.0
    steps: list[tuple[float, int]] = field(default_factory=list)
    calling: list[tuple[float, int]] = field(default_factory=list)
    devices: dict[str, records.DeviceTime] = field(default_factory=dict)
    parts: tuple[records.DeviceTime, ...] = ()
    notes: dict[str, None] = field(default_factory=dict)

    def add_calls(self, calls: int, seconds: float) -> None:
        """So many calls more, during so many seconds of the host's clock."""
        self.calls += calls
        self.seconds += seconds

    def add_window(self, profiles: Iterable[ModuleProfile], seconds: float = 0.0) -> None:
        """What one window of so many seconds saw of this program."""
        for profile in profiles:
            if profile.observed_calls:
                self.observed += profile.observed_calls
                self.profiled += profile.seconds
                self.steps.append((profile.step, profile.observed_calls))
                self.calling.append((profile.calling, profile.observed_calls))
                for device in profile.devices:
                    self.devices[device.device] = _merged(self.devices.get(device.device), device)
            else:
                self.looked = max(self.looked, seconds)
                self.parts = max(self.parts, profile.devices, key=_extent)

    @property
    def step(self) -> float:
        """The profiler's time of a call, the median over the windows; 0 when it saw none.

        From begin to end on the devices; or, of a small one, from its being made until it returned.
        """
        return max(weighted_median(self.steps), weighted_median(self.calling))

    def record(self, step: StepTime = NO_TIME, pace: float = 0.0) -> records.Executed:
        """The record of all that, with the time of one call, and from call to call."""
        apart = max(pace / step.seconds, 1.0) if step.seconds else 1.0
        devices = tuple(self.devices.values()) if self.observed else self.parts
        return records.Executed(
            program=self.program,
            function=self.function,
            time=self.began,
            calls=self.calls,
            seconds=self.seconds,
            window=self.profiled * apart,
            observed_calls=self.observed,
            step=step.seconds,
            devices=tuple(sorted(devices, key=lambda device: _in_order(device.device))),
            clock=step.clock,
            notes=(*self.notes, *self._unseen()),
            at_most=step.at_most,
            profiling=self.profiling if self.observed else 0.0,
        )

    def _unseen(self) -> Iterable[str]:
        if self.parts and not self.observed:
            yield f"no whole step was seen: a call is longer than the profiler's window of {self.looked:.3g} s"


def _in_order(device: str) -> tuple[str, int]:
    """Devices by platform and number: ``cpu:10`` comes after ``cpu:2``."""
    platform, _, number = device.rpartition(":")
    return platform, int(number) if number.isdigit() else 0


def _extent(devices: Iterable[records.DeviceTime]) -> int:
    """How much was seen of a part of a step."""
    return sum(len(device.spans) for device in devices)


def _merged(before: records.DeviceTime | None, now: records.DeviceTime) -> records.DeviceTime:
    """Sums of both; the step shown is the later one."""
    if before is None:
        return now
    sums = {each.kernel: each for each in before.kernels}
    for each in now.kernels:
        known = sums.get(each.kernel)
        sums[each.kernel] = (
            each
            if known is None
            else records.KernelTime(each.kernel, known.calls + each.calls, known.seconds + each.seconds)
        )
    return records.DeviceTime(now.device, before.busy + now.busy, tuple(sums.values()), now.spans, now.transfers)
