"""Status codes and the stopping criterion of minimization."""

from __future__ import annotations

from typing import Any

from ... import numpy as jnp

CONVERGED, MAX_ITERATIONS_REACHED, LINE_SEARCH_FAILED = 0, 1, 3


def select_status(converged: Any, failed: Any, exhausted: Any) -> Any:
    """Return a status code from three booleans: converged, line search failed, or iteration limit reached.

    The first that is true counts; the code is -1 if none is.
    """
    return jnp.where(
        converged, CONVERGED, jnp.where(failed, LINE_SEARCH_FAILED, jnp.where(exhausted, MAX_ITERATIONS_REACHED, -1))
    )


def gradient_norm(gradient: Any, order: float) -> Any:
    """Return the norm of that order of the gradient, which is compared with ``gtol``."""
    return jnp.linalg.norm(gradient, order)
