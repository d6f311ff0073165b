"""Where rules for primitives of one's own are registered: ad, batching, mlir."""

from . import ad, batching, mlir

__all__ = ["ad", "batching", "mlir"]
