"""What a target's compiler is given."""

from __future__ import annotations

from typing import Any, NamedTuple

from .known import Target
from .process import TargetCompileError


class NoLoweringError(TargetCompileError):
    """An operation of the program does not exist on the target."""


class CompilerInput(NamedTuple):
    """A program lowered for a target: StableHLO as bytes, and what records say of it.

    ``overrides`` are XLA's flags for this program, ``callbacks`` counts the Python functions that it calls, and
    ``kept`` says which operands of its jaxpr it takes (None when nobody knows).
    """

    target: Target
    module: bytes
    number: int
    name: str
    overrides: tuple[tuple[str, Any], ...] = ()
    callbacks: int = 0
    kept: tuple[bool, ...] | None = None


def check_callbacks(given: CompilerInput) -> CompilerInput:
    """The same; raises :class:`NoLoweringError` for a program that calls Python on a device that is not here.

    What a program asks of Python (``pure_callback``, ``debug.print``) is done by the process that runs it: there is no
    such process.
    """
    if given.callbacks and given.target.platform != "cpu":
        raise NoLoweringError(
            f"{given.name} cannot be compiled for {given.target.name}: it calls Python functions while it runs (a "
            "callback, debug.print), which needs a device that is here. Leave them out of what you ask about"
        )
    return given
