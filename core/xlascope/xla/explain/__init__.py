"""Compilations in a separate process that record what the compiler does and why.

They bypass all caches: neither the process's nor the one on disk is read, and their results are not stored.
"""

from .fusion_decisions import explain_fusion
from .pass_history import compile_passes
from .stage_texts import STAGES, StageText, StageTexts, UnknownStageError, check_stage, compile_stages

__all__ = [
    "STAGES",
    "StageText",
    "StageTexts",
    "UnknownStageError",
    "check_stage",
    "compile_passes",
    "compile_stages",
    "explain_fusion",
]
