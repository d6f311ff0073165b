"""Compilation of one call for growing numbers of devices that are not present, side by side."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, overload

from ... import records
from ...analysis.costs.estimates import count_kernel_runs
from ...analysis.costs.exchange import summarize_collectives
from ...analysis.costs.topology import Link, Topology, UnknownLinkError, estimate_collectives, estimate_cpu_seconds
from ...analysis.formatting import rate, seconds
from ...bootstrap import get_engine
from ...readers.format_error import FormatError
from ...readers.hlo.text import read_module
from ...xla.targets import (
    CompileProgress,
    CompilerInput,
    Target,
    TargetCompileError,
    compile_input,
    find_plugin,
    find_target,
)
from ..jobs import Job
from ..producers import Query, Subject
from ..program import Program, QuestionError
from ..result import Inspection
from .background import run_or_start_job
from .parallel_compilation import run_all
from .scaling_text import scaling_text

#: The default targets: one generation of TPUs, from one host to 256 chips.
DEFAULT_TARGETS = ("tpu:v5e:2x2", "tpu:v5e:4x4", "tpu:v5e:8x8", "tpu:v5e:16x16")
_ESTIMATE_SOURCE = "roofline estimate: what each device has to send at the least, over all its links at their peak"
_TOPOLOGY_SOURCE = "estimate by links"
_CPU_SOURCE = "roofline estimate: what the devices of a host compute and move, at the rates of its CPU"


class _TargetCompilation(NamedTuple):
    """One target of :func:`scaling` before its compilation.

    ``point`` is its entry in the answer. If the call cannot be lowered for the target, the entry holds the error, and
    ``compiler_input`` and ``traced`` are None.
    """

    point: records.ScaledTo
    target: Target
    compiler_input: CompilerInput | None
    traced: records.Traced | None


@overload
def scaling(
    fun: Subject,
    /,
    *args: Any,
    targets: Sequence[str] = ...,
    mesh: Mapping[str, int | None] | None = ...,
    specs: Any = ...,
    growing: Sequence[str] = ...,
    topology: Topology | None = ...,
    background: Literal[True],
) -> Job[Inspection]: ...
@overload
def scaling(
    fun: Subject,
    /,
    *args: Any,
    targets: Sequence[str] = ...,
    mesh: Mapping[str, int | None] | None = ...,
    specs: Any = ...,
    growing: Sequence[str] = ...,
    topology: Topology | None = ...,
    background: Literal[False] = False,
) -> Inspection: ...
def scaling(
    fun: Subject,
    /,
    *args: Any,
    targets: Sequence[str] = DEFAULT_TARGETS,
    mesh: Mapping[str, int | None] | None = None,
    specs: Any = None,
    growing: Sequence[str] = (),
    topology: Topology | None = None,
    background: bool = False,
) -> Inspection | Job[Inspection]:
    """Compile ``fun(*args)`` for growing numbers of devices: collectives, and a lower bound of a run's time.

    Each of ``targets`` (``tpu:v5e:4x4``, ``gpu:h100:8``, ``cpu:4``) is compiled for by its own compiler, on a
    mesh with the axes of ``mesh``; the axis whose size is None has the remaining devices of the target (the
    default is ``{"data": None}``). ``specs`` are the PartitionSpecs of the arguments, a prefix of their tree;
    without it the arguments keep their shardings. Arguments may be ShapeDtypeStructs: nothing is allocated, and
    nothing is run. Axes of arguments that are sharded along a mesh axis in ``growing`` have their size on each
    device, so that the whole array grows with the mesh.

    The mesh is the current one while ``fun`` is traced: ``shard_map`` without a mesh and PartitionSpecs within it
    use the axes of ``mesh``. The answer has one ``Scaled`` record, and a ``Compiled`` for each target. A target
    that is refused, by xlascope or by its compiler, is listed with the reason. Times are estimates with their
    source; a step is computation followed by communication, without overlap.

    ``topology`` says how devices are distributed among processes and hosts, and how fast the links at each level and
    the CPUs of hosts are (:class:`Topology`). Without it, GPUs are in hosts of eight with NVLink and one network
    adapter each, TPUs are one slice, and of CPUs nothing is estimated.

    Raises ``UnknownTargetError``, ``MissingTargetError`` (which names the extra to install), ValueError for an
    invalid mesh or specs, and what tracing raises.

    >>> import numpy as np, xlascope as xs, xlascope.numpy as jnp
    >>> from xlascope.sharding import PartitionSpec as P
    >>> x = xs.ShapeDtypeStruct((8, 4), np.float32)
    >>> answer = scaling(lambda x: jnp.sin(x).sum(), x, specs=P("data"), targets=["cpu:2", "cpu:4"])
    >>> [(point.mesh, point.exchanged[0].kind, point.exchanged[0].sent_bytes) for point in answer.records[-1].points]
    [('data=2', 'all-reduce', 4), ('data=4', 'all-reduce', 6)]
    """
    if isinstance(targets, str):
        raise TypeError(f"targets is a list of names, not the text {targets!r}. Example: targets=['tpu:v5e:4x4']")
    resolved_targets = list({item.name: item for item in map(find_target, targets)}.values())
    if not resolved_targets:
        raise ValueError("targets names none. Example: targets=['tpu:v5e:2x2', 'tpu:v5e:4x4']")
    for item in resolved_targets:
        if item.platform != "cpu":
            find_plugin(item)
    if isinstance(fun, Program):
        raise QuestionError("scaling traces a function for each number of devices, and a program is traced already")
    query = fun if isinstance(fun, Query) else Query(fun, args, {})
    plan = get_engine().plan(query, mesh or {"data": None}, specs, tuple(growing))
    began = time.time()
    parts = [_prepare_target(plan, item) for item in resolved_targets]
    traced = next((item.traced for item in parts if item.traced is not None), None)
    if traced is None:
        raise ValueError("; ".join(f"{item.target.name}: {item.point.error}" for item in parts))

    def answer(watch: CompileProgress | None) -> Inspection:
        results = run_all([functools.partial(_compile_target, part, topology, traced.program) for part in parts], watch)
        points = tuple(point for point, _ in results)
        scaled = records.Scaled(traced.program, traced.function, began, points, tuple(growing))
        compiled = [compiled_record for _, compiled_record in results if compiled_record is not None]
        return Inspection("scaling", (traced, *compiled, scaled), scaling_text(scaled))

    return run_or_start_job(answer, background)


def _prepare_target(plan: Any, target: Target) -> _TargetCompilation:
    """Lower a planned call for one target, without compiling it.

    ``plan`` is a :class:`~xlascope.inspect.engine.scaling_plan.ScalingPlan`. If the mesh or an argument's shape does
    not fit the target, the error is stored in the target's entry, not raised.
    """
    point = records.ScaledTo(target.name, target.devices, "")
    try:
        sizes = plan.sizes(target.devices)
        point = dataclasses.replace(point, mesh=", ".join(f"{name}={size}" for name, size in sizes.items()))
        kind = target.chip.name if target.chip is not None else "cpu"
        program = plan.program(target.devices, target.platform, kind)
        return _TargetCompilation(point, target, program.input_for(target), program.record)
    except (ValueError, TargetCompileError) as error:
        if isinstance(error, QuestionError):
            raise
        return _TargetCompilation(dataclasses.replace(point, error=str(error)), target, None, None)


def _compile_target(
    part: _TargetCompilation, topology: Topology | None, number: int, watch: CompileProgress
) -> tuple[records.ScaledTo, records.Compiled | None]:
    """Compile for one target and return its entry in the answer, and the record (None if the target is refused).

    ``number`` is the number of the program in the record, ``topology`` that of the hosts if the caller gave one.
    """
    if part.compiler_input is None:
        return part.point, None
    try:
        compiled = compile_input(part.compiler_input._replace(number=number), watch)
    except TargetCompileError as error:
        return dataclasses.replace(part.point, error=str(error)), None
    return _add_estimates(part.point, part.target, compiled, topology), compiled


def _add_estimates(
    point: records.ScaledTo, target: Target, compiled: records.Compiled, topology: Topology | None
) -> records.ScaledTo:
    """Return the entry ``point`` with the time, memory and communication estimated from the compiled program.

    If its HLO cannot be read, the entry holds the error instead. ``topology`` is that of the hosts, if one was given.
    """
    computing, computing_by = compiled.estimated_seconds, compiled.estimated_by
    try:
        module = read_module(compiled.hlo)
        runs = count_kernel_runs(module)
        if target.platform == "cpu" and topology is not None:
            computing = estimate_cpu_seconds(module, compiled.kernels, topology, target.devices)
            computing_by = "" if computing is None else _name_source(_CPU_SOURCE, topology.rates_source)
    except FormatError as error:
        return dataclasses.replace(point, seconds=compiled.seconds, error=str(error))
    traffic = summarize_collectives(compiled.kernels, runs)
    communication, source = _estimate_communication(target, compiled, traffic, runs, topology)
    no_estimate = "nobody estimates it: the compiler says nothing of this program"
    return dataclasses.replace(
        point,
        computing=computing,
        computing_by=computing_by or no_estimate,
        communicating=communication,
        communicating_by=source,
        exchanged=traffic,
        flops=compiled.flops,
        memory=compiled.memory.peak if compiled.memory is not None else None,
        seconds=compiled.seconds,
    )


def _name_source(source: str, origin: str) -> str:
    return f"{source} ({origin})" if origin else source


def _estimate_communication(
    target: Target,
    compiled: records.Compiled,
    traffic: Sequence[records.Exchanged],
    runs: Mapping[str, int],
    given_topology: Topology | None,
) -> tuple[float | None, str]:
    """Return the minimum seconds of a run's collectives and the source of that number, or None and the reason.

    ``traffic`` are the bytes that each device exchanges in one run, by kind of collective, and ``runs`` the runs of
    each kernel. ``given_topology`` is the caller's, None for the published one.
    """
    if any(item.collective is not None and not item.collective.devices for item in compiled.kernels):
        return None, "nobody estimates it: between how many devices a collective is could not be read"
    chip = target.chip
    topology = given_topology or _find_topology(target)
    if topology is not None:
        try:
            total = estimate_collectives(compiled.kernels, runs, topology, target.devices)
        except UnknownLinkError as error:
            return None, f"nobody estimates it: {error}"
        return total, _describe_topology(topology, target.devices)
    if chip is None or chip.links is None:
        return None, f"nobody estimates it: how fast the links of {target.name} are is not known here"
    cores = max(1, target.devices // max(1, _count_chips(target)))
    return sum(item.sent_bytes for item in traffic) * cores / chip.links.value, _ESTIMATE_SOURCE


def _find_topology(target: Target) -> Topology | None:
    """Return the hosts of chips whose links do not join all devices of a target; None where they join all."""
    chip = target.chip
    if chip is None or chip.links is None or chip.max_linked_chips is None or target.devices <= chip.max_linked_chips:
        return None
    within, network = Link(chip.links.value, 0.0, chip.links.source), None
    if chip.network is not None:
        latency = chip.network_latency
        sources = [chip.network.source, *([latency.source] if latency is not None else [])]
        network = Link(chip.network.value, 0.0 if latency is None else latency.value, "; ".join(sources))
    return Topology(chip.max_linked_chips, 1, within=within, hosts=network)


def _describe_topology(topology: Topology, devices: int) -> str:
    """Return the source of an estimate by the links of a topology, for a number of devices."""
    sizes = topology.count_levels(range(devices))
    levels = ("devices of a process", "processes of a host", "hosts")
    links = (topology.within, topology.processes, topology.hosts)
    texts = [
        f"{size} {level}: {rate(link.bandwidth, 'B')}, "
        f"{f'{seconds(link.latency)} latency' if link.latency else 'latency not counted'}"
        f"{f' ({link.source})' if link.source else ''}"
        for size, level, link in zip(sizes, levels, links, strict=True)
        if size > 1 and link is not None
    ]
    sharing = topology.count_sharing(devices)
    if sharing > 1:
        texts.append(f"times {sharing:.3g}: {sharing * (topology.cores or 1):g} devices share {topology.cores} cores")
    return f"{_TOPOLOGY_SOURCE}, level by level: {'; '.join(texts) or 'no link is crossed'}"


def _count_chips(target: Target) -> int:
    if target.platform != "tpu":
        return target.devices
    chips = 1
    for size in target.description.partition(":")[2].split("x"):
        chips *= int(size)
    return chips
