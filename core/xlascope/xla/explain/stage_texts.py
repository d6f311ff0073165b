"""A program at one stage of its compilation, from StableHLO to machine code."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..targets import CompileProgress, CompilerInput
from .dump_session import DumpSession, compile_with_dumps

#: The stages in the order of compilation.
STAGES = ("stablehlo", "hlo", "optimized", "llvm", "ptx", "asm")
#: At most this much text is read from one file.
MAX_TEXT_BYTES = 32 * 2**20
#: Since jaxlib 0.11 the output of XLA's emitters is dumped only where it is requested by name.
_STAGE_OVERRIDES = {"llvm": [("xla_dump_emitter_re", "llvm")], "ptx": [("xla_dump_emitter_re", "ptx")]}
_BUDGET_SECONDS = 60.0


class UnknownStageError(ValueError):
    """Error for a stage that does not exist or that this back end does not give; the message lists those it has."""


class StageText(NamedTuple):
    """Text of a program at one stage of compilation: that of the kernel so named, or of the module if it is ``""``."""

    kernel: str
    text: str


class StageTexts(NamedTuple):
    """Texts of a program at one stage of compilation, and its optimized HLO, which says what each kernel contains.

    ``parts`` has one text for each kernel, or one for the module.
    """

    parts: list[StageText]
    optimized: str


def compile_stages(
    job: CompilerInput, stage: str, *, budget: float = _BUDGET_SECONDS, watch: CompileProgress | None = None
) -> StageTexts:
    """Compile a program and return it at stage ``hlo``, ``optimized``, ``llvm``, ``ptx`` or ``asm``.

    ``job`` is the program with its target, ``budget`` is in seconds, and ``watch`` is told of the progress. Code comes
    kernel by kernel. The CPU's compiler gives LLVM IR and object files, which the system's ``objdump`` turns into
    assembly; GPUs' give LLVM IR and PTX. Raises :class:`UnknownStageError` for what a target does not give,
    TimeoutError after the budget, and RuntimeError without ``objdump``.
    """
    check_stage(job.target.platform, stage)
    overrides = [("xla_dump_hlo_as_text", True), *_STAGE_OVERRIDES.get(stage, ())]
    with compile_with_dumps(job, budget, overrides=overrides, watch=watch) as session:
        if session.result is None:
            raise TimeoutError(f"the budget of {budget:g} s ended before the compiler did")
        optimized = session.result.hlo
        parts = [StageText("", optimized)] if stage == "optimized" else list(_READERS[stage](session))
        # The compiler's threads number the files as they finish; files without a kernel name come last.
        parts.sort(key=lambda part: (part.kernel.isdigit(), part.kernel))
    if not parts:
        raise UnknownStageError(f"{job.target.name} gave no {stage} for this program: it has no kernel of its own")
    return StageTexts(parts, optimized)


def check_stage(platform: str, stage: str) -> None:
    """Raise :class:`UnknownStageError` unless a platform's compiler can output the text of a stage.

    ``platform`` is ``cpu``, ``cuda`` or ``tpu``; ``stage`` is one of ``STAGES``, such as ``"ptx"``.
    """
    if stage not in STAGES:
        raise UnknownStageError(f"there is no stage {stage!r}; the stages are {', '.join(STAGES)}")
    unsupported = {"cpu": ("ptx",), "cuda": ("asm",), "tpu": ("llvm", "ptx", "asm")}[platform]
    if stage in unsupported:
        supported = ", ".join(name for name in STAGES if name not in unsupported)
        raise UnknownStageError(f"the compiler for {platform} gives no {stage}; it gives {supported}")


def _read_unoptimized_hlo(session: DumpSession) -> Iterator[StageText]:
    for file in sorted(session.folder.glob("*before_optimizations.txt"))[-1:]:
        yield StageText("", _read_text(file))


def _read_llvm(session: DumpSession) -> Iterator[StageText]:
    """Yield the LLVM IR that XLA writes, before LLVM's own passes."""
    for file in sorted(session.folder.glob("*ir-no-opt.ll")):
        text = _read_text(file)
        kernel = re.search(r"^define (?:\w+ )*ptx_kernel .*?@([\w$.]+)\(", text, re.MULTILINE)
        yield StageText(kernel[1] if kernel else _kernel_name(file), text)


def _read_ptx(session: DumpSession) -> Iterator[StageText]:
    for file in sorted(session.folder.glob("*.ptx")):
        text = _read_text(file)
        entry = re.search(r"\.entry\s+([\w$.]+)", text)
        yield StageText(entry[1] if entry else _kernel_name(file), text)


def _disassemble(session: DumpSession) -> Iterator[StageText]:
    """Yield the assembly of each kernel, made by ``objdump`` from object files; raises RuntimeError without that."""
    program = shutil.which("objdump") or shutil.which("llvm-objdump")
    if program is None:
        raise RuntimeError(
            "assembly needs objdump, which is not here; install binutils, or look at the stage llvm instead"
        )
    for file in sorted(session.folder.glob("*obj-file*.o")):
        arguments = [program, "--disassemble", "--no-show-raw-insn", str(file)]
        result = subprocess.run(arguments, capture_output=True, timeout=_BUDGET_SECONDS, check=False)
        text = result.stdout[:MAX_TEXT_BYTES].decode(errors="replace")
        yield StageText(_kernel_name(file), text[max(text.find("Disassembly"), 0) :])  # without the temporary path


def _read_text(file: Path) -> str:
    with file.open("rb") as stream:
        return stream.read(MAX_TEXT_BYTES).decode(errors="replace")


_KERNEL_PATTERN = re.compile(
    r"(?:.*\.obj-file\.|module_\d+\.[^.]+(?:\.\d+)?\.)(?:__compute_module_)?(.*?)(?:_kernel_module)?(?:\.ir-no-opt\.ll|\.o|\.ptx)"
)


def _kernel_name(file: Path) -> str:
    match = _KERNEL_PATTERN.fullmatch(file.name)
    return match[1] if match else file.stem


_READERS = {"hlo": _read_unoptimized_hlo, "llvm": _read_llvm, "ptx": _read_ptx, "asm": _disassemble}
