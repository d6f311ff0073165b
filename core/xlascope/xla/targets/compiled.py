"""What a target's compiler makes of a program, as a record."""

from __future__ import annotations

import dataclasses
import math
import tempfile
import time
from pathlib import Path

from ... import records
from ...analysis.costs.estimates import Peaks, kernel_seconds, runs_of, work_of
from ...readers.dumps.launches import read_launches
from ...readers.format_error import FormatError
from ...readers.hlo.cycles import estimated_cycles
from ...readers.hlo.kernels import running
from ...readers.hlo.text import Module, read_module
from ..compilation.compiled_module import read_compiled
from ..system.memory_use import memory_use
from .figures import Chip
from .inputs import CompilerInput
from .process import Built, Watch, build

#: Whose estimate ``Compiled.estimated_seconds`` is.
OUR_COUNT = "our count: bytes and operations at the chip's peaks, launches apart"
THE_COMPILER = "the TPU compiler's, at the chip's peaks, each loop once"
_NO_WORK = 'custom_call_target="ConcatBitcast"'


def compile_input(given: CompilerInput, watch: Watch | None = None) -> records.Compiled:
    """Compile it in a process of its own; raises what :func:`~xlascope.xla.targets.process.build` raises."""
    began = time.time()
    with tempfile.TemporaryDirectory(prefix="xlascope-") as folder:
        dump = Path(folder) if given.target.platform == "cuda" else None
        built = build(
            given.target,
            given.module,
            overrides=given.overrides,
            dump=dump,
            watch=watch,
            callbacks=given.callbacks,
            plan=given.target.platform == "cpu",  # of other hardware the numbers are told
        )
        steps = "\n".join(path.read_text(errors="replace") for path in _steps(dump))
    return describe(given, built, steps, began)


def describe(given: CompilerInput, built: Built, steps: str, began: float) -> records.Compiled:
    """What a target's compiler made, as a record; ``steps`` is a GPU's list of them, for how kernels are launched."""
    target = given.target
    module = read_module(built.hlo)
    read = read_compiled(built.hlo, built.proto, built.plan)
    kernels, notes = read.kernels, read.notes
    total, by = _compilers_estimate(built, module), THE_COMPILER
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
        program=given.number,
        function=given.name,
        time=began,
        seconds=built.seconds,
        cache="miss",
        platform=target.platform,
        devices=(target.chip.name if target.chip is not None else "cpu:0",),
        module=built.module,
        kernels=kernels,
        hlo=built.hlo,
        flops=counted.get("flops"),
        bytes_accessed=counted.get("bytes accessed"),
        memory=None if built.memory is None else memory_use(built.memory, read.buffers, given.kept),
        target=target.name,
        estimated_seconds=total if total > 0 else None,
        estimated_by=by if total > 0 else "",
        notes=notes,
    )


def _compilers_estimate(built: Built, module: Module) -> float:
    """The compiler's estimate of one run, -1.0 where it has none.

    XLA counts an operation of which it knows nothing, a ``custom-call``, as -1 s. Those of a TPU that only look at
    several pieces of memory as one do nothing: where they are all there are, the rest is the estimate.
    """
    told = built.cost.get("optimal_seconds", -1.0)
    unknown = [each for _, each in running(module) if each.opcode == "custom-call"]
    if told < 0 and len(unknown) == math.ceil(-told) and all(_NO_WORK in each.attributes for each in unknown):
        return told + len(unknown)
    return told


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
