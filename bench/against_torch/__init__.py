"""Training steps of four models beside torch, eager and compiled: ``python -m bench.against_torch``."""
