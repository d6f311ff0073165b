"""Status codes and the stopping criterion of minimization."""

from __future__ import annotations

from typing import Any

from ... import numpy as jnp

CONVERGED, MOST, NO_STEP = 0, 1, 3


def status_of(converged: Any, failed: Any, exhausted: Any) -> Any:
    """Return the status code: converged, line search failed, iteration limit reached, or -1 for none of them."""
    return jnp.where(converged, CONVERGED, jnp.where(failed, NO_STEP, jnp.where(exhausted, MOST, -1)))


def norm_of(gradient: Any, order: float) -> Any:
    """Return the norm of the gradient, the convergence criterion."""
    return jnp.linalg.norm(gradient, order)
