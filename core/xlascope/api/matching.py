"""Tangents and cotangents that users give, held against the tree, the shapes and the dtypes they belong to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import tree
from ..dtypes import float0, is_differentiable
from ..ir.avals import ShapedArray
from ..ir.markers import ZERO
from ..trace.values import aval_of, not_an_array
from .arguments import at

#: What a message calls the leaf at a path, the whole for an empty one.
Naming = Callable[[Sequence[Any]], str]


class Errors(NamedTuple):
    """The types of the errors that JAX raises when a tree, a shape or a dtype does not fit."""

    tree: type[Exception] = TypeError
    shape: type[Exception] = ValueError
    dtype: type[Exception] = TypeError


def tangents_of(whom: Callable[[], str]) -> Naming:
    """Names for the tangents of arguments: ``the tangent of argument 0['w'] given to …``."""
    return lambda path: (
        f"the tangent of argument {path[0].idx}{tree.keystr(path[1:])} given to {whom()}"
        if path
        else f"the tuple of tangents given to {whom()}"
    )


def cotangents_of(whom: Callable[[], str]) -> Naming:
    """Names for the cotangents of a result: ``the cotangent ['loss'] given to …``."""
    return lambda path: f"the cotangent{' ' if path else ''}{tree.keystr(path)} given to {whom()}"


def matched(
    given: Any,
    structure: Any,
    avals: Sequence[ShapedArray],
    name: Naming,
    errors: Errors,
    *,
    lenient: bool = False,
    integers: bool = False,
) -> list[Any]:
    """The leaves of a given tree of tangents, in the dtypes that are expected; ZERO for those of integers.

    Values of integer or boolean type have tangents of type float0; with ``lenient`` anything does for them, and with
    ``integers`` they are of the values' own type.
    Raises the given errors, naming the leaf and what it should be.
    """
    leaves, found = tree.flatten(given)
    if found != structure:
        difference = tree_difference(structure, found)
        raise errors.tree(f"{name(())} has structure {found}, expected {structure}{difference}{at()}")
    checked = []
    for i, (x, aval) in enumerate(zip(leaves, avals, strict=True)):
        if getattr(x, "aval", None) is not aval or not is_differentiable(aval.dtype):
            x = _matched(x, aval, lambda i=i: name(_path(structure, i)), errors, lenient, integers)  # type: ignore[misc]
        checked.append(x)
    return checked


def _matched(x: Any, aval: ShapedArray, what: Callable[[], str], errors: Errors, lenient: bool, integers: bool) -> Any:
    try:
        got = aval_of(x)
    except TypeError:
        raise not_an_array(x, what()) from None
    moves = integers or is_differentiable(aval.dtype)
    if not moves and lenient and got.dtype != float0:
        return ZERO
    if got.shape != aval.shape:
        raise errors.shape(f"{what()} has shape {got.shape}, expected {aval.shape}{at()}")
    if got.dtype != (aval.dtype if moves else float0):
        raise errors.dtype(f"{what()} has dtype {dtype_name(got.dtype)}, expected {_fix(aval, got, moves)}{at()}")
    return as_operand(x, aval) if moves else ZERO


def as_operand(x: Any, aval: ShapedArray) -> Any:
    """A value that a user gave, as an operand of that type: arrays as they are, others as NumPy's in its dtype."""
    return x if hasattr(x, "aval") else np.array(x, aval.dtype)[()]


def dtype_name(dtype: Any) -> str:
    """The name of a dtype, float0 included."""
    return "float0" if dtype == float0 else str(dtype.name)


def _fix(aval: ShapedArray, got: ShapedArray, moves: bool) -> str:
    if not moves:
        return (
            f"float0: a value of type {aval.dtype.name} does not move, its tangent is "
            f"np.zeros({aval.shape}, xlascope.dtypes.float0)"
        )
    name = aval.dtype.name
    return f"{name}; convert it with astype, or numpy.asarray(x, {name!r})" + (
        ", or write 1.0 for 1" if got.dtype.kind in "bi" else ""
    )


def _path(structure: Any, index: int) -> tuple[Any, ...]:
    return tree.leaves_with_path(structure.unflatten(range(structure.num_leaves)))[index][0]


def tree_difference(expected: Any, found: Any, path: str = "") -> str:
    """Where two structures differ first: ``: at ['b'] there is a leaf where a tuple of 2 is expected``."""
    if expected == found:
        return ""
    left, right = expected.children(), found.children()
    if expected.node_data() == found.node_data() and len(left) == len(right):
        for key, a, b in zip(_keys(expected), left, right, strict=True):
            difference = tree_difference(a, b, path + key)
            if difference:
                return difference
    return f": at {path or 'the top'} there is {_kind(found)} where {_kind(expected)} is expected"


def _keys(structure: Any) -> list[str]:
    kind, data = structure.node_data()
    if kind is dict:
        return [f"[{key!r}]" for key in data]
    fields = getattr(kind, "_fields", None)
    return [f".{field}" for field in fields] if fields else [f"[{i}]" for i in range(len(structure.children()))]


def _kind(structure: Any) -> str:
    node = structure.node_data()
    if node is None:
        return "a leaf"
    kind, data = node
    if kind is type(None):
        return "None"
    return f"a dict with keys {data}" if kind is dict else f"a {kind.__name__} of {len(structure.children())}"
