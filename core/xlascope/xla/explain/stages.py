"""A program at one stage of its compilation, from StableHLO to machine code."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..targets import CompilerInput, Watch
from .session import Session, listened

#: The stages in the order of compilation.
STAGES = ("stablehlo", "hlo", "optimized", "llvm", "ptx", "asm")
#: At most this much text is read from one file.
MOST = 32 * 2**20
#: Since jaxlib 0.11 the output of XLA's emitters is dumped only where it is requested by name.
_ASKED_FOR = {"llvm": [("xla_dump_emitter_re", "llvm")], "ptx": [("xla_dump_emitter_re", "ptx")]}
_SECONDS = 60.0


class UnknownStageError(ValueError):
    """Error for a stage that does not exist or that this back end does not give; the message lists those it has."""


class Stage(NamedTuple):
    """Text of a program at one stage: the whole module, or one kernel of it (``kernel`` is its name)."""

    kernel: str
    text: str


class Stages(NamedTuple):
    """Texts of a program at one stage, and its optimized HLO, which says what each kernel contains."""

    parts: list[Stage]
    optimized: str


def compile_stages(job: CompilerInput, stage: str, *, budget: float = _SECONDS, watch: Watch | None = None) -> Stages:
    """Compile a program and return it at stage ``hlo``, ``optimized``, ``llvm``, ``ptx`` or ``asm``.

    Code comes kernel by kernel. The CPU's compiler gives LLVM IR and object files, which the system's ``objdump``
    turns into assembly; GPUs' give LLVM IR and PTX. Raises :class:`UnknownStageError` for what a target does not
    give, and RuntimeError without ``objdump``.
    """
    check_stage(job.target.platform, stage)
    overrides = [("xla_dump_hlo_as_text", True), *_ASKED_FOR.get(stage, ())]
    with listened(job, budget, overrides=overrides, watch=watch) as session:
        if session.built is None:
            raise TimeoutError(f"the budget of {budget:g} s ended before the compiler did")
        optimized = session.built.hlo
        parts = [Stage("", optimized)] if stage == "optimized" else list(_FINDERS[stage](session))
        # The compiler's threads number the files as they finish; files without a kernel name come last.
        parts.sort(key=lambda part: (part.kernel.isdigit(), part.kernel))
    if not parts:
        raise UnknownStageError(f"{job.target.name} gave no {stage} for this program: it has no kernel of its own")
    return Stages(parts, optimized)


def check_stage(platform: str, stage: str) -> None:
    """Raise :class:`UnknownStageError` when a platform's compiler does not give a stage."""
    if stage not in STAGES:
        raise UnknownStageError(f"there is no stage {stage!r}; the stages are {', '.join(STAGES)}")
    unsupported = {"cpu": ("ptx",), "cuda": ("asm",), "tpu": ("llvm", "ptx", "asm")}[platform]
    if stage in unsupported:
        supported = ", ".join(name for name in STAGES if name not in unsupported)
        raise UnknownStageError(f"the compiler for {platform} gives no {stage}; it gives {supported}")


def _before_optimizations(session: Session) -> Iterator[Stage]:
    for file in sorted(session.folder.glob("*before_optimizations.txt"))[-1:]:
        yield Stage("", _read(file))


def _llvm(session: Session) -> Iterator[Stage]:
    """Yield the LLVM IR that XLA writes, before LLVM's own passes."""
    for file in sorted(session.folder.glob("*ir-no-opt.ll")):
        text = _read(file)
        kernel = re.search(r"^define (?:\w+ )*ptx_kernel .*?@([\w$.]+)\(", text, re.MULTILINE)
        yield Stage(kernel[1] if kernel else _kernel_of(file), text)


def _ptx(session: Session) -> Iterator[Stage]:
    for file in sorted(session.folder.glob("*.ptx")):
        text = _read(file)
        entry = re.search(r"\.entry\s+([\w$.]+)", text)
        yield Stage(entry[1] if entry else _kernel_of(file), text)


def _assembly(session: Session) -> Iterator[Stage]:
    program = shutil.which("objdump") or shutil.which("llvm-objdump")
    if program is None:
        raise RuntimeError(
            "assembly needs objdump, which is not here; install binutils, or look at the stage llvm instead"
        )
    for file in sorted(session.folder.glob("*obj-file*.o")):
        arguments = [program, "--disassemble", "--no-show-raw-insn", str(file)]
        result = subprocess.run(arguments, capture_output=True, timeout=_SECONDS, check=False)
        text = result.stdout[:MOST].decode(errors="replace")
        yield Stage(_kernel_of(file), text[max(text.find("Disassembly"), 0) :])  # without the temporary path


def _read(file: Path) -> str:
    with file.open("rb") as stream:
        return stream.read(MOST).decode(errors="replace")


_KERNEL = re.compile(
    r"(?:.*\.obj-file\.|module_\d+\.[^.]+(?:\.\d+)?\.)(?:__compute_module_)?(.*?)(?:_kernel_module)?(?:\.ir-no-opt\.ll|\.o|\.ptx)"
)


def _kernel_of(file: Path) -> str:
    match = _KERNEL.fullmatch(file.name)
    return match[1] if match else file.stem


_FINDERS = {"hlo": _before_optimizations, "llvm": _llvm, "ptx": _ptx, "asm": _assembly}
