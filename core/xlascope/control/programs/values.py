"""What goes into a program and comes out of it: flat values, and their types."""

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


def operand_aval(what: str, x: Any) -> ShapedArray:
    """The type of an operand; raises TypeError saying what it is when it is no array."""
    try:
        return aval_of(x)
    except TypeError:
        raise not_an_array(x, what) from None


def as_type(x: Any, aval: ShapedArray) -> Any:
    """An operand as a value of that dtype, weak or not."""
    if x.__class__ in PYTHON_SCALARS and not aval.weak_type:
        return typed_scalar(x, aval.dtype)
    own = aval_of(x)
    if own.dtype == aval.dtype and own.weak_type == aval.weak_type:
        return x
    return convert_element_type(x, aval.dtype, aval.weak_type)


def concrete(x: Any) -> Any:
    """The value of an operand where it is known while tracing, else None."""
    while isinstance(x, Tracer):
        x = x.concrete()
    return x


def check_results(name: str, results: Sequence[Any], structure: Any, kind: str = "a traced function") -> list[Any]:
    """The flat results of a traced function; raises TypeError naming one that is no array."""
    for index, x in enumerate(results):
        try:
            aval_of(x)
        except TypeError:
            path = tree.keystr(tree.leaves_with_path(structure.unflatten(range(len(results))))[index][0])
            raise not_a_result(x, path, name, kind) from None
    return list(results)


class _Float0:
    """Stands in a result's structure for an array of float0: it holds nothing, so no program computes it."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape


tree.register_pytree_node(_Float0, lambda x: ((), x.shape), lambda shape, _: np.zeros(shape, float0))


def flatten_results(result: Any) -> tuple[list[Any], Any]:
    """The leaves that a program has to compute of a function's result, and the result's structure."""
    leaves, structure = tree.flatten(result)
    if not any(getattr(x, "dtype", None) == float0 for x in leaves):
        return leaves, structure
    marked = [_Float0(x.shape) if getattr(x, "dtype", None) == float0 else x for x in leaves]
    return tree.flatten(structure.unflatten(marked))
