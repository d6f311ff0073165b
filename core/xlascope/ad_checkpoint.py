"""What is kept for derivatives and what is computed again, under JAX's module name."""

from .control.policies import Offloadable, checkpoint_policies
from .control.remat import checkpoint, checkpoint_name, remat
from .control.saved_residuals import print_saved_residuals, saved_residuals

__all__ = [
    "Offloadable",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "print_saved_residuals",
    "remat",
    "saved_residuals",
]
