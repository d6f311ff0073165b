"""Checks of users' tangents and cotangents against the tree, shapes and dtypes they belong to."""

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

#: Function that returns the name of the leaf at a path, or of the whole tree for an empty path, for messages.
Naming = Callable[[Sequence[Any]], str]


class Errors(NamedTuple):
    """Types of the errors that JAX raises for a mismatched tree, shape or dtype."""

    tree: type[Exception] = TypeError
    shape: type[Exception] = ValueError
    dtype: type[Exception] = TypeError


def tangents_of(caller: Callable[[], str]) -> Naming:
    """Return a namer of tangents: ``the tangent of argument 0['w'] given to …``."""
    return lambda path: (
        f"the tangent of argument {path[0].idx}{tree.keystr(path[1:])} given to {caller()}"
        if path
        else f"the tuple of tangents given to {caller()}"
    )


def cotangents_of(caller: Callable[[], str]) -> Naming:
    """Return a namer of cotangents: ``the cotangent ['loss'] given to …``."""
    return lambda path: f"the cotangent{' ' if path else ''}{tree.keystr(path)} given to {caller()}"


def matched(
    tangents: Any,
    structure: Any,
    avals: Sequence[ShapedArray],
    name: Naming,
    errors: Errors,
    *,
    lenient: bool = False,
    integers: bool = False,
) -> list[Any]:
    """Return the leaves of a tree of tangents after checks of structure, shapes and dtypes; ZERO for those of integers.

    Values of integer or boolean type have tangents of type float0; with ``lenient`` their tangents are not
    checked, and with ``integers`` they are of the values' own type. Raises ``errors``, naming the leaf and the
    expected type.
    """
    leaves, actual = tree.flatten(tangents)
    if actual != structure:
        difference = tree_difference(structure, actual)
        raise errors.tree(f"{name(())} has structure {actual}, expected {structure}{difference}{at()}")
    checked = []
    for i, (x, aval) in enumerate(zip(leaves, avals, strict=True)):
        if getattr(x, "aval", None) is not aval or not is_differentiable(aval.dtype):
            x = _matched(x, aval, lambda i=i: name(_path(structure, i)), errors, lenient, integers)  # type: ignore[misc]
        checked.append(x)
    return checked


def _matched(x: Any, aval: ShapedArray, name: Callable[[], str], errors: Errors, lenient: bool, integers: bool) -> Any:
    try:
        got = aval_of(x)
    except TypeError:
        raise not_an_array(x, name()) from None
    differentiable = integers or is_differentiable(aval.dtype)
    if not differentiable and lenient and got.dtype != float0:
        return ZERO
    if got.shape != aval.shape:
        raise errors.shape(f"{name()} has shape {got.shape}, expected {aval.shape}{at()}")
    if got.dtype != (aval.dtype if differentiable else float0):
        raise errors.dtype(
            f"{name()} has dtype {dtype_name(got.dtype)}, expected {_fix(aval, got, differentiable)}{at()}"
        )
    return as_operand(x, aval) if differentiable else ZERO


def as_operand(x: Any, aval: ShapedArray) -> Any:
    """Convert a user's value to an operand: arrays are unchanged, others become NumPy values of the dtype."""
    return x if hasattr(x, "aval") else np.array(x, aval.dtype)[()]


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype, including float0."""
    return "float0" if dtype == float0 else str(dtype.name)


def _fix(aval: ShapedArray, got: ShapedArray, differentiable: bool) -> str:
    if not differentiable:
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


def tree_difference(expected: Any, actual: Any, path: str = "") -> str:
    """Return the first difference of two structures: ``: at ['b'] there is a leaf where a tuple of 2 is expected``."""
    if expected == actual:
        return ""
    left, right = expected.children(), actual.children()
    if expected.node_data() == actual.node_data() and len(left) == len(right):
        for key, a, b in zip(_keys(expected), left, right, strict=True):
            difference = tree_difference(a, b, path + key)
            if difference:
                return difference
    return f": at {path or 'the top'} there is {_kind(actual)} where {_kind(expected)} is expected"


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
