"""jit: what is traced and compiled once per kind of arguments, and why it was done again."""
