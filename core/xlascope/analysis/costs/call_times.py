"""Where the time of a call went: the one account that every text, picture and panel reads.

The profiler says what each kernel took in the calls that it saw from begin to end; everything here is per call, so a
kernel that runs a hundred times in a loop has the time of a hundred runs. A kernel's time is that of itself, without
the kernels that it runs, and its share is its part of all kernels' time: shares add up to one, also where kernels run
side by side and their times add up to more than the call took.

A profiler slows down what it looks at. Where its calls took longer than a call takes by the host's clock, all times are
made shorter by that ratio; they are never made longer, since what a call takes beyond its kernels is no kernel's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...records.compiled import Kernel
from ...records.events import Compiled, DeviceTime, Executed, Traced
from ...records.paths import EquationPath
from ...records.store import encoded

Places = Mapping[EquationPath, tuple[str, int]]

#: Times of kernels that exceed the time in which at least one ran by more than this are called overlapping.
ROUNDING = 0.01


class KernelCall(NamedTuple):
    """A kernel in one call: its seconds, how often it runs, and its part of all kernels' time."""

    kernel: str
    seconds: float
    runs: float
    share: float


@dataclass(frozen=True, slots=True)
class DeviceCall:
    """What a device does in one call. ``kernel_seconds`` is the sum of its kernels' times, ``running_seconds`` the time
    in which at least one of them runs, and ``busy`` what part of the call that is. Kernels come with most time first.
    """

    device: str
    kernel_seconds: float
    running_seconds: float
    busy: float
    kernels: tuple[KernelCall, ...]

    @property
    def overlaps(self) -> bool:
        """Whether kernels run side by side, so that their times add up to more than the time in which any ran."""
        return self.kernel_seconds > self.running_seconds * (1 + ROUNDING)


class Line(NamedTuple):
    """A line of the user's: its seconds per call, and one of the equations that it made."""

    seconds: float
    equation: EquationPath


@dataclass(frozen=True, slots=True)
class CallTimes:
    """One call of a program: ``seconds`` by the clock ``clock`` (0 while unknown), and what the profiler saw of it.

    ``calls`` is how many whole calls it saw; where it saw none there are no devices, and nothing has a share.
    ``whole`` is the mean over the devices, ``equations`` and ``lines`` divide that: a kernel's time is split equally
    over its equations, since nothing measures them apart. ``attributed`` is the part of the kernels' time in kernels
    with an equation, ``copied`` that in kernels which only copy what equations made; no source is known for the rest.
    """

    seconds: float
    clock: str
    calls: int
    devices: tuple[DeviceCall, ...]
    whole: DeviceCall | None
    equations: Mapping[EquationPath, float]
    lines: Mapping[tuple[str, int], Line]
    attributed: float
    copied: float


def places_of(traced: Traced) -> dict[EquationPath, tuple[str, int]]:
    """The file and line of every equation that has one; of a large program worth keeping."""
    return {each.path: (each.source.file, each.source.line) for each in traced.jaxpr.walk() if each.source is not None}


def call_times(run: Executed, compiled: Compiled | None = None, places: Places | None = None) -> CallTimes:
    """The account of a call; without ``compiled`` nothing is known of equations, without ``places`` (see
    :func:`places_of`) of lines.

    >>> from xlascope.records import KernelTime
    >>> seen = DeviceTime("cpu:0", 8.0, (KernelTime("sin", 20, 6.0), KernelTime("add", 2, 2.0)), ())
    >>> found = call_times(Executed(1, "f", 0.0, 9, 45.0, 10.0, 2, 5.0, (seen,), "host"))
    >>> found.whole.kernels[0], found.whole.busy
    (KernelCall(kernel='sin', seconds=3.0, runs=10.0, share=0.75), 0.8)
    """
    seen = [each for each in run.devices if each.whole and each.kernels] if run.observed_calls else []
    scale = _scale(run, seen)
    devices = tuple(_device(each, run, scale) for each in seen)
    whole = _mean(devices) if devices else None
    kernels = {each.name: each for each in compiled.kernels} if compiled is not None else {}
    told = whole.kernels if whole is not None else ()
    equations = _by_equation(told, kernels)
    lines = _by_line(equations, places or {})
    attributed, copied = _attributed(told, kernels)
    calls = run.observed_calls if devices else 0
    return CallTimes(run.step, run.clock, calls, devices, whole, equations, lines, attributed, copied)


def account_json(account: CallTimes) -> dict[str, Any]:
    """The account as a dict that JSON can hold: what a file of records says beside them."""
    found: dict[str, Any] = {"seconds": account.seconds, "clock": account.clock, "calls": account.calls}
    found["devices"] = [_device_json(each) for each in account.devices]
    if account.whole is not None:
        found |= {"mean": _device_json(account.whole), "attributed": account.attributed, "copied": account.copied}
        found["equations"] = dict(account.equations)
        found["lines"] = [{"file": f, "line": n, **each._asdict()} for (f, n), each in account.lines.items()]
    return found


def _device_json(device: DeviceCall) -> dict[str, Any]:
    return {**encoded(device), "kernels": [each._asdict() for each in device.kernels]}


def _scale(run: Executed, seen: list[DeviceTime]) -> float:
    """How much shorter the host's calls are than those that the profiler looked at; never more than 1."""
    if run.clock != "host" or not run.step:
        return 1.0
    ends = [span.start + span.duration for device in seen for span in device.spans]
    longest = max([*ends, *(device.busy / run.observed_calls for device in seen)], default=0.0)
    return min(1.0, run.step / longest) if longest else 1.0


def _device(device: DeviceTime, run: Executed, scale: float) -> DeviceCall:
    per_call = scale / run.observed_calls
    running = device.busy * per_call
    total = sum(each.seconds for each in device.kernels)
    kernels = [
        KernelCall(
            each.kernel,
            each.seconds * per_call,
            each.calls / run.observed_calls,
            each.seconds / total if total else 0.0,
        )
        for each in device.kernels
    ]
    return DeviceCall(device.device, total * per_call, running, _busy(running, run.step), _most_first(kernels))


def _busy(running: float, step: float) -> float:
    return min(1.0, running / step) if step else 0.0


def _mean(devices: tuple[DeviceCall, ...]) -> DeviceCall:
    """The mean over devices: of a kernel that one of two ran, half of its time."""
    number = len(devices)
    if number == 1:
        return devices[0]
    seconds: dict[str, float] = {}
    runs: dict[str, float] = {}
    for device in devices:
        for each in device.kernels:
            seconds[each.kernel] = seconds.get(each.kernel, 0.0) + each.seconds / number
            runs[each.kernel] = runs.get(each.kernel, 0.0) + each.runs / number
    total, running, busy = (
        sum(values) / number
        for values in zip(*((each.kernel_seconds, each.running_seconds, each.busy) for each in devices), strict=True)
    )
    kernels = [KernelCall(name, own, runs[name], own / total if total else 0.0) for name, own in seconds.items()]
    return DeviceCall("", total, running, busy, _most_first(kernels))


def _most_first(kernels: list[KernelCall]) -> tuple[KernelCall, ...]:
    return tuple(sorted(kernels, key=lambda each: -each.seconds))


def _by_equation(told: Iterable[KernelCall], kernels: Mapping[str, Kernel]) -> dict[EquationPath, float]:
    found: dict[EquationPath, float] = {}
    for each in told:
        kernel = kernels.get(each.kernel)
        paths = dict.fromkeys(kernel.equations) if kernel is not None else {}
        for path in paths:
            found[path] = found.get(path, 0.0) + each.seconds / len(paths)
    return found


def _by_line(equations: Mapping[EquationPath, float], places: Places) -> dict[tuple[str, int], Line]:
    """The lines, with most time first."""
    found: dict[tuple[str, int], Line] = {}
    for path, seconds in equations.items():
        place = places.get(path)
        if place is not None:
            known = found.get(place)
            found[place] = Line(known.seconds + seconds, known.equation) if known else Line(seconds, path)
    return dict(sorted(found.items(), key=lambda item: -item[1].seconds))


def _attributed(told: Iterable[KernelCall], kernels: Mapping[str, Kernel]) -> tuple[float, float]:
    """The parts of the kernels' time with an equation, and in copies of what equations made."""
    known = [(each.share, kernels[each.kernel]) for each in told if each.kernel in kernels]
    parts = (
        sum(share for share, kernel in known if kernel.equations),
        sum(share for share, kernel in known if not kernel.equations and kernel.moves),
    )
    return round(parts[0], 9), round(parts[1], 9)  # all of it is all of it, however it was added up
