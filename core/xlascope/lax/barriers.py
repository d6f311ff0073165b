"""What keeps the compiler from moving or merging operations, and derivatives from passing."""

from __future__ import annotations

from typing import Any

from .. import tree
from ..dtypes import is_differentiable
from ..operations import barriers
from ..trace.gate import unchanged
from ..trace.values import aval_of


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


def stop_gradient(x: Any) -> Any:
    """A tree with the same values, which differentiation takes for constants.

    >>> import xlascope as xs
    >>> print(xs.grad(lambda x: x * xs.lax.stop_gradient(x))(3.0))
    3.0
    """

    def stopped(leaf: Any) -> Any:
        return barriers.stop_gradient(leaf) if is_differentiable(aval_of(leaf).dtype) else unchanged(leaf)

    return tree.map(stopped, x)
