"""Compilations in a separate process that record what the compiler does and why.

They bypass all caches: neither the process's nor the one on disk is read, and their results are not stored.
"""

from .decisions import explain
from .passes import compile_passes
from .stages import STAGES, Stage, Stages, UnknownStageError, check_stage, compile_stages

__all__ = [
    "STAGES",
    "Stage",
    "Stages",
    "UnknownStageError",
    "check_stage",
    "compile_passes",
    "compile_stages",
    "explain",
]
