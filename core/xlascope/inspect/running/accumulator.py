"""Accumulator of the measurements of one program over profiler windows, as an :class:`Executed` record.

A trace is compiled again if its operands are on other devices. On another single device the kernels are the
same, and they are added up. If several devices share the program, kernels of the same name have other work,
and only modules with the same kernels are added up: those profiled last.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from ... import records
from ...ir.user_frames import title_of
from ...readers.profiles import ModuleProfile
from .periods import LOW, MIN_CALLS, WARM_UP_AFTER_COMPILING, CallLog, distribution_of_calls, weighted_quantile
from .step_time import StepTime

NO_STEP_TIME = StepTime(0.0, "")
NO_LOG = CallLog()
#: A window in which warm-up calls are at most one in so many counts as one of warm calls.
MIN_WARM_FACTOR = 10
MIXED_NOTE = (
    "several programs of this function are called by turns (arguments of other types, or other static ones): "
    "their calls are not told apart, so their number is uncertain and there is no period"
)
EARLIER_NOTE = "the shares of kernels are those of an earlier run of this program"
#: Number of profiled calls of which the durations are stored.
MAX_DURATIONS = 4096
#: Most lines of one program's calls that are named.
MAX_LINES = 4
#: Number of the latest ones that say how short a call can be.
MAX_LATEST_DURATIONS = 100


@dataclass
class ProgramTally:
    """Calls and host seconds of one program, and the sums of all profiler windows with complete calls of it.

    ``observed`` counts the complete calls that were added up, ``profiled`` are the profiler's seconds of them.
    ``steps`` and ``call_seconds`` have, for each window, the device's and the host's seconds of a call and the number
    of calls. ``max_window`` are the seconds of the longest window without a complete call, ``parts`` the most that
    such a window recorded, and ``profiling`` the processor time of profiling until a complete call was recorded.

    ``durations`` are the profiler's seconds of the complete calls and ``intervals`` those from begin to begin. They are
    of warm calls if ``is_warm``; a profile of
    the first calls is replaced by that of warm ones.

    ``modules`` has a value for each module that the trace was compiled to, equal for modules with the same kernels;
    only calls of ``module`` and of modules with its value are added up. ``quick`` are the modules compiled quickly,
    to be replaced by optimized ones. With ``is_earlier`` the sums are of an earlier run of the program, until a
    complete call is profiled. ``profiled_calls`` counts the complete calls of all modules. ``notes`` say, once each,
    which parts of the windows could not be read. ``lines`` are those, as file and number, from which an operation of
    the library was called, and ``traced_at`` is where it was traced, which its equations have as their line.
    """

    program: int
    function: str
    began: float
    calls: int = 0
    seconds: float = 0.0
    observed: int = 0
    profiled: float = 0.0
    max_window: float = 0.0
    profiling: float = 0.0
    steps: list[tuple[float, int]] = field(default_factory=list)
    call_seconds: list[tuple[float, int]] = field(default_factory=list)
    devices: dict[str, records.DeviceTime] = field(default_factory=dict)
    parts: tuple[records.DeviceTime, ...] = ()
    notes: dict[str, None] = field(default_factory=dict)
    module: str = ""
    modules: dict[str, object] = field(default_factory=dict)
    quick: set[str] = field(default_factory=set)
    profiled_calls: int = 0
    durations: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_DURATIONS))
    intervals: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_DURATIONS))
    is_warm: bool = False
    has_warm_calls: bool = False
    is_earlier: bool = False
    lines: dict[tuple[str, int], None] = field(default_factory=dict)
    traced_at: tuple[str, int] | None = None

    def begin_with(self, earlier: ProgramTally) -> None:
        """Take over the sums of an earlier run; its durations are not, as they are no times of this one."""
        self.module, self.observed, self.profiled = earlier.module, earlier.observed, earlier.profiled
        self.steps, self.call_seconds = list(earlier.steps), list(earlier.call_seconds)
        self.devices, self.is_warm, self.is_earlier = dict(earlier.devices), True, True

    def forget_earlier(self) -> None:
        """Forget the sums of an earlier run, as the program was compiled again or is profiled now."""
        if self.is_earlier:
            self.is_earlier = self.is_warm = False
            self._start_module("")

    def add_calls(self, calls: int, seconds: float) -> None:
        """Add ``calls`` calls that took ``seconds`` together by the host's clock."""
        self.calls += calls
        self.seconds += seconds

    @property
    def needs_profile(self) -> bool:
        """Return whether no complete call was profiled, or no warm one though there are warm calls now."""
        return not self.observed or self.is_earlier or (self.has_warm_calls and not self.is_warm)

    @property
    def has_device_time(self) -> bool:
        """Return whether enough warm calls were profiled for a median."""
        return self.is_warm and len(self.durations) >= MIN_CALLS

    def short_duration(self) -> float:
        """Return the 10th percentile of the profiler's seconds of the latest complete calls."""
        latest = itertools.islice(reversed(self.durations), MAX_LATEST_DURATIONS)
        return weighted_quantile([(seconds, 1) for seconds in latest], LOW)

    def add_window(self, profiles: Iterable[ModuleProfile], seconds: float = 0.0, *, warm: bool = True) -> None:
        """Add the profiles of this program's modules in one window, which was open for ``seconds``.

        ``warm`` says whether all calls in it are warm.
        """
        window_profiles = list(profiles)
        complete = [profile for profile in window_profiles if profile.observed_calls]
        warm = warm or sum(profile.observed_calls for profile in complete) >= MIN_WARM_FACTOR * WARM_UP_AFTER_COMPILING
        if complete and warm:
            self.forget_earlier()
        if complete and warm and not self.is_warm:
            self.is_warm = True
            self._start_module("")
        elif self.is_warm and not warm:
            complete = []
        self.profiled_calls += sum(profile.observed_calls for profile in complete)
        for profile in window_profiles:
            self.modules.setdefault(profile.module, profile.module)
        if complete and not any(self._has_same_kernels(profile) for profile in complete):
            self._start_module(max(complete, key=lambda profile: profile.seconds).module)
        for profile in filter(self._has_same_kernels, complete):
            self._add_profile(profile)
        for profile in window_profiles:
            if not profile.observed_calls:
                self.max_window = max(self.max_window, seconds)
                self.parts = max(self.parts, profile.devices, key=_count_spans)

    def _has_same_kernels(self, profile: ModuleProfile) -> bool:
        return bool(self.module) and self.modules[profile.module] == self.modules[self.module]

    def _start_module(self, module: str) -> None:
        """Forget the sums and start to add up the calls of another module."""
        self.module, self.observed, self.profiled = module, 0, 0.0
        self.steps, self.call_seconds, self.devices = [], [], {}
        self.durations.clear()
        self.intervals.clear()

    def _add_profile(self, profile: ModuleProfile) -> None:
        self.observed += profile.observed_calls
        self.profiled += profile.seconds
        self.durations.extend(profile.durations)
        self.intervals.extend(profile.intervals)
        self.steps.append((profile.step, profile.observed_calls))
        self.call_seconds.append((profile.call_seconds, profile.observed_calls))
        for device in profile.devices:
            self.devices[device.device] = _merge_devices(self.devices.get(device.device), device)

    @property
    def step(self) -> float:
        """Return the profiler's time of a call, the median over the windows; 0 without complete calls.

        It lasts from begin to end on the devices or, for a small call, from its dispatch until it returned.
        """
        return max(weighted_quantile(self.steps, 0.5), weighted_quantile(self.call_seconds, 0.5))

    def record(
        self,
        step: StepTime = NO_STEP_TIME,
        pace: float = 0.0,
        period: records.TimeDistribution | None = None,
        log: CallLog = NO_LOG,
        *,
        is_mixed: bool = False,
    ) -> records.Executed:
        """Return the sums as a record.

        ``step`` is the time of one call with its clock, ``pace`` the seconds from call to call (0.0 if unknown),
        ``period`` their distribution. ``log`` has the first calls. With ``is_mixed`` calls of other programs of the
        function are counted here, or the other way round.
        """
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
            devices=tuple(sorted(devices, key=lambda device: _device_sort_key(device.device))),
            clock=step.clock,
            notes=(*self.notes, *([MIXED_NOTE] if is_mixed else ()), *self._missing_notes()),
            at_most=step.at_most,
            profiling=self.profiling if self.observed else 0.0,
            module=self.module,
            period=period,
            device_time=self._device_time(period) if self.has_device_time else None,
            first_calls=() if period is not None else tuple(log.first_calls),
            warm_up=max((log.warm_from or 1) - 1, 0),
        )

    def _device_time(self, period: records.TimeDistribution | None) -> records.TimeDistribution | None:
        """Return the time of a call on the devices, by the share of the ``period`` where the profiler changed it."""
        runs = max((sum(kernel.calls for kernel in item.kernels) for item in self.devices.values()), default=0)
        return distribution_of_calls(self.durations, self.intervals, runs / max(self.observed, 1), period)

    def _missing_notes(self) -> Iterable[str]:
        """Yield notes about incomplete calls, quickly compiled versions, and traces compiled several times."""
        if self.parts and not self.observed:
            window = (
                f": a call is longer than the profiler's window of {self.max_window:.3g} s" if self.max_window else ""
            )
            yield f"no whole step was seen{window}"
        if self.lines and self.lines.keys() != {self.traced_at}:
            yield format_lines(self.lines)
        if self.is_earlier:
            yield EARLIER_NOTE
        if self.observed and not self.is_warm:
            yield (
                f"kernels and their times are of the first {_count_calls(self.observed)}, which may be slower than "
                "the following ones"
            )
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


def format_lines(lines: Iterable[tuple[str, int]]) -> str:
    """Return a note about the lines from which an operation was called, as file and number.

    >>> format_lines([("/home/a.py", 7), ("/home/a.py", 3)])
    'called at a.py:3 and a.py:7 (of the calls that were looked at): its equations have the line of the first'
    """
    names = [f"{title_of(file) or os.path.basename(file)}:{line}" for file, line in sorted(lines)]
    if len(names) > MAX_LINES:
        names[MAX_LINES - 1 :] = [f"{len(names) - MAX_LINES + 1} other lines"]
    text = " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
    return f"called at {text} (of the calls that were looked at): its equations have the line of the first"


def _count_calls(number: int) -> str:
    return "call" if number == 1 else f"{number:,} calls"


def _device_sort_key(device: str) -> tuple[str, int]:
    """Return a sort key of devices by platform and number: ``cpu:10`` comes after ``cpu:2``."""
    platform, _, number = device.rpartition(":")
    return platform, int(number) if number.isdigit() else 0


def _count_spans(devices: Iterable[records.DeviceTime]) -> int:
    """Return how much of a step was recorded, as the number of spans."""
    return sum(len(device.spans) for device in devices)


def _merge_devices(before: records.DeviceTime | None, now: records.DeviceTime) -> records.DeviceTime:
    """Return the sums of both windows' times of a device (``before`` may be None), with the spans of the later one."""
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
