"""Compilation of one call for growing numbers of devices that are not present, side by side."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, overload

from ... import records
from ...analysis.costs.estimates import runs_of
from ...analysis.costs.exchange import exchanged
from ...readers.format_error import FormatError
from ...readers.hlo.text import read_module
from ...starting import engine
from ...xla.targets import CompilerInput, Target, TargetCompileError, Watch, compile_input, find_target, plugin_of
from ..jobs import Job
from ..producers import Asked, Subject
from ..program import Program, QuestionError
from ..result import Inspection
from .all_finished import all_finished
from .answered import answered
from .scaling_text import scaling_text

#: The default targets: one generation of TPUs, from one host to 256 chips.
USUAL = ("tpu:v5e:2x2", "tpu:v5e:4x4", "tpu:v5e:8x8", "tpu:v5e:16x16")
_OUR_COUNT = "our count: what each device has to send at the least, over all its links at their peak"


class _Part(NamedTuple):
    """Target before compilation: its compiler input, or the error in its entry."""

    point: records.ScaledTo
    target: Target
    given: CompilerInput | None
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
    background: Literal[False] = False,
) -> Inspection: ...
def scaling(
    fun: Subject,
    /,
    *args: Any,
    targets: Sequence[str] = USUAL,
    mesh: Mapping[str, int | None] | None = None,
    specs: Any = None,
    growing: Sequence[str] = (),
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
    chosen = list({item.name: item for item in map(find_target, targets)}.values())
    if not chosen:
        raise ValueError("targets names none. Example: targets=['tpu:v5e:2x2', 'tpu:v5e:4x4']")
    for item in chosen:
        if item.platform != "cpu":
            plugin_of(item)
    if isinstance(fun, Program):
        raise QuestionError("scaling traces a function for each number of devices, and a program is traced already")
    asked = fun if isinstance(fun, Asked) else Asked(fun, args, {})
    plan = engine().plan(asked, mesh or {"data": None}, specs, tuple(growing))
    began = time.time()
    parts = [_part(plan, item) for item in chosen]
    traced = next((item.traced for item in parts if item.traced is not None), None)
    if traced is None:
        raise ValueError("; ".join(f"{item.target.name}: {item.point.error}" for item in parts))

    def answer(watch: Watch | None) -> Inspection:
        results = all_finished([functools.partial(_point, part, traced.program) for part in parts], watch)
        points = tuple(point for point, _ in results)
        scaled = records.Scaled(traced.program, traced.function, began, points, tuple(growing))
        compiled = [compiled_record for _, compiled_record in results if compiled_record is not None]
        return Inspection("scaling", (traced, *compiled, scaled), scaling_text(scaled))

    return answered(answer, background)


def _part(plan: Any, target: Target) -> _Part:
    """Return the compiler input of a target; a mesh or a shape that does not fit is its entry's error."""
    point = records.ScaledTo(target.name, target.devices, "")
    try:
        sizes = plan.sizes(target.devices)
        point = dataclasses.replace(point, mesh=", ".join(f"{name}={size}" for name, size in sizes.items()))
        kind = target.chip.name if target.chip is not None else "cpu"
        program = plan.program(target.devices, target.platform, kind)
        return _Part(point, target, program.input_for(target), program.record)
    except (ValueError, TargetCompileError) as error:
        if isinstance(error, QuestionError):
            raise
        return _Part(dataclasses.replace(point, error=str(error)), target, None, None)


def _point(part: _Part, number: int, watch: Watch) -> tuple[records.ScaledTo, records.Compiled | None]:
    if part.given is None:
        return part.point, None
    try:
        compiled = compile_input(part.given._replace(number=number), watch)
    except TargetCompileError as error:
        return dataclasses.replace(part.point, error=str(error)), None
    return _described(part.point, part.target, compiled), compiled


def _described(point: records.ScaledTo, target: Target, compiled: records.Compiled) -> records.ScaledTo:
    """Return a target's entry with the estimates from its compiled program."""
    try:
        runs = runs_of(read_module(compiled.hlo))
    except FormatError as error:
        return dataclasses.replace(point, seconds=compiled.seconds, error=str(error))
    traffic = exchanged(compiled.kernels, runs)
    communication, source = _communicating(target, compiled, traffic)
    no_estimate = "nobody estimates it: the compiler says nothing of this program"
    return dataclasses.replace(
        point,
        computing=compiled.estimated_seconds,
        computing_by=compiled.estimated_by or no_estimate,
        communicating=communication,
        communicating_by=source,
        exchanged=traffic,
        flops=compiled.flops,
        memory=compiled.memory.peak if compiled.memory is not None else None,
        seconds=compiled.seconds,
    )


def _communicating(
    target: Target, compiled: records.Compiled, traffic: Sequence[records.Exchanged]
) -> tuple[float | None, str]:
    """Return the minimum seconds of a run's collectives with the source, or None with the reason."""
    if any(item.collective is not None and not item.collective.devices for item in compiled.kernels):
        return None, "nobody estimates it: between how many devices a collective is could not be read"
    chip = target.chip
    if chip is None or chip.links is None:
        return None, f"nobody estimates it: how fast the links of {target.name} are is not known here"
    if chip.linked is not None and target.devices > chip.linked:
        return None, f"nobody estimates it: links join at most {chip.linked} of them, the rest is a network's affair"
    cores = max(1, target.devices // max(1, _chips(target)))
    return sum(item.sent_bytes for item in traffic) * cores / chip.links.value, _OUR_COUNT


def _chips(target: Target) -> int:
    if target.platform != "tpu":
        return target.devices
    chips = 1
    for size in target.description.partition(":")[2].split("x"):
        chips *= int(size)
    return chips
