"""MLIR's Python modules, as lowering rules use them."""

from ...xla.emitting import ir, passmanager
from . import dialects

__all__ = ["dialects", "ir", "passmanager"]
