"""For those who build on the library: its programs, operations of one's own, StableHLO."""

from . import core, mlir, operations

__all__ = ["core", "mlir", "operations"]
