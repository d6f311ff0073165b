"""NumPy's functions, for arrays and tracers."""
