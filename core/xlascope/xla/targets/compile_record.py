"""Record of a program that was compiled for a target."""

from __future__ import annotations

import dataclasses
import math
import tempfile
import time
from pathlib import Path

from ... import records
from ...analysis.costs.estimates import ChipPeaks, count_kernel_runs, count_kernel_work, estimate_kernel_seconds
from ...readers.dumps.launches import read_launches
from ...readers.format_error import FormatError
from ...readers.hlo.cycles import read_estimated_cycles
from ...readers.hlo.kernels import iter_executed
from ...readers.hlo.text import Module, read_module
from ..compilation.compiled_module import read_compiled
from ..system.memory_record import with_buffers
from .chip_specs import ChipSpecs
from .compiler_input import CompilerInput
from .compiler_process import CompileProgress, TargetCompilation, compile_for_target

#: The sources of ``Compiled.estimated_seconds``.
ROOFLINE_SOURCE = "roofline estimate: bytes and operations at the chip's peaks, launches apart"
COMPILER_SOURCE = "the TPU compiler's, at the chip's peaks, each loop once"
_NO_WORK_MARK = 'custom_call_target="ConcatBitcast"'


def compile_input(program: CompilerInput, watch: CompileProgress | None = None) -> records.Compiled:
    """Compile a program for its target in a separate process and return the record of it.

    ``watch`` is told of the progress. Raises what :func:`~xlascope.xla.targets.compiler_process.compile_for_target`
    raises.
    """
    began = time.time()
    with tempfile.TemporaryDirectory(prefix="xlascope-") as folder:
        dump = Path(folder) if program.target.platform == "cuda" else None
        result = compile_for_target(
            program.target,
            program.module,
            overrides=program.overrides,
            dump=dump,
            watch=watch,
            callbacks=program.callbacks,
            plan=program.target.platform == "cpu",  # other hardware reports its memory statistics itself
        )
        steps = "\n".join(path.read_text(errors="replace") for path in _thunk_sequence_files(dump))
    return build_record(program, result, steps, began)


def build_record(program: CompilerInput, result: TargetCompilation, steps: str, began: float) -> records.Compiled:
    """Build the record of a program that was compiled for a target.

    ``result`` is what the compiler gave. ``steps`` is the text of a GPU's thunk sequence, which says how kernels are
    launched (``""`` for other hardware), and ``began`` is the start in seconds since the epoch.
    """
    target = program.target
    module = read_module(result.hlo)
    compiled_module = read_compiled(result.hlo, result.module_proto, result.buffer_assignment)
    kernels, notes = compiled_module.kernels, compiled_module.notes
    total, estimate_source = _compiler_estimate(result, module), COMPILER_SOURCE
    try:
        if target.platform == "tpu":
            kernels = _add_cycles(module, kernels)
        elif target.chip is not None:
            estimate_source = ROOFLINE_SOURCE
            kernels, total = _add_roofline(module, kernels, target.chip)
            kernels = _add_launches(steps, kernels)
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
        memory=None
        if result.memory is None
        else with_buffers(result.memory, compiled_module.buffers, program.kept_operands),
        target=target.name,
        estimated_seconds=total if total > 0 else None,
        estimated_by=estimate_source if total > 0 else "",
        notes=notes,
    )


def _compiler_estimate(result: TargetCompilation, module: Module) -> float:
    """Return the compiler's estimate of the seconds of one run, -1.0 where it has none.

    XLA counts an operation that it cannot estimate, a ``custom-call``, as -1 s. On a TPU those that only combine
    several pieces of memory do no work: where all custom calls are of that kind, the remaining sum is the estimate.
    """
    estimate = result.cost.get("optimal_seconds", -1.0)
    calls = [call for _, call in iter_executed(module) if call.opcode == "custom-call"]
    if estimate < 0 and len(calls) == math.ceil(-estimate) and all(_NO_WORK_MARK in call.attributes for call in calls):
        return estimate + len(calls)
    return estimate


def _add_cycles(module: Module, kernels: tuple[records.Kernel, ...]) -> tuple[records.Kernel, ...]:
    cycles = read_estimated_cycles(module)
    return tuple(dataclasses.replace(kernel, estimated_cycles=cycles.get(kernel.name)) for kernel in kernels)


def _add_launches(steps: str, kernels: tuple[records.Kernel, ...]) -> tuple[records.Kernel, ...]:
    if kernels and not steps:
        raise FormatError("XLA's list of steps", "expected a dump named *.thunk_sequence.txt, found none")
    launches = read_launches(steps, (kernel.name for kernel in kernels))
    return tuple(dataclasses.replace(kernel, launch=str(launches.get(kernel.name, ""))) for kernel in kernels)


def _add_roofline(
    module: Module, kernels: tuple[records.Kernel, ...], chip: ChipSpecs
) -> tuple[tuple[records.Kernel, ...], float]:
    """Return the kernels with a roofline estimate each, and the sum of the estimates over all runs, in seconds.

    ``module`` is the optimized HLO with the ``kernels``; ``chip`` has the peak rates. Loops, calls and branches get no
    estimate, as the kernels that they run have their own.
    """
    work, runs = count_kernel_work(module), count_kernel_runs(module)
    products = {kind: figure.value for kind, figure in chip.peaks.items()}
    vector = chip.vector.value if chip.vector is not None else max(products.values())
    peaks = ChipPeaks(chip.bandwidth.value, products, vector)
    control_flow = ("while", "call", "conditional")  # the kernels that they run are estimated separately
    estimated = tuple(
        kernel
        if kernel.opcode in control_flow
        else dataclasses.replace(kernel, estimated_seconds=estimate_kernel_seconds(kernel, work[kernel.name], peaks))
        for kernel in kernels
    )
    return estimated, sum((kernel.estimated_seconds or 0.0) * runs[kernel.name] for kernel in estimated)


def _thunk_sequence_files(dump: Path | None) -> list[Path]:
    return sorted(dump.glob("*.thunk_sequence.txt")) if dump is not None else []
