"""MLIR: contexts, attributes, operations of StableHLO and what is emitted for them."""
