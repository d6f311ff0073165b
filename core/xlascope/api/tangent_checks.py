"""Checks of users' tangents and cotangents against the tree, shapes and dtypes they belong to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import tree
from ..dtypes import dtype_kind, float0, is_differentiable, to_canonical_dtype
from ..ir.avals import ShapedArray
from ..ir.markers import ZERO
from ..trace.source import compose_message
from ..trace.values import aval_of, invalid_operand_error
from .differentiated_arguments import at

#: Function that returns the name of the leaf at a path, or of the whole tree for an empty path, for messages.
LeafNamer = Callable[[Sequence[Any]], str]


class MismatchErrors(NamedTuple):
    """Types of the errors to raise for a tree, a shape or a dtype of tangents that does not match."""

    tree: type[Exception] = TypeError
    shape: type[Exception] = ValueError
    dtype: type[Exception] = TypeError


def tangent_namer(caller: Callable[[], str]) -> LeafNamer:
    """Return a namer of tangents, such as ``the tangent of argument 0['w'] given to …``.

    ``caller()`` returns the text after ``given to``.
    """
    return lambda path: (
        f"the tangent of argument {path[0].idx}{tree.keystr(path[1:])} given to {caller()}"
        if path
        else f"the tuple of tangents given to {caller()}"
    )


def cotangent_namer(caller: Callable[[], str]) -> LeafNamer:
    """Return a namer of cotangents, such as ``the cotangent ['loss'] given to …``.

    ``caller()`` returns the text after ``given to``.
    """
    return lambda path: f"the cotangent{' ' if path else ''}{tree.keystr(path)} given to {caller()}"


def check_tangents(
    tangents: Any,
    structure: Any,
    avals: Sequence[ShapedArray],
    name: LeafNamer,
    errors: MismatchErrors,
    *,
    lenient: bool = False,
    integers: bool = False,
) -> list[Any]:
    """Return the leaves of a tree of tangents after checks of structure, shapes and dtypes.

    Tangents of integers are returned as ``ZERO``. ``structure`` and ``avals`` are those of the values. Values
    of integer or boolean type have tangents of type float0; with ``lenient`` their tangents are not checked,
    and with ``integers`` they have the values' own type. Raises an error of the types in ``errors``, with the
    name of the leaf, ``name(path)``, and the expected type.
    """
    leaves, actual = tree.flatten(tangents)
    if actual != structure:
        difference = tree_difference(structure, actual)
        raise errors.tree(f"{name(())} has structure {actual}, expected {structure}{difference}{at()}")
    checked = []
    for i, (x, aval) in enumerate(zip(leaves, avals, strict=True)):
        if getattr(x, "aval", None) is not aval or not is_differentiable(aval.dtype):
            x = _check_leaf(x, aval, lambda i=i: name(_path(structure, i)), errors, lenient, integers)  # type: ignore[misc]
        checked.append(x)
    return checked


def _check_leaf(
    x: Any, aval: ShapedArray, name: Callable[[], str], errors: MismatchErrors, lenient: bool, integers: bool
) -> Any:
    """Return a tangent after checks of its shape and dtype; ``ZERO`` for one of an integer.

    ``aval`` is the type of the value; ``name()`` is the tangent's name for errors. The flags are those of
    :func:`check_tangents`.
    """
    try:
        got = aval_of(x)
    except TypeError:
        raise invalid_operand_error(x, name()) from None
    differentiable = integers or is_differentiable(aval.dtype)
    if not differentiable and lenient and got.dtype != float0:
        return ZERO
    if got.shape != aval.shape:
        raise errors.shape(f"{name()} has shape {got.shape}, expected {aval.shape}{at()}")
    if got.dtype != (aval.dtype if differentiable else float0):
        expected = aval.dtype.name if differentiable else "float0"
        problem = f"{name()} has dtype {dtype_name(got.dtype)}, expected {expected}."
        raise errors.dtype(compose_message(problem, _suggest_dtype(x, aval, got, differentiable)))
    return as_operand(x, aval) if differentiable else ZERO


def as_operand(x: Any, aval: ShapedArray) -> Any:
    """Convert a user's value to an operand: arrays are unchanged, others become NumPy values of the dtype."""
    return x if hasattr(x, "aval") else np.array(x, aval.dtype)[()]


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype, including float0."""
    return "float0" if dtype == float0 else str(dtype.name)


def _suggest_dtype(x: Any, aval: ShapedArray, got: ShapedArray, differentiable: bool) -> str:
    """Return advice on the dtype of a tangent ``x`` of type ``got``, whose value has the type ``aval``."""
    if not differentiable:
        return (
            f"A value of type {aval.dtype.name} does not move: its tangent is "
            f"numpy.zeros({aval.shape}, xlascope.dtypes.float0)."
        )
    if dtype_kind(got.dtype) == "c":
        return f"Give a real one of dtype {aval.dtype.name}."
    if not isinstance(x, (int, float)) or isinstance(x, np.generic):
        return f"Convert it with .astype({aval.dtype.name!r})."
    if aval.dtype == to_canonical_dtype(float):
        return f"Write {float(x)!r} instead of {x!r}."
    return f"Give xlascope.numpy.asarray({x!r}, {aval.dtype.name!r}) in place of {x!r}."


def _path(structure: Any, index: int) -> tuple[Any, ...]:
    return tree.leaves_with_path(structure.unflatten(range(structure.num_leaves)))[index][0]


def tree_difference(expected: Any, actual: Any, path: str = "") -> str:
    """Return the first difference of two structures, as ``: at ['b'] there is a leaf where a tuple of 2 is expected``.

    ``path`` is the key path, as text, that leads to these structures. The result is "" for equal ones.
    """
    if expected == actual:
        return ""
    expected_children, actual_children = expected.children(), actual.children()
    if expected.node_data() == actual.node_data() and len(expected_children) == len(actual_children):
        for key, a, b in zip(_keys(expected), expected_children, actual_children, strict=True):
            difference = tree_difference(a, b, path + key)
            if difference:
                return difference
    return f": at {path or 'the top'} there is {_describe_node(actual)} where {_describe_node(expected)} is expected"


def _keys(structure: Any) -> list[str]:
    kind, data = structure.node_data()
    if kind is dict:
        return [f"[{key!r}]" for key in data]
    fields = getattr(kind, "_fields", None)
    return [f".{field}" for field in fields] if fields else [f"[{i}]" for i in range(len(structure.children()))]


def _describe_node(structure: Any) -> str:
    node = structure.node_data()
    if node is None:
        return "a leaf"
    kind, data = node
    if kind is type(None):
        return "None"
    return f"a dict with keys {data}" if kind is dict else f"a {kind.__name__} of {len(structure.children())}"
