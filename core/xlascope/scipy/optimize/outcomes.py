"""How a minimization ended."""

from __future__ import annotations

from typing import Any

from ... import numpy as jnp

CONVERGED, MOST, NO_STEP = 0, 1, 3


def status_of(converged: Any, failed: Any, exhausted: Any) -> Any:
    """The number that says how it ended: converged, no lower step found, as many iterations as allowed."""
    return jnp.where(converged, CONVERGED, jnp.where(failed, NO_STEP, jnp.where(exhausted, MOST, -1)))


def norm_of(gradient: Any, order: float) -> Any:
    """The norm that has to be small."""
    return jnp.linalg.norm(gradient, order)
