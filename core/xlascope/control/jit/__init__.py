"""jit: tracing and compilation, once per kind of arguments, and explanations of why they were repeated."""
