"""Vector quantization: assignment of observations to their nearest codes."""

from __future__ import annotations

from typing import Any

from ... import numpy as jnp
from ...names import explain_missing
from ...numpy.jit_wrapped import jit_wrapped
from ...trace.source import here
from ..arguments import promote_dtypes_inexact

__all__ = ["vq"]


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """Return the index of the nearest point of ``code_book`` to each observation, and the distance.

    ``obs`` has shape ``(m, d)`` and ``code_book`` ``(k, d)``, or both have one axis, of scalar points. Returns
    int32 indices and floating-point distances of shape ``(m,)``. Raises ValueError for other shapes.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy.cluster.vq import vq
    >>> print(*vq(jnp.array([[0.0, 1.0], [3.0, 3.0]]), jnp.array([[0.0, 0.0], [3.0, 4.0]])))
    [0 1] [1. 1.]
    """
    return _vq(obs, code_book)


@jit_wrapped()
def _vq(obs: Any, code_book: Any) -> tuple[Any, Any]:
    obs, code_book = promote_dtypes_inexact(obs, code_book)
    if obs.ndim != code_book.ndim:
        raise ValueError(f"vq takes observations and codes of one rank, got {obs.shape}, {code_book.shape}{here()}")
    if obs.ndim not in (1, 2):
        raise ValueError(f"vq takes points of shape (m,) or (m, d), got shape {obs.shape}{here()}")
    if obs.ndim == 1:
        obs, code_book = obs[:, None], code_book[:, None]
    if obs.shape[1] != code_book.shape[1]:
        raise ValueError(f"vq takes points of as many numbers, got shapes {obs.shape} and {code_book.shape}{here()}")
    differences = obs[:, None, :] - code_book
    distances = jnp.sqrt(jnp.sum(jnp.abs(differences) ** 2, -1))
    return jnp.argmin(distances, 1), jnp.min(distances, 1)


explain_missing(__name__)
