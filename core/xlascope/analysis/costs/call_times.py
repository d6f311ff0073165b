"""Breakdown of the time of a call, used by every text, picture and panel.

The profiler reports the time of each kernel in the calls that it recorded from begin to end. Everything here
is per call, so a kernel that runs a hundred times in a loop has the time of a hundred runs. A kernel's time
excludes the kernels that it runs, and its share is its part of all kernels' time. Shares add up to one, also
where kernels run concurrently and their times add up to more than the call took.

Profiling slows down the program. Where profiled calls took longer than a call takes by the host's clock, all
times are scaled down by that ratio. They are never scaled up, because the time of a call beyond its kernels
is no kernel's.

Equations are not measured separately. A kernel's time is shared by the estimated work of its equations
(``equation_work``), equally where nothing is known of that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...records.compiled import Kernel
from ...records.events import Compiled, DeviceTime, Executed, Traced
from ...records.paths import EquationPath
from ...records.store import to_json_value
from ..formatting import plural
from .equation_work import KernelCosts, estimate_kernel_costs, share_kernel

EquationLocations = Mapping[EquationPath, tuple[str, int]]

#: Kernels overlap if their times exceed the time in which at least one ran by more than this fraction.
OVERLAP_TOLERANCE_FRACTION = 0.01


class KernelCall(NamedTuple):
    """Kernel in one call: its seconds, how often it runs, and its part of all kernels' time."""

    kernel: str
    seconds: float
    runs: float
    share: float


@dataclass(frozen=True, slots=True)
class DeviceCall:
    """Activity of a device in one call; ``device`` is ``""`` for the mean over devices.

    ``kernel_seconds`` is the sum of its kernels' times, ``running_seconds`` the time in which at least one of them
    runs, and ``busy`` is ``running_seconds`` as a fraction of the call. Kernels are sorted by time, largest first.
    """

    device: str
    kernel_seconds: float
    running_seconds: float
    busy: float
    kernels: tuple[KernelCall, ...]

    @property
    def overlaps(self) -> bool:
        """Return whether kernels run concurrently, so that their times exceed the time in which any ran."""
        return self.kernel_seconds > self.running_seconds * (1 + OVERLAP_TOLERANCE_FRACTION)


class LineTime(NamedTuple):
    """Time of a source line: its seconds per call, and one of the equations on it."""

    seconds: float
    equation: EquationPath


@dataclass(frozen=True, slots=True)
class CallTimes:
    """Breakdown of one call of a program.

    ``seconds`` is the time by the clock ``clock`` (0 while unknown). ``calls`` is the number of complete calls
    that the profiler recorded; without any there are no devices and no shares. ``mean`` is the mean over the
    devices, and ``equations`` and ``lines`` divide it: a kernel's time is shared by the estimated work of its
    equations, since they are not measured separately. ``by_work`` and ``equally`` are the kernels that were shared
    between several equations, in the first way and equally for lack of an estimate. ``attributed`` is the fraction of
    the kernels' time in kernels with an equation, ``copied`` that in kernels which only copy results of equations,
    arguments or constants; the remainder has no source information.
    """

    seconds: float
    clock: str
    calls: int
    devices: tuple[DeviceCall, ...]
    mean: DeviceCall | None
    equations: Mapping[EquationPath, float]
    lines: Mapping[tuple[str, int], LineTime]
    attributed: float
    copied: float
    by_work: tuple[str, ...] = ()
    equally: tuple[str, ...] = ()

    @property
    def sharing_text(self) -> str:
        """Return how kernels' times were shared by equations as text; ``""`` if no kernel has several equations."""
        if not self.by_work:
            return "each kernel's time is shared equally by its equations" if self.equally else ""
        equally = f"; equally in {plural(len(self.equally), 'kernel')} of unknown work" if self.equally else ""
        return f"each kernel's time is shared by its equations' estimated operations and bytes{equally}"


def equation_locations(traced: Traced) -> dict[EquationPath, tuple[str, int]]:
    """Return the file and line of every equation that has a source, by path.

    It walks the whole program: a caller that needs it often should cache the result.
    """
    return {
        equation.path: (equation.source.file, equation.source.line)
        for equation in traced.jaxpr.walk()
        if equation.source is not None
    }


def compute_call_times(
    run: Executed,
    compiled: Compiled | None = None,
    locations: EquationLocations | None = None,
    costs: KernelCosts | None = None,
) -> CallTimes:
    """Return the breakdown of a call.

    Without ``compiled`` there are no times of equations, and without ``locations`` (see
    :func:`equation_locations`) none of lines. ``costs`` are the estimated costs of the equations of kernels
    (:func:`~.equation_work.estimate_kernel_costs`); a kernel that is not in there is shared equally. Whoever has the
    records of a whole program takes :func:`break_down_call`.

    >>> from xlascope.records import KernelTime
    >>> device = DeviceTime("cpu:0", 8.0, (KernelTime("sin", 20, 6.0), KernelTime("add", 2, 2.0)), ())
    >>> account = compute_call_times(Executed(1, "f", 0.0, 9, 45.0, 10.0, 2, 5.0, (device,), "host"))
    >>> account.mean.kernels[0], account.mean.busy
    (KernelCall(kernel='sin', seconds=3.0, runs=10.0, share=0.75), 0.8)
    """
    return scale_call_times(compute_profiled_times(run, compiled, locations, costs), run)


def compute_profiled_times(
    run: Executed,
    compiled: Compiled | None = None,
    locations: EquationLocations | None = None,
    costs: KernelCosts | None = None,
) -> CallTimes:
    """Return the breakdown of a call by the profiler's own times, which :func:`scale_call_times` scales.

    Of ``run`` it depends on ``devices`` and ``observed_calls``, which stay the same from one profiler window to the
    next; the other arguments are those of :func:`compute_call_times`.
    """
    devices = tuple(_device_call(item, run.observed_calls) for item in _observed_devices(run))
    mean = _mean_over_devices(devices) if devices else None
    kernels = {item.name: item for item in compiled.kernels} if compiled is not None else {}
    kernel_calls = mean.kernels if mean is not None else ()
    equations, by_work, equally = _by_equation(kernel_calls, kernels, costs or {})
    lines = _by_line(equations, locations or {})
    attributed, copied = _attributed_shares(kernel_calls, kernels)
    calls = run.observed_calls if devices else 0
    return CallTimes(0.0, "", calls, devices, mean, equations, lines, attributed, copied, by_work, equally)


def scale_call_times(profiled: CallTimes, run: Executed) -> CallTimes:
    """Return a breakdown by the profiler's own times with the time of a call by the clock of ``run``."""
    scale = compute_profiler_scale(run)
    devices = tuple(_scale_device(device, run.step, scale) for device in profiled.devices)
    mean, equations, lines = profiled.mean, profiled.equations, profiled.lines
    if mean is not None and len(devices) == 1:
        mean = devices[0]
    elif mean is not None:
        busy = sum(device.busy for device in devices) / len(devices)
        mean = replace(_scale_device(mean, run.step, scale), busy=busy)
    if scale != 1.0:
        equations = {path: seconds * scale for path, seconds in equations.items()}
        lines = {location: LineTime(line.seconds * scale, line.equation) for location, line in lines.items()}
    return replace(
        profiled, seconds=run.step, clock=run.clock, devices=devices, mean=mean, equations=equations, lines=lines
    )


def compute_busy_fractions(profiled: CallTimes, run: Executed) -> list[float]:
    """Return for each device of ``run`` the part of a call in which something ran on it; 0.0 if that is unknown.

    ``profiled`` is the breakdown of a call by the profiler's own times.
    """
    scale = compute_profiler_scale(run)
    running = {device.device: device.running_seconds * scale for device in profiled.devices}
    return [_busy_fraction(running.get(device.device, 0.0), run.step) for device in run.devices]


def _observed_devices(run: Executed) -> list[DeviceTime]:
    """Return the devices with complete calls."""
    return [item for item in run.devices if item.whole and item.kernels] if run.observed_calls else []


def _scale_device(device: DeviceCall, step: float, scale: float) -> DeviceCall:
    """Return the activity of a device in a call of ``step`` seconds, with the profiler's times times ``scale``."""
    running = device.running_seconds * scale
    kernels = device.kernels
    if scale != 1.0:
        kernels = tuple(
            KernelCall(kernel, seconds * scale, runs, share) for kernel, seconds, runs, share in device.kernels
        )
    busy = _busy_fraction(running, step)
    return DeviceCall(device.device, device.kernel_seconds * scale, running, busy, kernels)


def break_down_call(run: Executed, compiled: Compiled | None, traced: Traced | None) -> CallTimes:
    """Return the breakdown of a call of a program, with the lines and the estimated work of its equations.

    ``compiled`` and ``traced`` are its other records, None for one that is missing.
    """
    if traced is None:
        return compute_call_times(run, compiled)
    costs = estimate_kernel_costs(traced, compiled) if compiled is not None else None
    return compute_call_times(run, compiled, equation_locations(traced), costs)


def account_json(account: CallTimes) -> dict[str, Any]:
    """Return the breakdown of a call as a JSON-compatible dict."""
    result: dict[str, Any] = {"seconds": account.seconds, "clock": account.clock, "calls": account.calls}
    result["devices"] = [_device_json(item) for item in account.devices]
    if account.mean is not None:
        result |= {"mean": _device_json(account.mean), "attributed": account.attributed, "copied": account.copied}
        result["equations"] = dict(account.equations)
        result["sharing"] = {
            "how": account.sharing_text,
            "by_work": list(account.by_work),
            "equally": list(account.equally),
        }
        result["lines"] = [{"file": f, "line": n, **item._asdict()} for (f, n), item in account.lines.items()]
    return result


def _device_json(device: DeviceCall) -> dict[str, Any]:
    return {**to_json_value(device), "kernels": [kernel._asdict() for kernel in device.kernels]}


def compute_profiler_scale(run: Executed) -> float:
    """Return the factor for the profiler's times: the host's call time over the profiled one, at most 1."""
    observed = _observed_devices(run)
    if run.clock != "host" or not run.step:
        return 1.0
    ends = [span.start + span.duration for device in observed for span in device.spans]
    longest = max([*ends, *(device.busy / run.observed_calls for device in observed)], default=0.0)
    return min(1.0, run.step / longest) if longest else 1.0


def _device_call(device: DeviceTime, calls: int) -> DeviceCall:
    """Return a device's activity per call, of so many profiled ``calls``; how busy it was is not known here."""
    total = sum(kernel.seconds for kernel in device.kernels)
    kernels = [
        KernelCall(
            kernel.kernel, kernel.seconds / calls, kernel.calls / calls, kernel.seconds / total if total else 0.0
        )
        for kernel in device.kernels
    ]
    return DeviceCall(device.device, total / calls, device.busy / calls, 0.0, _sort_by_time(kernels))


def _busy_fraction(running: float, step: float) -> float:
    return min(1.0, running / step) if step else 0.0


def _mean_over_devices(devices: tuple[DeviceCall, ...]) -> DeviceCall:
    """Return the mean over devices; a device without a kernel counts as 0 for it."""
    number = len(devices)
    if number == 1:
        return devices[0]
    seconds: dict[str, float] = {}
    runs: dict[str, float] = {}
    for device in devices:
        for item in device.kernels:
            seconds[item.kernel] = seconds.get(item.kernel, 0.0) + item.seconds / number
            runs[item.kernel] = runs.get(item.kernel, 0.0) + item.runs / number
    total, running = (
        sum(values) / number
        for values in zip(*((item.kernel_seconds, item.running_seconds) for item in devices), strict=True)
    )
    kernels = [
        KernelCall(name, own_seconds, runs[name], own_seconds / total if total else 0.0)
        for name, own_seconds in seconds.items()
    ]
    return DeviceCall("", total, running, 0.0, _sort_by_time(kernels))


def _sort_by_time(kernels: list[KernelCall]) -> tuple[KernelCall, ...]:
    return tuple(sorted(kernels, key=lambda kernel: -kernel.seconds))


def _by_equation(
    kernel_calls: Iterable[KernelCall], kernels: Mapping[str, Kernel], costs: KernelCosts
) -> tuple[dict[EquationPath, float], tuple[str, ...], tuple[str, ...]]:
    """Return the seconds of each equation, and the kernels that were shared by work and those shared equally.

    ``kernels`` are the compiled kernels by name, ``costs`` the estimated costs of the equations of kernels. A kernel
    with one equation is not shared.
    """
    totals: dict[EquationPath, float] = {}
    shared: dict[bool, list[str]] = {True: [], False: []}
    called = [(call, kernels[call.kernel]) for call in kernel_calls if call.kernel in kernels]
    runs: Counter[EquationPath] = Counter()
    for call, kernel in called:
        runs.update(dict.fromkeys(kernel.equations, call.runs))
    for call, kernel in called:
        paths = dict.fromkeys(kernel.equations)
        cost = costs.get(call.kernel)
        shares = share_kernel(cost, runs) if cost else {}
        for path in paths:
            part = shares.get(path, 0.0) if shares else 1 / len(paths)
            totals[path] = totals.get(path, 0.0) + call.seconds * part
        if len(paths) > 1:
            shared[bool(shares)].append(call.kernel)
    return totals, tuple(shared[True]), tuple(shared[False])


def _by_line(equations: Mapping[EquationPath, float], locations: EquationLocations) -> dict[tuple[str, int], LineTime]:
    """Return the time of each (file, line), largest first.

    ``equations`` are the seconds of equations, ``locations`` the line of each; those without a line are left out, and
    lines on which no time was spent.
    """
    lines: dict[tuple[str, int], LineTime] = {}
    for path, seconds in equations.items():
        location = locations.get(path)
        if location is not None and seconds:
            line = lines.get(location)
            lines[location] = LineTime(line.seconds + seconds, line.equation) if line else LineTime(seconds, path)
    return dict(sorted(lines.items(), key=lambda item: -item[1].seconds))


def _attributed_shares(kernel_calls: Iterable[KernelCall], kernels: Mapping[str, Kernel]) -> tuple[float, float]:
    """Return two fractions of all kernels' time: in kernels with equations, and in kernels that only copy.

    ``kernel_calls`` have the times, ``kernels`` the compiled kernels by name; kernels that are not in there count for
    neither. The rest up to 1 has no source information.
    """
    matched = [
        (kernel_call.share, kernels[kernel_call.kernel])
        for kernel_call in kernel_calls
        if kernel_call.kernel in kernels
    ]
    parts = (
        sum(share for share, kernel in matched if kernel.equations),
        sum(share for share, kernel in matched if not kernel.equations and (kernel.moves or kernel.copies)),
    )
    return round(parts[0], 9), round(parts[1], 9)  # rounding errors of the sum must not make it differ from 1
