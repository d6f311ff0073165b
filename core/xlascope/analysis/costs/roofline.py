"""Utilization of a device's peaks by kernels, and the resource that limits each kernel.

A kernel is *bound* by memory or by compute when it reached at least :data:`MIN_BOUND_FRACTION` of that ceiling in
its measured time. Below that something else limits it (launch overhead, waiting, its own code) and both
shares are reported. Exceeding the memory ceiling is not a measurement error: the data were in a cache, and
memory is not the limit. Exceeding the compute ceiling is one: no kernel computes faster than the device, so its time or
the calibration is doubtful (:data:`MAX_TRUSTED_FRACTION`), and no percentage is reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ...records.compiled import Kernel
from ...records.events import Ceilings, Compiled
from ...records.paths import EquationPath
from ...records.programs import Equation, Jaxpr
from .call_times import DeviceCall, KernelCall

#: A kernel is bound by a resource from this fraction of its ceiling on. GPU profilers use 60 %, too.
MIN_BOUND_FRACTION = 0.6
#: Up to this fraction of the compute ceiling, time and calibration are believed.
MAX_TRUSTED_FRACTION = 1.1
#: Opcodes of kernels that compute nothing.
_MOVE_OPCODES = frozenset({"copy", "transpose", "bitcast", "reshape", "copy-start"})


class Utilization(NamedTuple):
    """Fractions of the compute and memory ceilings that a kernel reached.

    They are None where its work, its bytes or the ceilings are unknown.
    """

    compute: float | None = None
    memory: float | None = None

    @property
    def limit(self) -> Literal["compute", "memory", "neither", ""]:
        """Return the resource that limits the kernel, ``""`` where it is unknown.

        >>> [Utilization(*shares).limit for shares in ((0.02, 0.75), (0.01, 0.03), (0.01, 1.3), (0.7, 1.3))]
        ['memory', 'neither', 'neither', 'compute']
        """
        compute, memory = round(self.compute or 0.0, 2), round(self.memory or 0.0, 2)  # as they are told
        if self.compute is None and self.memory is None:
            return ""
        if compute >= MIN_BOUND_FRACTION and (compute >= memory or memory > 1):
            return "compute"
        return "memory" if MIN_BOUND_FRACTION <= memory <= 1 else "neither"

    @property
    def is_doubtful(self) -> bool:
        """Return whether more was computed than the device can: the time or the calibration is doubtful.

        >>> Utilization(2.65, 0.1).is_doubtful, Utilization(0.9, 3.0).is_doubtful
        (True, False)
        """
        return (self.compute or 0.0) > MAX_TRUSTED_FRACTION

    @property
    def words(self) -> str:
        """Return the limiting resource with the fractions of the ceilings.

        >>> Utilization(0.02, 0.75).words, Utilization(0.01, 0.03).words
        ('memory, 75 %', 'neither (memory 3 %, compute 1 %)')
        >>> Utilization(2.65, 0.1).words
        'doubtful: above the measured peak'
        """
        if self.is_doubtful:
            return "doubtful: above the measured peak"
        if not self.limit:
            return ""
        if self.limit != "neither":
            return f"{self.limit}, {_format_percent(self.compute if self.limit == 'compute' else self.memory)}"
        parts = (("memory", self.memory), ("compute", self.compute))
        shares = ", ".join(f"{name} {_format_percent(part)}" for name, part in parts if part is not None)
        return f"neither{', in cache' if (self.memory or 0.0) > 1 else ''} ({shares})"


@dataclass(frozen=True, slots=True)
class HotKernel:
    """Kernel in one call of a device, with its work and its rates.

    ``flops`` and ``bytes`` are those of one run (estimates; None where unknown), ``flop_rate`` and ``byte_rate`` the
    same per second of its measured time, and ``utilization`` relates these to the device's ceilings.
    """

    call: KernelCall
    flops: float | None
    bytes: int | None
    flop_rate: float | None
    byte_rate: float | None
    utilization: Utilization


def rank_kernels(
    device: DeviceCall, compiled: Compiled | None, flops: Mapping[str, float], ceilings: Ceilings | None
) -> tuple[HotKernel, ...]:
    """Return the kernels that a device ran, by time, largest first.

    ``flops`` are the operations of one run by kernel (:func:`kernel_flops`). Without ``compiled`` there are no rates,
    and without ``ceilings`` no utilization.
    """
    kernels = {kernel.name: kernel for kernel in compiled.kernels} if compiled is not None else {}
    return tuple(
        _build_hot_kernel(kernel_call, kernels.get(kernel_call.kernel), flops.get(kernel_call.kernel), ceilings)
        for kernel_call in device.kernels
    )


def _build_hot_kernel(
    call: KernelCall, kernel: Kernel | None, flops: float | None, ceilings: Ceilings | None
) -> HotKernel:
    if kernel is None or kernel.kind == "call":
        return HotKernel(call, None, None, None, None, Utilization())
    nbytes = kernel.bytes_read + kernel.bytes_written
    run = call.seconds / call.runs if call.runs else 0.0
    if run <= 0:
        return HotKernel(call, flops, nbytes, None, None, Utilization())
    rates = (flops / run if flops is not None else None), nbytes / run
    return HotKernel(call, flops, nbytes, *rates, compute_utilization(flops, nbytes, run, ceilings))


def compute_utilization(flops: float | None, nbytes: int, seconds: float, ceilings: Ceilings | None) -> Utilization:
    """Return the fractions of the ceilings that a kernel reached in one run of so many ``seconds``.

    ``flops`` are its operations (None if unknown), ``nbytes`` the bytes it reads and writes. Both fractions are None
    without ceilings.

    >>> ceilings = Ceilings(1, "f", 0.0, "cpu:0", flops=100e9, bytes_per_second=50e9, source="measured here")
    >>> compute_utilization(0.0, 1_000_000, 40e-6, ceilings)
    Utilization(compute=0.0, memory=0.5)
    """
    if ceilings is None or seconds <= 0:
        return Utilization()
    compute = flops / ceilings.flops / seconds if flops is not None else None
    return Utilization(compute, nbytes / ceilings.bytes_per_second / seconds)


def _format_percent(part: float | None) -> str:
    return "< 1 %" if part and part < 0.005 else f"{100 * (part or 0.0):.0f} %"


def kernel_flops(kernels: Sequence[Kernel], jaxpr: Jaxpr, devices: int = 1) -> dict[str, float]:
    """Return the floating-point operations of one run of each kernel, estimated from its equations.

    The work of an equation in several kernels is split by the bytes that these read: the second half of a
    reduction reads little, and adds up little. Of repeats that were compiled once, as a loop, a run computes one.

    Kernels without equations have no entry, and there are none if equations are known by name only. A kernel that
    only moves an operand into place (a transpose before a product) computes nothing of its equation. There are no
    entries if several ``devices`` share the program: equations describe whole arrays, kernels have parts.
    """
    if jaxpr.by_names or devices > 1:
        return {}
    equations: dict[EquationPath, Equation] = {equation.path: equation for equation in jaxpr.walk()}
    leaves = {path for path, equation in equations.items() if not equation.bodies}
    working = [kernel for kernel in kernels if kernel.kind != "call" and kernel.equations]
    computing = [kernel for kernel in working if kernel.opcode not in _MOVE_OPCODES]
    read: Counter[EquationPath] = Counter()
    for kernel in computing:
        read.update(dict.fromkeys(kernel.equations, kernel.bytes_read + 1))
    flops = dict.fromkeys((kernel.name for kernel in working), 0.0)
    for kernel in computing:
        portions = (equations[path].flops / read[path] for path in set(kernel.equations) & leaves)
        flops[kernel.name] = (kernel.bytes_read + 1) * sum(portions) / kernel.repeats
    return flops
