"""Hardware that is not here: programs are compiled for it ahead of time, by its own compiler."""

from .known import EXTRA, Target, UnknownTargetError, find_target, known_targets
from .process import LIMIT, Built, MissingTargetError, Stopped, TargetCompileError, Watch, build, plugin_of
from .programs import NoLoweringError, Prepared, compile_prepared, prepare

__all__ = [
    "EXTRA",
    "LIMIT",
    "Built",
    "MissingTargetError",
    "NoLoweringError",
    "Prepared",
    "Stopped",
    "Target",
    "TargetCompileError",
    "UnknownTargetError",
    "Watch",
    "build",
    "compile_prepared",
    "find_target",
    "known_targets",
    "plugin_of",
    "prepare",
]
