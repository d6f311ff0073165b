"""From a program of the engine to what a target's compiler makes of it, as a record."""

from __future__ import annotations

import dataclasses
import io
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ... import records
from ...analysis.costs.estimates import Peaks, kernel_seconds, runs_of, work_of
from ...ir.jaxpr import ClosedJaxpr
from ...readers.dumps.launches import read_launches
from ...readers.format_error import FormatError
from ...readers.hlo.cycles import estimated_cycles
from ...readers.hlo.kernels import kernels_of
from ...readers.hlo.provenance import provenance
from ...readers.hlo.text import Module, read_module
from ..compile import module_name
from ..compiled_module import unnamed
from ..lowering import lower
from .figures import Chip
from .known import Target
from .process import Built, TargetCompileError, Watch, build

#: Whose estimate ``Compiled.estimated_seconds`` is.
OUR_COUNT = "our count: bytes and operations at the chip's peaks, launches apart"
THE_COMPILER = "the TPU compiler's, at the chip's peaks, each loop once"


class NoLoweringError(TargetCompileError):
    """An operation of the program does not exist on the target."""


class Prepared(NamedTuple):
    """A program lowered for a target: StableHLO as bytes, and what its record says of it."""

    target: Target
    module: bytes
    number: int
    name: str
    overrides: tuple[tuple[str, Any], ...]


def prepare(
    program: ClosedJaxpr,
    target: Target,
    number: int,
    *,
    donated: Sequence[bool] = (),
    keep_unused: bool = False,
    overrides: Sequence[tuple[str, Any]] = (),
) -> Prepared:
    """Lower a program with the target's rules; raises :class:`NoLoweringError` naming what it does not have.

    What a program asks of Python (``pure_callback``, ``debug.print``) is done by the process that runs it: there is no
    such process.
    """
    name = program.name or "main"
    try:
        lowered = lower(program, module_name(name), donated=donated, keep_unused=keep_unused, platform=target.platform)
    except NotImplementedError as error:
        raise NoLoweringError(f"{name} cannot be compiled for {target.name}: {error}") from error
    if lowered.callbacks:
        raise NoLoweringError(
            f"{name} cannot be compiled for {target.name}: it calls Python functions while it runs (a callback, "
            "debug.print), which needs a device that is here. Leave them out of what you ask about"
        )
    module = io.BytesIO()
    lowered.module.operation.write_bytecode(module)
    return Prepared(target, module.getvalue(), number, name, tuple(overrides))


def compile_prepared(prepared: Prepared, watch: Watch | None = None) -> records.Compiled:
    """Compile it in a process of its own; raises what :func:`~xlascope.xla.targets.process.build` raises."""
    began = time.time()
    with tempfile.TemporaryDirectory(prefix="xlascope-") as folder:
        dump = Path(folder) if prepared.target.platform == "cuda" else None
        built = build(prepared.target, prepared.module, overrides=prepared.overrides, dump=dump, watch=watch)
        steps = "\n".join(path.read_text(errors="replace") for path in _steps(dump))
    return describe(prepared, built, steps, began)


def describe(prepared: Prepared, built: Built, steps: str, began: float) -> records.Compiled:
    """What a target's compiler made, as a record; ``steps`` is a GPU's list of them, for how kernels are launched."""
    target = prepared.target
    module = read_module(built.hlo)
    kernels = kernels_of(module, provenance(module))
    total, by = built.cost.get("optimal_seconds", -1.0), THE_COMPILER
    notes = unnamed(module)
    try:
        if target.platform == "tpu":
            kernels = _with_cycles(module, kernels)
        elif target.chip is not None:
            by = OUR_COUNT
            kernels, total = _with_roofline(module, kernels, target.chip)
            kernels = _with_launches(steps, kernels)
    except FormatError as error:
        notes = (*notes, f"a column is missing: {error}")
    counted = built.cost or built.analysis
    return records.Compiled(
        program=prepared.number,
        function=prepared.name,
        time=began,
        seconds=built.seconds,
        cache="miss",
        platform=target.platform,
        devices=(target.chip.name if target.chip is not None else target.name,),
        module=built.module,
        kernels=kernels,
        hlo=built.hlo,
        flops=counted.get("flops"),
        bytes_accessed=counted.get("bytes accessed"),
        memory=built.memory,
        target=target.name,
        estimated_seconds=total if total > 0 else None,  # a TPU's compiler says -3 s of what it cannot tell
        estimated_by=by if total > 0 else "",
        notes=notes,
    )


def _with_cycles(module: Module, kernels: tuple[records.Kernel, ...]) -> tuple[records.Kernel, ...]:
    cycles = estimated_cycles(module)
    return tuple(dataclasses.replace(each, estimated_cycles=cycles.get(each.name)) for each in kernels)


def _with_launches(steps: str, kernels: tuple[records.Kernel, ...]) -> tuple[records.Kernel, ...]:
    if kernels and not steps:
        raise FormatError("XLA's list of steps", "expected a dump named *.thunk_sequence.txt, found none")
    launches = read_launches(steps, (each.name for each in kernels))
    return tuple(dataclasses.replace(each, launch=str(launches.get(each.name, ""))) for each in kernels)


def _with_roofline(
    module: Module, kernels: tuple[records.Kernel, ...], chip: Chip
) -> tuple[tuple[records.Kernel, ...], float]:
    """The kernels with our estimate of each, and the sum over all that run."""
    work, runs = work_of(module), runs_of(module)
    products = {kind: figure.value for kind, figure in chip.peaks.items()}
    vector = chip.vector.value if chip.vector is not None else max(products.values())
    peaks = Peaks(chip.bandwidth.value, products, vector)
    holds = ("while", "call", "conditional")  # what they run is estimated by itself
    known = tuple(
        each
        if each.opcode in holds
        else dataclasses.replace(each, estimated_seconds=kernel_seconds(each, work[each.name], peaks))
        for each in kernels
    )
    return known, sum((each.estimated_seconds or 0.0) * runs[each.name] for each in known)


def _steps(dump: Path | None) -> list[Path]:
    return sorted(dump.glob("*.thunk_sequence.txt")) if dump is not None else []
