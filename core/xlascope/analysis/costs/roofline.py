"""The hottest kernels of a program: their self times, and how near they came to what the device can do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...records.compiled import Kernel
from ...records.events import Ceilings, Compiled, DeviceTime
from ...records.paths import EquationPath
from ...records.programs import Equation, Jaxpr


@dataclass(frozen=True, slots=True)
class HotKernel:
    """One kernel on one device. ``seconds`` is its self time in one run of it, ``calls`` counts the runs observed.

    ``share`` is its part of all kernels' self time. ``flops`` (our count; None where nothing is known) and ``bytes``
    (our count) are those of one run. ``bound`` is what limits a kernel of so many operations per byte on this device,
    and ``of_ceiling`` the part of that limit which it reached: more than 1 where its data stay in a cache.
    """

    kernel: str
    calls: int
    seconds: float
    share: float
    flops: float | None
    bytes: int
    bound: Literal["compute", "memory", ""]
    of_ceiling: float | None


def hottest(
    device: DeviceTime, compiled: Compiled, jaxpr: Jaxpr | None, ceilings: Ceilings | None
) -> tuple[HotKernel, ...]:
    """The kernels that a device ran, the one with most self time first.

    An equation's operations are split evenly over the kernels that it ended up in. Without ceilings there are no
    bounds.
    """
    kernels = {kernel.name: kernel for kernel in compiled.kernels}
    flops = kernel_flops(compiled.kernels, jaxpr) if jaxpr is not None else {}
    total = sum(each.seconds for each in device.kernels) or 1.0
    found = []
    for each in sorted(device.kernels, key=lambda time: -time.seconds):
        kernel = kernels.get(each.kernel)
        works = kernel is not None and kernel.kind != "call"
        own = each.seconds / max(each.calls, 1)
        count = flops.get(each.kernel) if works else None
        moved = kernel.bytes_read + kernel.bytes_written if kernel is not None and works else 0
        bound, part = roof(count or 0.0, moved, own, ceilings) if works else ("", None)
        found.append(HotKernel(each.kernel, each.calls, own, each.seconds / total, count, moved, bound, part))
    return tuple(found)


def roof(
    flops: float, moved: int, seconds: float, ceilings: Ceilings | None
) -> tuple[Literal["compute", "memory", ""], float | None]:
    """What bounds a kernel of so many operations and bytes, and which part of that bound it reached in its time.

    >>> ceilings = Ceilings(1, "f", 0.0, "cpu:0", flops=100e9, bytes_per_second=50e9, source="measured here")
    >>> roof(0.0, 1_000_000, 40e-6, ceilings)
    ('memory', 0.5)
    """
    if ceilings is None or seconds <= 0 or not (flops or moved):
        return "", None
    in_compute, in_memory = flops / ceilings.flops, moved / ceilings.bytes_per_second
    return ("compute" if in_compute > in_memory else "memory"), max(in_compute, in_memory) / seconds


def kernel_flops(kernels: Sequence[Kernel], jaxpr: Jaxpr) -> dict[str, float]:
    """Floating-point operations of one run of each kernel: our count of its equations, each split over its kernels."""
    equations: dict[EquationPath, Equation] = {each.path: each for each in jaxpr.walk()}
    leaves = {path for path, each in equations.items() if not each.bodies}
    working = [kernel for kernel in kernels if kernel.kind != "call"]
    pieces = Counter(path for kernel in working for path in set(kernel.equations))
    return {
        kernel.name: sum(equations[path].flops / pieces[path] for path in set(kernel.equations) & leaves)
        for kernel in working
    }


def attributed_share(devices: Sequence[DeviceTime], kernels: Sequence[Kernel]) -> float | None:
    """The self time of kernels that have an equation, as a part of the devices' busy time; None where nothing ran.

    Where kernels run side by side on a device's threads their self times add up to more than it was busy: there it is
    their part of that sum.
    """
    known = {kernel.name for kernel in kernels if kernel.equations}
    told = sum(each.seconds for device in devices for each in device.kernels if each.kernel in known)
    whole = sum(max(device.busy, sum(each.seconds for each in device.kernels)) for device in devices)
    return told / whole if whole else None
