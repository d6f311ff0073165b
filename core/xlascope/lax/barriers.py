"""What keeps the compiler from moving or merging operations."""

from __future__ import annotations

from typing import Any

from .. import tree
from ..operations import barriers


def optimization_barrier(operand: Any, /) -> Any:
    """A tree with the same values: the compiler computes all of them before it uses any, and does not look through.

    >>> import xlascope.numpy as jnp
    >>> from xlascope import lax
    >>> x, y = lax.optimization_barrier((jnp.arange(2), 1.0))
    >>> print(x, y)
    [0 1] 1.0
    """
    leaves, structure = tree.flatten(operand)
    return structure.unflatten(barriers.optimization_barrier(leaves))
