"""Differences between versions of jax, detected by looking at jax rather than at its version number.

The public names are in ``jax.extend``. It is not imported here: since jax 0.12 it imports Pallas, whose
settings are part of jit's cache keys, so that functions jitted before would be traced and compiled again.
"""

from __future__ import annotations

from jax._src import core

__all__ = ["ClosedJaxpr", "Jaxpr", "Literal"]

Jaxpr, Literal = core.Jaxpr, core.Literal
#: A jaxpr with its constants; since jax 0.12 every jaxpr has its own.
ClosedJaxpr = getattr(core, "ClosedJaxpr", Jaxpr)
