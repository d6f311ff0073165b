"""Benchmark programs for a device, written once for two engines: xlascope and jax.

This folder requires only Python and NumPy. It runs as ``xlascope.tools.device.programs`` and, for jax, as a
top-level package ``programs`` in a process that never imports xlascope, so its modules import only each
other.
"""
