"""Control flow operations: branches, loops and reductions."""
