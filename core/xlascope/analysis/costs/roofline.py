"""How near kernels came to what their device can do at most, and whether that is what limits them.

A kernel is *bound* by memory or by compute when it reached at least :data:`BOUND` of that ceiling in its measured time.
Below that something else limits it (launching, waiting, its own code), and it is bound by neither: both parts are said.
Faster than memory is no fault of measuring: the data were in a cache, and memory is not what limits.
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

#: The part of a ceiling from which on a kernel is said to be bound by it. Profilers of GPUs put it at 60 %, too.
BOUND = 0.6
#: Opcodes of kernels that compute nothing.
_MOVES = frozenset({"copy", "transpose", "bitcast", "reshape", "copy-start"})


class Reached(NamedTuple):
    """The parts of the ceilings of compute and of memory that a kernel reached; None where its work, its bytes or the
    ceilings are not known.
    """

    compute: float | None = None
    memory: float | None = None

    @property
    def bound(self) -> Literal["compute", "memory", "neither", ""]:
        """What limits the kernel, ``""`` where nothing is known.

        >>> Reached(0.02, 0.75).bound, Reached(0.01, 0.03).bound, Reached(0.01, 1.3).bound, Reached(0.7, 1.3).bound
        ('memory', 'neither', 'neither', 'compute')
        """
        compute, memory = round(self.compute or 0.0, 2), round(self.memory or 0.0, 2)  # as they are told
        if self.compute is None and self.memory is None:
            return ""
        if compute >= BOUND and (compute >= memory or memory > 1):
            return "compute"
        return "memory" if BOUND <= memory <= 1 else "neither"

    @property
    def words(self) -> str:
        """The verdict with its figures, parts of the ceilings.

        >>> Reached(0.02, 0.75).words, Reached(0.01, 0.03).words
        ('memory, 75 %', 'neither (memory 3 %, compute 1 %)')
        """
        if not self.bound:
            return ""
        if self.bound != "neither":
            return f"{self.bound}, {_percent(self.compute if self.bound == 'compute' else self.memory)}"
        parts = (("memory", self.memory), ("compute", self.compute))
        told = ", ".join(f"{name} {_percent(part)}" for name, part in parts if part is not None)
        return f"neither{', in cache' if (self.memory or 0.0) > 1 else ''} ({told})"


@dataclass(frozen=True, slots=True)
class HotKernel:
    """One kernel in one call. ``flops`` and ``bytes`` are those of one run (our count; None where nothing is known),
    ``flop_rate`` and ``byte_rate`` the same per second of its measured time, and ``reached`` says what that is of what
    the device can do.
    """

    call: KernelCall
    flops: float | None
    bytes: int | None
    flop_rate: float | None
    byte_rate: float | None
    reached: Reached


def hottest(
    device: DeviceCall, compiled: Compiled | None, flops: Mapping[str, float], ceilings: Ceilings | None
) -> tuple[HotKernel, ...]:
    """The kernels that a device ran, the one with most time first; ``flops`` is what :func:`kernel_flops` counts.

    Without ceilings there are no bounds.
    """
    kernels = {kernel.name: kernel for kernel in compiled.kernels} if compiled is not None else {}
    return tuple(_hot(each, kernels.get(each.kernel), flops.get(each.kernel), ceilings) for each in device.kernels)


def _hot(call: KernelCall, kernel: Kernel | None, flops: float | None, ceilings: Ceilings | None) -> HotKernel:
    if kernel is None or kernel.kind == "call":
        return HotKernel(call, None, None, None, None, Reached())
    moved = kernel.bytes_read + kernel.bytes_written
    run = call.seconds / call.runs if call.runs else 0.0
    if run <= 0:
        return HotKernel(call, flops, moved, None, None, Reached())
    rates = (flops / run if flops is not None else None), moved / run
    return HotKernel(call, flops, moved, *rates, reached(flops, moved, run, ceilings))


def reached(flops: float | None, moved: int, seconds: float, ceilings: Ceilings | None) -> Reached:
    """Which parts of the ceilings a kernel of so many operations and bytes reached in its time.

    >>> ceilings = Ceilings(1, "f", 0.0, "cpu:0", flops=100e9, bytes_per_second=50e9, source="measured here")
    >>> reached(0.0, 1_000_000, 40e-6, ceilings)
    Reached(compute=0.0, memory=0.5)
    """
    if ceilings is None or seconds <= 0:
        return Reached()
    compute = flops / ceilings.flops / seconds if flops is not None else None
    return Reached(compute, moved / ceilings.bytes_per_second / seconds)


def _percent(part: float | None) -> str:
    return "< 1 %" if part and part < 0.005 else f"{100 * (part or 0.0):.0f} %"


def kernel_flops(kernels: Sequence[Kernel], jaxpr: Jaxpr, devices: int = 1) -> dict[str, float]:
    """Floating-point operations of one run of each kernel: our count of its equations.

    Those of an equation in several kernels are split by the bytes that these read: the second half of a reduction reads
    little, and adds up little. Of repeats that were compiled once, as a loop, a run computes one.

    Nothing of a kernel without equations, and nothing where equations are known by their names alone. One that only
    moves an operand into place (a transpose before a product) computes nothing of the equation that it works for.
    Nothing where several ``devices`` share the program: equations speak of whole arrays, kernels have parts.
    """
    if jaxpr.by_names or devices > 1:
        return {}
    equations: dict[EquationPath, Equation] = {each.path: each for each in jaxpr.walk()}
    leaves = {path for path, each in equations.items() if not each.bodies}
    working = [kernel for kernel in kernels if kernel.kind != "call" and kernel.equations]
    computing = [kernel for kernel in working if kernel.opcode not in _MOVES]
    read: Counter[EquationPath] = Counter()
    for kernel in computing:
        read.update(dict.fromkeys(kernel.equations, kernel.bytes_read + 1))
    found = dict.fromkeys((kernel.name for kernel in working), 0.0)
    for kernel in computing:
        counted = (equations[path].flops / read[path] for path in set(kernel.equations) & leaves)
        found[kernel.name] = (kernel.bytes_read + 1) * sum(counted) / kernel.repeats
    return found
