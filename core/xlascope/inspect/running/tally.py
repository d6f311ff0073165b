"""What has been measured of one program so far, added up over profiler windows, as an :class:`Executed` record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ... import records
from ...readers.profiles import ModuleProfile


@dataclass
class Tally:
    """Calls and host seconds of one program, and the sums of all windows in which it was seen.

    ``elapsed`` is the time in which the calls were made; ``seconds`` is the program's part of it, where several
    shared it. ``notes`` say, each once, what of the windows could not be read.
    """

    program: int
    function: str
    began: float
    calls: int = 0
    seconds: float = 0.0
    elapsed: float = 0.0
    cut: float = 0.0
    observed: int = 0
    steps: list[tuple[float, int]] = field(default_factory=list)
    devices: dict[str, records.DeviceTime] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    def add_calls(self, calls: int, seconds: float, elapsed: float) -> None:
        """So many calls more, during so many seconds of the host's clock."""
        self.calls += calls
        self.seconds += seconds
        self.elapsed += elapsed

    def add_window(self, profiles: Iterable[ModuleProfile], seconds: float, *, whole: bool = True) -> None:
        """What one window of so many seconds saw of this program; with ``whole=False`` only parts of calls."""
        seen = tuple(profiles)
        self.cut += seconds if seen and not whole else 0.0
        for profile in seen:
            if whole:
                self.observed += profile.observed_calls
                self.steps.append((profile.step, profile.observed_calls))
            for device in profile.devices:
                self.devices[device.device] = _merged(self.devices.get(device.device), device)

    @property
    def step(self) -> float:
        """The median of the windows' medians, each counting as often as it saw calls; 0 when none was seen."""
        half, passed = sum(calls for _, calls in self.steps) / 2, 0
        for step, calls in sorted(self.steps):
            passed += calls
            if passed >= half:
                return step
        return 0.0

    @property
    def window(self) -> float:
        """The seconds that the calls seen stand for: as many as such calls take on the host's clock.

        Opening a window holds up the program for about a millisecond. Divided by the window's own few milliseconds the
        devices would seem idle; of windows shorter than a call nothing better is known than their length.
        """
        stands_for = self.observed * self.elapsed / self.calls if self.calls else 0.0
        return max(self.cut + stands_for, *(each.busy for each in self.devices.values()), 0.0)

    def record(self) -> records.Executed:
        """The record of all that."""
        return records.Executed(
            program=self.program,
            function=self.function,
            time=self.began,
            calls=self.calls,
            seconds=self.seconds,
            window=self.window,
            observed_calls=self.observed,
            step=self.step,
            devices=tuple(self.devices[name] for name in sorted(self.devices, key=_in_order)),
            notes=tuple(self.notes),
        )


def _in_order(device: str) -> tuple[str, int]:
    """Devices by platform and number: ``cpu:10`` comes after ``cpu:2``."""
    platform, _, number = device.rpartition(":")
    return platform, int(number) if number.isdigit() else 0


def _merged(before: records.DeviceTime | None, now: records.DeviceTime) -> records.DeviceTime:
    """Sums of both; the step shown is the later one, unless its window saw less of a step than an earlier one."""
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
    shown = now if len(now.spans) >= len(before.spans) else before
    return records.DeviceTime(now.device, before.busy + now.busy, tuple(sums.values()), shown.spans, shown.transfers)
