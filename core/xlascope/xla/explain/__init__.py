"""Compilations of their own, in a process of their own, that make the compiler say what it does and why.

They know no cache: neither the process's nor the one on disk is asked, and nothing that they make is kept.
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
