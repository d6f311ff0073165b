"""What versions of jax differ in, as far as the bridge meets it: each found by looking at jax, never by its version.

The public names stand in ``jax.extend``. It is not imported here: since jax 0.12 it brings Pallas, whose settings are
in the keys of calls, so that whatever was jitted before would be traced and compiled again.
"""

from __future__ import annotations

from jax._src import core

__all__ = ["ClosedJaxpr", "Jaxpr", "Literal"]

Jaxpr, Literal = core.Jaxpr, core.Literal
#: A jaxpr with its constants; since jax 0.12 every jaxpr has its own.
ClosedJaxpr = getattr(core, "ClosedJaxpr", Jaxpr)
