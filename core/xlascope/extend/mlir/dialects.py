"""MLIR's dialects: ``stablehlo.add(x, y)`` emits an operation at the insertion point."""

from ...xla.mlir.jax_mlir_api import arith, chlo, func, math, memref, scf, stablehlo, vector

hlo = stablehlo

__all__ = ["arith", "chlo", "func", "hlo", "math", "memref", "scf", "stablehlo", "vector"]
