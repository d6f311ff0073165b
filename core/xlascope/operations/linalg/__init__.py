"""Linear algebra: triangular systems and factorizations, all on stacks of matrices (…, m, n)."""
