"""Text of a program at one stage of its compilation: StableHLO, HLO, LLVM IR, PTX, assembly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...readers.hlo import read_kernels
from ...readers.hlo.text import Module, read_module
from ...xla.explain import STAGES, StageText, StageTexts, check_stage, compile_stages
from ...xla.mlir.stablehlo_reader import stablehlo_text
from ...xla.targets import find_target
from ..producers import Subject, program_of
from ..program import QuestionError
from ..result import Inspection

__all__ = ["STAGES", "hlo"]

#: The stages that are divided into kernels.
_KERNEL_STAGES = ("optimized", "llvm", "ptx", "asm")


def hlo(
    fun: Subject,
    /,
    *args: Any,
    stage: str = "optimized",
    target: str = "cpu",
    kernel: str | None = None,
    equation: str | None = None,
    **kwargs: Any,
) -> Inspection:
    """Show ``fun(*args, **kwargs)`` as text at a stage of its compilation for a ``target``.

    The stages are ``stablehlo`` (XLA's input), ``hlo`` (before XLA's passes), ``optimized`` (after the passes),
    ``llvm``, ``ptx`` (GPUs) and ``asm`` (the CPU). ``kernel`` selects one kernel, named as in
    :func:`~xlascope.inspect.fusions`, and ``equation`` the kernels that contain an equation, by its path. Names
    in the text are those of equations: ``e3`` in an ``op_name`` is equation 3.

    Raises ``UnknownStageError`` (a ValueError) for a stage that the target's compiler does not provide,
    :class:`QuestionError` for a kernel or an equation that does not exist, and what
    :func:`~xlascope.inspect.target` raises.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.inspect.hlo(lambda x: jnp.sin(x) * 2.0, jnp.arange(4.0), stage="stablehlo"))
    #loc...
    module @...
    """
    resolved_target = find_target(target)
    program = program_of(fun, args, kwargs)
    compiler_input, traced = program.input_for(resolved_target), program.record
    check_stage(resolved_target.platform, stage)
    if (kernel or equation) and stage not in _KERNEL_STAGES:
        raise QuestionError(f"the stage {stage} has no kernels yet; those that have are {', '.join(_KERNEL_STAGES)}")
    if stage == "stablehlo":
        return Inspection("hlo", (traced,), stablehlo_text(compiler_input.module))
    stages = compile_stages(compiler_input, stage)
    parts = stages.parts
    if kernel is not None or equation is not None:
        names = [kernel] if kernel is not None else _kernels_of(str(equation), stages)
        parts = _select_parts(names, stages, stage)
    return Inspection("hlo", (traced,), "\n\n".join(map(_format_part, parts)))


def _kernels_of(equation: str, stages: StageTexts) -> list[str]:
    """Return the names of the kernels that contain the equation with this path; raise QuestionError if none does."""
    names = [kernel.name for kernel in read_kernels(stages.optimized) if equation in kernel.equations]
    if not names:
        raise QuestionError(f"equation {equation!r} is in no kernel: it does not exist, or was folded into others")
    return names


def _select_parts(names: Sequence[str], stages: StageTexts, stage: str) -> list[StageText]:
    """Return the texts of the named kernels at a stage; raise QuestionError if there are none.

    In generated code a kernel's name has underscores instead of dots and dashes.
    """
    parts = _split_kernels(stages.optimized) if stage == "optimized" else stages.parts
    code_names = {_code_name(name) for name in names}
    selected = [part for part in parts if _code_name(part.kernel) in code_names]
    if not selected:
        available = ", ".join(part.kernel for part in parts)
        raise QuestionError(f"no kernel {', '.join(names)} at the stage {stage}: the kernels are {available}")
    return selected


def _split_kernels(text: str) -> list[StageText]:
    """Return the kernels of optimized HLO, each with the computations that are fused into it."""
    module, pieces = read_module(text), _split_computations(text)
    lines = {name: line for piece in pieces.values() for name, line in _instruction_lines(piece)}
    return [
        StageText(
            kernel.name,
            "\n".join([*(pieces[name] for name in _fused_computations(module, kernel.name)), lines[kernel.name]]),
        )
        for kernel in read_kernels(text)
    ]


def _fused_computations(module: Module, kernel: str) -> list[str]:
    """Return the names of the computations fused into the kernel of that name; [] if it is not a fusion."""
    for computation in module.computations.values():
        instruction = computation.instructions.get(kernel)
        if instruction is not None:
            return [name for name in instruction.called if instruction.opcode == "fusion"]
    return []


def _split_computations(text: str) -> dict[str, str]:
    """Return the texts of a module's computations, by name."""
    blocks = (block for block in text.split("\n\n") if block.rstrip().endswith("}") and " {" in block)
    return {block.removeprefix("ENTRY ").lstrip("%\n").partition(" ")[0]: block for block in blocks}


def _instruction_lines(piece: str) -> list[tuple[str, str]]:
    lines = (line.strip().removeprefix("ROOT ").lstrip("%") for line in piece.splitlines()[1:-1])
    return [(line.partition(" ")[0], line) for line in lines]


def _code_name(name: str) -> str:
    return name.replace(".", "_").replace("-", "_")


def _format_part(part: StageText) -> str:
    return f"==== {part.kernel} ====\n{part.text}" if part.kernel else part.text
