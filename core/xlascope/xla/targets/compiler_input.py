"""Input of a target's compiler."""

from __future__ import annotations

from typing import Any, NamedTuple

from .compiler_process import TargetCompileError
from .registry import Target


class NoLoweringError(TargetCompileError):
    """Error for an operation of the program that does not exist on the target."""


class CompilerInput(NamedTuple):
    """Program lowered for a target: StableHLO as bytes, and its number and name in records.

    ``overrides`` are XLA's flags (name, value) for this program, ``callbacks`` counts the Python functions that it
    calls, and ``kept_operands`` says which operands of its jaxpr it takes (None if unknown).
    """

    target: Target
    module: bytes
    number: int
    name: str
    overrides: tuple[tuple[str, Any], ...] = ()
    callbacks: int = 0
    kept_operands: tuple[bool, ...] | None = None


def check_callbacks(program: CompilerInput) -> CompilerInput:
    """Return the input; raises :class:`NoLoweringError` if it calls Python on a device that is not here.

    A callback (``pure_callback``, ``debug.print``) runs in the process that executes the program, and there is none.
    """
    if program.callbacks and program.target.platform != "cpu":
        raise NoLoweringError(
            f"{program.name} cannot be compiled for {program.target.name}: it calls Python functions while it runs (a "
            "callback, debug.print), which needs a device that is here. Leave them out of what you ask about"
        )
    return program
