"""MLIR's dialects: ``stablehlo.add(x, y)`` writes an operation where the insertion point is."""

from ...xla.mlir.emitting import arith, chlo, func, math, memref, scf, stablehlo, vector

hlo = stablehlo

__all__ = ["arith", "chlo", "func", "hlo", "math", "memref", "scf", "stablehlo", "vector"]
