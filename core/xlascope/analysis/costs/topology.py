"""Estimates of the time of collectives from the links within and between hosts.

The model is that of Hockney ("The communication challenge for MPP", 1994): a message of b bytes takes latency + b /
bandwidth. A collective runs level by level, as Cho et al. describe it ("BlueConnect", 2019): within a process, between
the processes of a host, between hosts. Each level passes on only the part that the level below has left to a device, so
least crosses the slowest links, and the bytes of all levels together are the least that a device has to send
(:mod:`.exchange`). A level of n members takes at least log2(n) rounds in each direction (Chan et al., "Collective
communication: theory, practice, and experience", 2007).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...readers.hlo.text import Module
from ...records.compiled import Collective, Kernel
from .estimates import ChipPeaks, count_kernel_runs, count_kernel_work, estimate_kernel_seconds


@dataclass(frozen=True, slots=True)
class Link:
    """Link of a device: ``bandwidth`` in bytes per second that it can send, ``latency`` in seconds of a message.

    ``source`` says where the numbers are from: a document, or a measurement.

    >>> Link(12.5e9, 10e-6, "100 Gbit/s Ethernet, latency measured with ping")
    Link(bandwidth=12500000000.0, latency=1e-05, source='100 Gbit/s Ethernet, latency measured with ping')
    """

    bandwidth: float
    latency: float = 0.0
    source: str = ""


@dataclass(frozen=True, slots=True)
class Topology:
    """Hosts that a program is scaled over: their processes and devices, the links of a device, and their CPUs' rates.

    A host has ``processes_per_host`` processes of ``devices_per_process`` devices each; devices are numbered process by
    process and host by host. ``within`` links the devices of a process, ``processes`` those of different processes of a
    host, ``hosts`` those of different hosts; None is unknown. ``flops`` (floating-point operations per second) and
    ``bytes_per_second`` are those of the CPU of a host, which its CPU devices share; ``rates_source`` says where they
    are from. They are not needed for GPUs and TPUs. With ``cores`` of a host, links between more CPU devices than these
    are slower in proportion, since moving data takes processor time.

    >>> Topology(2, 4, within=Link(450e9), hosts=Link(50e9)).count_levels([0, 1, 2, 3, 8, 9])
    LevelSizes(within=2, processes=2, hosts=2)
    """

    devices_per_process: int = 1
    processes_per_host: int = 1
    within: Link | None = None
    processes: Link | None = None
    hosts: Link | None = None
    flops: float | None = None
    bytes_per_second: float | None = None
    rates_source: str = ""
    cores: int | None = None

    def __post_init__(self) -> None:
        for name in ("devices_per_process", "processes_per_host"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise ValueError(f"Topology: {name} is a number of at least 1, not {getattr(self, name)!r}")

    @property
    def devices_per_host(self) -> int:
        """Return the number of devices of a host."""
        return self.devices_per_process * self.processes_per_host

    def count_levels(self, devices: Sequence[int]) -> LevelSizes:
        """Return how many members a group of devices has at each level; they are given by their numbers."""
        by_process: dict[int, int] = {}
        for device in devices:
            process = device // self.devices_per_process
            by_process[process] = by_process.get(process, 0) + 1
        by_host: dict[int, int] = {}
        for process in by_process:
            host = process // self.processes_per_host
            by_host[host] = by_host.get(host, 0) + 1
        return LevelSizes(max(by_process.values()), max(by_host.values()), len(by_host))

    def count_sharing(self, devices: int) -> float:
        """Return how many devices of a host share a core, at least 1.0; ``devices`` is the number of all devices."""
        return 1.0 if self.cores is None else max(1.0, min(devices, self.devices_per_host) / self.cores)


class LevelSizes(NamedTuple):
    """Members of a group at each level: devices of a process, processes of a host, hosts."""

    within: int
    processes: int
    hosts: int


class UnknownLinkError(ValueError):
    """Error for a collective that crosses a link of which nothing is known; its text says which."""


_LEVEL_NAMES = ("the devices of a process", "the processes of a host", "hosts")


def estimate_collectives(kernels: Iterable[Kernel], runs: Mapping[str, int], topology: Topology, devices: int) -> float:
    """Return the estimated seconds of the collectives of one run of a program, one after the other.

    ``runs`` gives the number of runs of each kernel, ``devices`` is the number of devices of the program. Raises
    UnknownLinkError where a link is not known.
    """
    sharing = topology.count_sharing(devices)
    return sharing * sum(
        estimate_collective(kernel.collective, topology, devices) * runs.get(kernel.name, 1)
        for kernel in kernels
        if kernel.collective is not None
    )


def estimate_collective(collective: Collective, topology: Topology, devices: int) -> float:
    """Return the estimated seconds of one collective: the longest of its groups.

    >>> links = Topology(2, 1, within=Link(100.0, 0.5), hosts=Link(10.0, 1.0))
    >>> estimate_collective(Collective("all-reduce", 4, 100, 100, ((0, 1, 2, 3),)), links, 4)
    9.0
    """
    if not collective.groups and collective.devices != devices:
        raise UnknownLinkError("between which devices a collective is could not be read")
    groups = collective.groups or (tuple(range(devices)),)
    return max(_estimate_group(collective, topology.count_levels(group), topology) for group in groups if group)


def _estimate_group(collective: Collective, sizes: LevelSizes, topology: Topology) -> float:
    if collective.kind in ("collective-permute", "collective-broadcast"):
        highest = max((i for i, size in enumerate(sizes) if size > 1), default=None)
        if highest is None:
            return 0.0
        link = _require_link(topology, highest)
        return link.latency + _sent_at_once(collective) / link.bandwidth
    seconds, remaining = 0.0, 1.0
    for i, size in enumerate(sizes):
        if size > 1:
            link = _require_link(topology, i)
            fraction, directions = (size - 1) / size, 2 if collective.kind == "all-reduce" else 1
            data = _divided_bytes(collective, sizes, i) * remaining
            seconds += directions * (math.ceil(math.log2(size)) * link.latency + fraction * data / link.bandwidth)
            if collective.kind not in ("all-to-all", "ragged-all-to-all"):
                remaining /= size
    return seconds


def _require_link(topology: Topology, level: int) -> Link:
    link = (topology.within, topology.processes, topology.hosts)[level]
    if link is None:
        raise UnknownLinkError(f"how fast the links between {_LEVEL_NAMES[level]} are is not known here")
    return link


def _sent_at_once(collective: Collective) -> float:
    if collective.kind == "collective-broadcast":
        return collective.operand_bytes / max(1, collective.devices)
    return float(collective.operand_bytes)


def _divided_bytes(collective: Collective, sizes: LevelSizes, level: int) -> float:
    """Return the bytes that are divided among the members of a level, before the levels below have taken their part.

    What an all-to-all has for other hosts crosses their links alone, and so on.
    """
    if collective.kind == "all-gather":
        return float(collective.result_bytes)
    if collective.kind in ("all-to-all", "ragged-all-to-all"):
        return collective.operand_bytes / math.prod(sizes[level + 1 :])
    return float(collective.operand_bytes)


def estimate_cpu_seconds(module: Module, kernels: Sequence[Kernel], topology: Topology, devices: int) -> float | None:
    """Return the roofline estimate of the kernels of one run on the CPUs of hosts, None where their rates are unknown.

    All devices of a host compute at the same time and share its rates; ``devices`` is the number of all. ``module`` is
    the optimized HLO of one device.
    """
    if topology.flops is None or topology.bytes_per_second is None:
        return None
    sharing = min(devices, topology.devices_per_host)
    peaks = ChipPeaks(topology.bytes_per_second / sharing, {}, topology.flops / sharing)
    work, runs = count_kernel_work(module), count_kernel_runs(module)
    control_flow = ("while", "call", "conditional")  # the kernels that they run are estimated separately
    return sum(
        estimate_kernel_seconds(kernel, work[kernel.name], peaks) * runs[kernel.name]
        for kernel in kernels
        if kernel.opcode not in control_flow and kernel.collective is None and kernel.name in work
    )
