"""Programs that a device is tried with, written once for two engines: xlascope and jax.

This folder needs Python and NumPy alone. It runs as ``xlascope.tools.device.programs`` and, for jax, as a top-level
package ``programs`` in a process that never imports xlascope, so its modules import each other alone.
"""
