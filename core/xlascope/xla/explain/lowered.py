"""What is explained: a program lowered for a target, as its compiler is given it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jaxlib.mlir import ir

from ...ir.jaxpr import ClosedJaxpr
from ..builder import bytecode, context
from ..compile import module_name
from ..lowering import lower
from ..targets import Target, prepare


class Subject(NamedTuple):
    """A program for a target: StableHLO as bytes, and what a record says of it.

    ``callbacks`` counts the Python functions that it calls.
    """

    target: Target
    module: bytes
    number: int
    name: str
    overrides: tuple[tuple[str, Any], ...]
    callbacks: int = 0


def subject_of(
    program: ClosedJaxpr,
    target: Target,
    number: int,
    *,
    donated: Sequence[bool] = (),
    keep_unused: bool = False,
    overrides: Sequence[tuple[str, Any]] = (),
) -> Subject:
    """Lower a program for a target; raises :class:`~xlascope.xla.targets.NoLoweringError` as compiling for it does."""
    if target.platform != "cpu":
        made = prepare(program, target, number, donated=donated, keep_unused=keep_unused, overrides=overrides)
        return Subject(target, made.module, number, made.name, made.overrides)
    name = program.name or "main"
    lowered = lower(program, module_name(name), donated=donated, keep_unused=keep_unused, platform="cpu")
    return Subject(target, bytecode(lowered.module), number, name, tuple(overrides), len(lowered.callbacks))


def stablehlo_of(subject: Subject) -> str:
    """The StableHLO as text, with the names of equations and the user's lines as locations."""
    return str(ir.Module.parse(subject.module, context()).operation.get_asm(enable_debug_info=True))
