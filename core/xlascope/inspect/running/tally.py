"""Accumulator of the measurements of one program over profiler windows, as an :class:`Executed` record.

A trace is compiled again if its operands are on other devices. On another single device the kernels are the
same, and they are added up. If several devices share the program, kernels of the same name have other work,
and only modules with the same kernels are added up: those profiled last.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field

from ... import records
from ...readers.profiles import ModuleProfile
from .pace import StepTime, weighted_median

NO_TIME = StepTime(0.0, "")


@dataclass
class Tally:
    """Calls and host seconds of one program, and the sums of all windows with complete calls of it.

    ``profiled`` are the profiler's seconds of the recorded calls, ``max_window`` the seconds of the longest
    window that held only parts of calls, and ``profiling`` the processor time of profiling until a complete call
    was recorded. ``module`` is the one whose calls are added up, together with those of ``modules`` (all that the
    trace was compiled to) that have the same value there, which means the same kernels. ``quick`` are those that
    were compiled quickly, to be replaced by optimized ones. ``profiled_calls`` counts the complete calls of all.
    ``notes`` say, once each, which parts of the windows could not be read.
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
    module: str = ""
    modules: dict[str, object] = field(default_factory=dict)
    quick: set[str] = field(default_factory=set)
    seen: int = 0

    def add_calls(self, calls: int, seconds: float) -> None:
        """Add calls that took so many seconds of the host's clock."""
        self.calls += calls
        self.seconds += seconds

    def add_window(self, profiles: Iterable[ModuleProfile], seconds: float = 0.0) -> None:
        """Add the profiles of this program in one window of so many seconds."""
        window_profiles = list(profiles)
        complete = [profile for profile in window_profiles if profile.observed_calls]
        self.seen += sum(profile.observed_calls for profile in complete)
        for profile in window_profiles:
            self.modules.setdefault(profile.module, profile.module)
        if complete and not any(self._is_alike(profile) for profile in complete):
            self._begin(max(complete, key=lambda profile: profile.seconds).module)
        for profile in filter(self._is_alike, complete):
            self._add(profile)
        for profile in window_profiles:
            if not profile.observed_calls:
                self.looked = max(self.looked, seconds)
                self.parts = max(self.parts, profile.devices, key=_extent)

    def _is_alike(self, profile: ModuleProfile) -> bool:
        return bool(self.module) and self.modules[profile.module] == self.modules[self.module]

    def _begin(self, module: str) -> None:
        """Start to add up the calls of another module."""
        self.module, self.observed, self.profiled = module, 0, 0.0
        self.steps, self.calling, self.devices = [], [], {}

    def _add(self, profile: ModuleProfile) -> None:
        self.observed += profile.observed_calls
        self.profiled += profile.seconds
        self.steps.append((profile.step, profile.observed_calls))
        self.calling.append((profile.calling, profile.observed_calls))
        for device in profile.devices:
            self.devices[device.device] = _merged(self.devices.get(device.device), device)

    @property
    def step(self) -> float:
        """Return the profiler's time of a call, the median over the windows; 0 without complete calls.

        It lasts from begin to end on the devices or, for a small call, from its dispatch until it returned.
        """
        return max(weighted_median(self.steps), weighted_median(self.calling))

    def record(self, step: StepTime = NO_TIME, pace: float = 0.0) -> records.Executed:
        """Return the record, with the time of one call and the pace from call to call."""
        pause_factor = max(pace / step.seconds, 1.0) if step.seconds else 1.0
        devices = tuple(self.devices.values()) if self.observed else self.parts
        return records.Executed(
            program=self.program,
            function=self.function,
            time=self.began,
            calls=self.calls,
            seconds=self.seconds,
            window=self.profiled * pause_factor,
            observed_calls=self.observed,
            step=step.seconds,
            devices=tuple(sorted(devices, key=lambda device: _in_order(device.device))),
            clock=step.clock,
            notes=(*self.notes, *self._unseen()),
            at_most=step.at_most,
            profiling=self.profiling if self.observed else 0.0,
            module=self.module,
        )

    def _unseen(self) -> Iterable[str]:
        if self.parts and not self.observed:
            window = f": a call is longer than the profiler's window of {self.looked:.3g} s" if self.looked else ""
            yield f"no whole step was seen{window}"
        different = len({value for module, value in self.modules.items() if module not in self.quick})
        if self.module in self.quick:
            yield "kernels and their times are of a version that was compiled quickly; XLA works on the optimized one"
        elif not self.quick.isdisjoint(self.modules):
            yield "the first calls ran a version that was compiled quickly: kernels and times are of the optimized one"
        if different > 1:
            yield (
                f"this trace was compiled to {different} different programs, as operands lie on other devices: "
                f"kernels and their times are of {self.module or 'one of them'}, calls are of all"
            )


def _in_order(device: str) -> tuple[str, int]:
    """Return a sort key of devices by platform and number: ``cpu:10`` comes after ``cpu:2``."""
    platform, _, number = device.rpartition(":")
    return platform, int(number) if number.isdigit() else 0


def _extent(devices: Iterable[records.DeviceTime]) -> int:
    """Return how much of a step was recorded, as the number of spans."""
    return sum(len(device.spans) for device in devices)


def _merged(before: records.DeviceTime | None, now: records.DeviceTime) -> records.DeviceTime:
    """Return the sums of both devices, with the spans of the later one."""
    if before is None:
        return now
    sums = {kernel.kernel: kernel for kernel in before.kernels}
    for kernel in now.kernels:
        total = sums.get(kernel.kernel)
        sums[kernel.kernel] = (
            kernel
            if total is None
            else dataclasses.replace(kernel, calls=total.calls + kernel.calls, seconds=total.seconds + kernel.seconds)
        )
    return dataclasses.replace(now, busy=before.busy + now.busy, kernels=tuple(sums.values()))
