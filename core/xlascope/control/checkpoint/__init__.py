"""Functions whose values are computed again for the derivative instead of being kept."""
