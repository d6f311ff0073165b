"""Rematerialization: which residuals are stored and which are recomputed, under JAX's module name."""

from .control.checkpoint.policies import Offloadable, checkpoint_policies
from .control.checkpoint.remat import checkpoint, checkpoint_name, remat
from .control.checkpoint.saved_residuals import print_saved_residuals, saved_residuals
from .names import explain_missing as _explain_missing

__all__ = [
    "Offloadable",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "print_saved_residuals",
    "remat",
    "saved_residuals",
]

_explain_missing(__name__)
