"""Flat operands and results of programs, and their types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import tree
from ...dtypes import float0
from ...ir.avals import ShapedArray
from ...operations.conversion import to_dtype
from ...operations.operand_values import PYTHON_SCALAR_TYPES, typed_scalar
from ...operations.varying_axes import make_varying
from ...trace.tracer import TracerBase
from ...trace.values import aval_of, invalid_operand_error, invalid_result_error
from .function_names import definition_text


def operand_aval(description: str, x: Any) -> ShapedArray:
    """Return the type of an operand; raise TypeError if it is not an array.

    ``description`` names the operand in the message.
    """
    try:
        return aval_of(x)
    except TypeError:
        raise invalid_operand_error(x, description) from None


def as_type(x: Any, aval: ShapedArray) -> Any:
    """Convert an operand to the dtype and weak type of ``aval``, varying along the mesh axes that this varies along."""
    if aval.varying:
        x = make_varying(x, aval.varying)
    if x.__class__ in PYTHON_SCALAR_TYPES and not aval.weak_type:
        return typed_scalar(x, aval.dtype)
    own_aval = aval_of(x)
    if own_aval.dtype == aval.dtype and own_aval.weak_type == aval.weak_type:
        return x
    return to_dtype(x, aval.dtype, aval.weak_type)


def concrete_or_none(x: Any) -> Any:
    """Return the value of an operand if it is known during tracing, else None."""
    while isinstance(x, TracerBase):
        x = x.concrete()
    return x


def check_results(
    name: str, results: Sequence[Any], structure: Any, kind: str = "a traced function", function: Any = None
) -> list[Any]:
    """Return the flat results of a traced function as a list; raise TypeError naming one that is not an array.

    ``name`` and ``kind`` describe the function in the message, ``function`` is the user's or None;
    ``structure`` is that of the results.
    """
    for index, x in enumerate(results):
        try:
            aval_of(x)
        except TypeError:
            path = tree.keystr(tree.leaves_with_path(structure.unflatten(range(len(results))))[index][0])
            raise invalid_result_error(x, path, name, kind, definition_text(function)) from None
    return list(results)


class _Float0Placeholder:
    """Placeholder in a result's structure for an array of float0, which holds no data and is not computed."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape


tree.register_pytree_node(_Float0Placeholder, lambda x: ((), x.shape), lambda shape, _: np.zeros(shape, float0))


def flatten_results(result: Any) -> tuple[list[Any], Any]:
    """Return the leaves of a function's result that a program has to compute, and the result's structure.

    Arrays of float0 are no leaves; unflattening the structure creates them anew.
    """
    leaves, structure = tree.flatten(result)
    if not any(getattr(x, "dtype", None) == float0 for x in leaves):
        return leaves, structure
    placeholders = [_Float0Placeholder(x.shape) if getattr(x, "dtype", None) == float0 else x for x in leaves]
    return tree.flatten(structure.unflatten(placeholders))
