"""MLIR contexts and attributes, and the emission of StableHLO operations."""
