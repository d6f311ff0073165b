"""Ahead-of-time compilation for hardware that this machine does not have, by that hardware's own compiler."""

from .compiled import compile_input
from .inputs import CompilerInput, NoLoweringError, check_callbacks
from .installing import HOW
from .known import Target, UnknownTargetError, find_target, known_targets
from .process import (
    LIMIT,
    Built,
    MissingTargetError,
    Stopped,
    TargetCompileError,
    Watch,
    build,
    missing_targets,
    plugin_of,
)

__all__ = [
    "HOW",
    "LIMIT",
    "Built",
    "CompilerInput",
    "MissingTargetError",
    "NoLoweringError",
    "Stopped",
    "Target",
    "TargetCompileError",
    "UnknownTargetError",
    "Watch",
    "build",
    "check_callbacks",
    "compile_input",
    "find_target",
    "known_targets",
    "missing_targets",
    "plugin_of",
]
