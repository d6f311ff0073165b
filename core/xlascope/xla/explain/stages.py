"""From StableHLO to machine code: a program at one stage of its compilation."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..targets import CompilerInput, Watch
from .session import Session, listened

#: The stages in order, with what a file name of XLA's dump tells them by.
STAGES = ("stablehlo", "hlo", "optimized", "llvm", "ptx", "asm")
#: The most bytes of text that are read at one stage.
MOST = 32 * 2**20
#: What is asked for by name: since jaxlib 0.11 what XLA's emitters write is dumped where it is, and nowhere else.
_ASKED_FOR = {"llvm": [("xla_dump_emitter_re", "llvm")], "ptx": [("xla_dump_emitter_re", "ptx")]}
_SECONDS = 60.0


class UnknownStageError(ValueError):
    """There is no such stage, or this back end does not give it; the message lists those there are."""


class Stage(NamedTuple):
    """A part of a program at one stage: the whole module, or one kernel of it (``kernel`` is its name)."""

    kernel: str
    text: str


class Stages(NamedTuple):
    """The parts of a program at one stage, and its optimized HLO, which tells what is in each kernel."""

    parts: list[Stage]
    optimized: str


def compile_stages(given: CompilerInput, stage: str, *, budget: float = _SECONDS, watch: Watch | None = None) -> Stages:
    """A program at the stages ``hlo``, ``optimized``, ``llvm``, ``ptx`` or ``asm``; code comes kernel by kernel.

    The CPU's compiler gives LLVM IR and object files, which the system's ``objdump`` turns into assembly; GPUs' give
    LLVM IR and PTX. Raises :class:`UnknownStageError` for what a target does not give, and RuntimeError without
    ``objdump``.
    """
    check_stage(given.target.platform, stage)
    overrides = [("xla_dump_hlo_as_text", True), *_ASKED_FOR.get(stage, ())]
    with listened(given, budget, overrides=overrides, watch=watch) as session:
        if session.built is None:
            raise TimeoutError(f"the budget of {budget:g} s ended before the compiler did")
        optimized = session.built.hlo
        found = [Stage("", optimized)] if stage == "optimized" else list(_FINDERS[stage](session))
        # The compiler's threads number the files as they end; some have no kernel, and come last.
        found.sort(key=lambda each: (each.kernel.isdigit(), each.kernel))
    if not found:
        raise UnknownStageError(f"{given.target.name} gave no {stage} for this program: it has no kernel of its own")
    return Stages(found, optimized)


def check_stage(platform: str, stage: str) -> None:
    """Raise :class:`UnknownStageError` when a platform's compiler does not give a stage."""
    if stage not in STAGES:
        raise UnknownStageError(f"there is no stage {stage!r}; the stages are {', '.join(STAGES)}")
    without = {"cpu": ("ptx",), "cuda": ("asm",), "tpu": ("llvm", "ptx", "asm")}[platform]
    if stage in without:
        given = ", ".join(each for each in STAGES if each not in without)
        raise UnknownStageError(f"the compiler for {platform} gives no {stage}; it gives {given}")


def _before_optimizations(session: Session) -> Iterator[Stage]:
    for file in sorted(session.folder.glob("*before_optimizations.txt"))[-1:]:
        yield Stage("", _read(file))


def _llvm(session: Session) -> Iterator[Stage]:
    """The LLVM IR that XLA writes, before LLVM's own passes."""
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
        made = subprocess.run(arguments, capture_output=True, timeout=_SECONDS, check=False)
        text = made.stdout[:MOST].decode(errors="replace")
        yield Stage(_kernel_of(file), text[max(text.find("Disassembly"), 0) :])  # without the name of a passing file


def _read(file: Path) -> str:
    with file.open("rb") as opened:
        return opened.read(MOST).decode(errors="replace")


_KERNEL = re.compile(
    r"(?:.*\.obj-file\.|module_\d+\.[^.]+(?:\.\d+)?\.)(?:__compute_module_)?(.*?)(?:_kernel_module)?(?:\.ir-no-opt\.ll|\.o|\.ptx)"
)


def _kernel_of(file: Path) -> str:
    match = _KERNEL.fullmatch(file.name)
    return match[1] if match else file.stem


_FINDERS = {"hlo": _before_optimizations, "llvm": _llvm, "ptx": _ptx, "asm": _assembly}
