"""Functions whose values are recomputed for the derivative instead of being stored."""
