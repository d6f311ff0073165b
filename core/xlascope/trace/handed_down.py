"""What the layers above hand down to be called when it is needed first. Imports nothing, so it can be set early."""

from __future__ import annotations

from collections.abc import Callable


def _nobody() -> None:
    raise RuntimeError("nobody has said how the method table is filled: import xlascope, not a module of it by itself")


#: Fills the table of :mod:`xlascope.trace.methods`: set by the package itself, for ``numpy/methods.py`` stands above.
fill_methods: Callable[[], None] = _nobody
