"""Linear algebra: triangular systems, and the factorizations, all on stacks of matrices (…, m, n)."""
