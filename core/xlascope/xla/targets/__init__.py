"""Ahead-of-time compilation for hardware that this machine does not have, by that hardware's own compiler."""

from .compile_record import compile_input
from .compiler_input import CompilerInput, NoLoweringError, check_callbacks
from .compiler_install import INSTALL_COMMAND
from .compiler_process import (
    COMPILE_TIMEOUT_SECONDS,
    CompilationStopped,
    CompileProgress,
    MissingTargetError,
    TargetCompilation,
    TargetCompileError,
    compile_for_target,
    find_plugin,
    missing_targets,
)
from .registry import Target, UnknownTargetError, find_target, known_targets

__all__ = [
    "COMPILE_TIMEOUT_SECONDS",
    "INSTALL_COMMAND",
    "CompilationStopped",
    "CompileProgress",
    "CompilerInput",
    "MissingTargetError",
    "NoLoweringError",
    "Target",
    "TargetCompilation",
    "TargetCompileError",
    "UnknownTargetError",
    "check_callbacks",
    "compile_for_target",
    "compile_input",
    "find_plugin",
    "find_target",
    "known_targets",
    "missing_targets",
]
