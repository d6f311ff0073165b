"""What has been measured of one program so far, added up over profiler windows, as an :class:`Executed` record.

A trace is compiled again where its operands lie elsewhere. On another single device the kernels are the same, and they
are added up; where several devices share the program, kernels of the same name have other work, and what is added up is
of modules with the same kernels alone: those seen last.
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
    """Calls and host seconds of one program, and the sums of all windows in which it was seen whole.

    ``profiled`` are the profiler's seconds in which the calls seen ran, ``looked`` the seconds of the longest window
    that held only parts of calls, ``profiling`` the processor time that looking cost until a whole one was seen.
    ``module`` is the one whose calls are added up, together with those of ``modules``, all that the trace was compiled
    to, that have the same value there: the same kernels. ``quick`` are those that were compiled quickly, to be replaced
    by optimized ones. ``seen`` counts the whole calls of all. ``notes`` say, each
    once, what of the windows could not be read.
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
        """So many calls more, during so many seconds of the host's clock."""
        self.calls += calls
        self.seconds += seconds

    def add_window(self, profiles: Iterable[ModuleProfile], seconds: float = 0.0) -> None:
        """What one window of so many seconds saw of this program."""
        seen = list(profiles)
        whole = [profile for profile in seen if profile.observed_calls]
        self.seen += sum(profile.observed_calls for profile in whole)
        for profile in seen:
            self.modules.setdefault(profile.module, profile.module)
        if whole and not any(self._is_alike(profile) for profile in whole):
            self._begin(max(whole, key=lambda profile: profile.seconds).module)
        for profile in filter(self._is_alike, whole):
            self._add(profile)
        for profile in seen:
            if not profile.observed_calls:
                self.looked = max(self.looked, seconds)
                self.parts = max(self.parts, profile.devices, key=_extent)

    def _is_alike(self, profile: ModuleProfile) -> bool:
        return bool(self.module) and self.modules[profile.module] == self.modules[self.module]

    def _begin(self, module: str) -> None:
        """Add up the calls of another module from here on."""
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
            else dataclasses.replace(each, calls=known.calls + each.calls, seconds=known.seconds + each.seconds)
        )
    return dataclasses.replace(now, busy=before.busy + now.busy, kernels=tuple(sums.values()))
