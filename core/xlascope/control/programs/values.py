"""Flat operands and results of programs, and their types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import tree
from ...dtypes import float0
from ...ir.avals import ShapedArray
from ...operations.conversion import convert_element_type
from ...operations.values import PYTHON_SCALARS, typed_scalar
from ...trace.tracer import Tracer
from ...trace.values import aval_of, not_a_result, not_an_array


def operand_aval(description: str, x: Any) -> ShapedArray:
    """Return the type of an operand; raise TypeError with its description if it is not an array."""
    try:
        return aval_of(x)
    except TypeError:
        raise not_an_array(x, description) from None


def as_type(x: Any, aval: ShapedArray) -> Any:
    """Convert an operand to the dtype and weak type of ``aval``."""
    if x.__class__ in PYTHON_SCALARS and not aval.weak_type:
        return typed_scalar(x, aval.dtype)
    own_aval = aval_of(x)
    if own_aval.dtype == aval.dtype and own_aval.weak_type == aval.weak_type:
        return x
    return convert_element_type(x, aval.dtype, aval.weak_type)


def concrete(x: Any) -> Any:
    """Return the value of an operand if it is known during tracing, else None."""
    while isinstance(x, Tracer):
        x = x.concrete()
    return x


def check_results(name: str, results: Sequence[Any], structure: Any, kind: str = "a traced function") -> list[Any]:
    """Return the flat results of a traced function; raise TypeError naming one that is not an array."""
    for index, x in enumerate(results):
        try:
            aval_of(x)
        except TypeError:
            path = tree.keystr(tree.leaves_with_path(structure.unflatten(range(len(results))))[index][0])
            raise not_a_result(x, path, name, kind) from None
    return list(results)


class _Float0:
    """Placeholder in a result's structure for an array of float0, which holds no data and is not computed."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape


tree.register_pytree_node(_Float0, lambda x: ((), x.shape), lambda shape, _: np.zeros(shape, float0))


def flatten_results(result: Any) -> tuple[list[Any], Any]:
    """Return the leaves of a function's result that a program has to compute, and the result's structure."""
    leaves, structure = tree.flatten(result)
    if not any(getattr(x, "dtype", None) == float0 for x in leaves):
        return leaves, structure
    marked = [_Float0(x.shape) if getattr(x, "dtype", None) == float0 else x for x in leaves]
    return tree.flatten(structure.unflatten(marked))
