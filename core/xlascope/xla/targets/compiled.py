"""Record of a program that was compiled for a target."""

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

#: The sources of ``Compiled.estimated_seconds``.
OUR_COUNT = "our count: bytes and operations at the chip's peaks, launches apart"
THE_COMPILER = "the TPU compiler's, at the chip's peaks, each loop once"
_NO_WORK = 'custom_call_target="ConcatBitcast"'


def compile_input(program: CompilerInput, watch: Watch | None = None) -> records.Compiled:
    """Compile a program in a separate process and return its record.

    Raises what :func:`~xlascope.xla.targets.process.build` raises.
    """
    began = time.time()
    with tempfile.TemporaryDirectory(prefix="xlascope-") as folder:
        dump = Path(folder) if program.target.platform == "cuda" else None
        result = build(
            program.target,
            program.module,
            overrides=program.overrides,
            dump=dump,
            watch=watch,
            callbacks=program.callbacks,
            plan=program.target.platform == "cpu",  # other hardware reports its memory statistics itself
        )
        steps = "\n".join(path.read_text(errors="replace") for path in _steps(dump))
    return describe(program, result, steps, began)


def describe(program: CompilerInput, result: Built, steps: str, began: float) -> records.Compiled:
    """Build the record of a compilation; ``steps`` is a GPU's thunk sequence, which says how kernels are launched."""
    target = program.target
    module = read_module(result.hlo)
    compiled_module = read_compiled(result.hlo, result.proto, result.plan)
    kernels, notes = compiled_module.kernels, compiled_module.notes
    total, estimate_source = _compilers_estimate(result, module), THE_COMPILER
    try:
        if target.platform == "tpu":
            kernels = _with_cycles(module, kernels)
        elif target.chip is not None:
            estimate_source = OUR_COUNT
            kernels, total = _with_roofline(module, kernels, target.chip)
            kernels = _with_launches(steps, kernels)
    except FormatError as error:
        notes = (*notes, f"a column is missing: {error}")
    costs = result.cost or result.analysis
    return records.Compiled(
        program=program.number,
        function=program.name,
        time=began,
        seconds=result.seconds,
        cache="miss",
        platform=target.platform,
        devices=(target.chip.name if target.chip is not None else "cpu:0",),
        module=result.module,
        kernels=kernels,
        hlo=result.hlo,
        flops=costs.get("flops"),
        bytes_accessed=costs.get("bytes accessed"),
        memory=None if result.memory is None else memory_use(result.memory, compiled_module.buffers, program.kept),
        target=target.name,
        estimated_seconds=total if total > 0 else None,
        estimated_by=estimate_source if total > 0 else "",
        notes=notes,
    )


def _compilers_estimate(result: Built, module: Module) -> float:
    """Return the compiler's estimate of one run, -1.0 where it has none.

    XLA counts an operation that it cannot estimate, a ``custom-call``, as -1 s. On a TPU those that only combine
    several pieces of memory do no work: where all custom calls are of that kind, the remaining sum is the estimate.
    """
    estimate = result.cost.get("optimal_seconds", -1.0)
    calls = [call for _, call in running(module) if call.opcode == "custom-call"]
    if estimate < 0 and len(calls) == math.ceil(-estimate) and all(_NO_WORK in call.attributes for call in calls):
        return estimate + len(calls)
    return estimate


def _with_cycles(module: Module, kernels: tuple[records.Kernel, ...]) -> tuple[records.Kernel, ...]:
    cycles = estimated_cycles(module)
    return tuple(dataclasses.replace(kernel, estimated_cycles=cycles.get(kernel.name)) for kernel in kernels)


def _with_launches(steps: str, kernels: tuple[records.Kernel, ...]) -> tuple[records.Kernel, ...]:
    if kernels and not steps:
        raise FormatError("XLA's list of steps", "expected a dump named *.thunk_sequence.txt, found none")
    launches = read_launches(steps, (kernel.name for kernel in kernels))
    return tuple(dataclasses.replace(kernel, launch=str(launches.get(kernel.name, ""))) for kernel in kernels)


def _with_roofline(
    module: Module, kernels: tuple[records.Kernel, ...], chip: Chip
) -> tuple[tuple[records.Kernel, ...], float]:
    """Return the kernels with a roofline estimate each, and the sum over all that run."""
    work, runs = work_of(module), runs_of(module)
    products = {kind: figure.value for kind, figure in chip.peaks.items()}
    vector = chip.vector.value if chip.vector is not None else max(products.values())
    peaks = Peaks(chip.bandwidth.value, products, vector)
    control_flow = ("while", "call", "conditional")  # the kernels that they run are estimated separately
    estimated = tuple(
        kernel
        if kernel.opcode in control_flow
        else dataclasses.replace(kernel, estimated_seconds=kernel_seconds(kernel, work[kernel.name], peaks))
        for kernel in kernels
    )
    return estimated, sum((kernel.estimated_seconds or 0.0) * runs[kernel.name] for kernel in estimated)


def _steps(dump: Path | None) -> list[Path]:
    return sorted(dump.glob("*.thunk_sequence.txt")) if dump is not None else []
