"""Flattening of a pytree of arrays to one vector, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import tree
from .names import explain_missing as _explain_missing
from .numpy.creation import zeros
from .numpy.joining import concatenate, split
from .numpy.promotion import common_dtype, promote_dtypes
from .numpy.shaping import ravel, reshape
from .operations.conversion import convert_element_type
from .trace.operand_coercion import to_array
from .trace.values import aval_of

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Flatten and concatenate the leaves of a tree; return the vector and the function that restores the tree.

    The vector has the promoted dtype of the leaves (float without leaves). The function takes a vector of the
    same shape and returns a tree with leaves of the original shapes. If all leaves had the same dtype, the
    new ones have the dtype of the vector; otherwise they have their original dtypes. The function raises
    ValueError for a vector of another shape and, if the dtypes of the leaves differ, TypeError for a vector
    of another dtype.

    >>> import xlascope.numpy as jnp
    >>> vector, back = ravel_pytree({"w": jnp.ones((2, 2)), "b": jnp.zeros(1)})
    >>> print(vector)
    [0. 1. 1. 1. 1.]
    >>> back(2 * vector)["w"].shape
    (2, 2)
    """
    leaves, treedef = tree.flatten(pytree)
    avals = [aval_of(leaf) for leaf in leaves]
    if not leaves:
        return zeros(0), _Unraveler(treedef, (), (), aval_of(zeros(0)).dtype)
    dtype = common_dtype(avals)[0]
    vector = concatenate([ravel(to_array(x)) for x in promote_dtypes(leaves, avals)], dtype=dtype)
    shapes, dtypes = tuple(aval.shape for aval in avals), tuple(aval.dtype for aval in avals)
    return vector, _Unraveler(treedef, shapes, dtypes, dtype)


class _Unraveler:
    """Function from a vector to the pytree that :func:`ravel_pytree` made it from.

    ``shapes`` and ``dtypes`` are those of the leaves, ``dtype`` that of the vector. Objects with the same
    parameters are equal and have the same hash, so they can be static arguments.
    """

    def __init__(self, treedef: Any, shapes: Sequence[Any], dtypes: Sequence[Any], dtype: np.dtype[Any]) -> None:
        self._key = (treedef, tuple(shapes), tuple(dtypes), dtype)

    def __call__(self, vector: Any) -> Any:
        treedef, shapes, dtypes, dtype = self._key
        if not shapes:
            return treedef.unflatten([])
        aval, sizes = aval_of(vector), [int(np.prod(shape)) for shape in shapes]
        if aval.shape != (sum(sizes),):
            raise ValueError(f"a vector of {sum(sizes)} elements makes this tree, got shape {aval.shape}")
        pieces = zip(split(vector, np.cumsum(sizes[:-1]).tolist()), shapes, dtypes, strict=True)
        if len(set(dtypes)) == 1:  # the leaves follow the vector's dtype
            return treedef.unflatten([reshape(x, shape) for x, shape, _ in pieces])
        if aval.dtype != dtype:
            raise TypeError(f"a vector of {dtype.name} makes this tree, got {aval.dtype.name}; convert with astype")
        return treedef.unflatten([convert_element_type(reshape(x, shape), out_dtype) for x, shape, out_dtype in pieces])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unraveler) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


_explain_missing(__name__)
