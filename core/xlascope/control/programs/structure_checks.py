"""Checks that two trees of types agree, and descriptions of where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import tree
from ...dtypes import promote_dtypes, to_canonical_dtype
from ...errors import see
from ...ir.avals import ShapedArray, is_same_type
from ...trace.source import compose_message


def check_same_structure(
    claim: str,
    name: str,
    words: tuple[str, str],
    first: Any,
    second: Any,
    fix: str = "",
    page: str = "",
    separator: str = ": ",
) -> None:
    """Raise TypeError unless two structures are equal.

    ``claim`` is the start of the message, ``name`` and ``words`` are as for :func:`describe_type_differences`,
    ``fix`` is advice at its end, ``page`` the page of the documentation that it refers to. ``separator`` stands between
    the path of the difference and the words.
    """
    if first != second:
        problem = f"{claim}: {_structural_difference(first, second, name, words, separator)}."
        raise TypeError(compose_message(problem, fix) + (see(page) if page else ""))


def _structural_difference(first: Any, second: Any, path: str, words: tuple[str, str], separator: str) -> str:
    """Return a description of the first position at which two different structures differ.

    ``path`` names the position of both, ``words`` are as for :func:`describe_type_differences`, ``separator`` stands
    after the path.
    """
    first_kind, second_kind = first.node_data(), second.node_data()
    children, second_children = first.children(), second.children()
    if first_kind is not None and first_kind == second_kind and len(children) == len(second_children):
        keys = first_kind[1] if first_kind[0] is dict else range(len(children))
        for key, child, second_child in zip(keys, children, second_children, strict=True):
            if child != second_child:
                return _structural_difference(child, second_child, f"{path}[{key!r}]", words, separator)
    return f"{path}{separator}{words[0]} {tree.describe_node(first)} and {words[1]} {tree.describe_node(second)}"


def describe_type_differences(
    structure: Any, first: Sequence[ShapedArray], second: Sequence[ShapedArray], name: str, words: tuple[str, str]
) -> str:
    """Return the differences between two lists of types, leaf by leaf: empty text if they agree except for weak types.

    ``structure`` is the tree of both lists. Each difference reads ``name[path]: words[0] f32[] and words[1] i32[]``.
    """
    paths = [tree.keystr(path) for path, _ in tree.leaves_with_path(structure.unflatten(range(structure.num_leaves)))]
    return "; ".join(
        f"{name}{path}: {words[0]} {a.str_short()} and {words[1]} {b.str_short()}"
        for path, a, b in zip(paths, first, second, strict=True)
        if not is_same_type(a, b)
    )


def find_type_differences(
    structure: Any, first: Sequence[ShapedArray], second: Sequence[ShapedArray]
) -> list[tuple[str, int]]:
    """Return (path, index) of each leaf whose type differs by more than being weak.

    ``structure`` is the tree of both lists of types.
    """
    paths = [tree.keystr(path) for path, _ in tree.leaves_with_path(structure.unflatten(range(structure.num_leaves)))]
    pairs = enumerate(zip(first, second, strict=True))
    return [(paths[i], i) for i, (a, b) in pairs if not is_same_type(a, b)]


def zeros_text(aval: ShapedArray) -> str:
    """Return an expression for zeros of a type, for advice in messages: ``xlascope.numpy.zeros(10)``."""
    shape = str(aval.shape[0]) if len(aval.shape) == 1 else str(aval.shape)
    is_default = aval.shape and aval.dtype == to_canonical_dtype(float)
    return f"xlascope.numpy.zeros({shape})" if is_default else f"xlascope.numpy.zeros({shape}, {aval.dtype.name!r})"


def can_broadcast(a: ShapedArray, b: ShapedArray) -> bool:
    """Return whether the shape of ``a`` broadcasts to that of ``b``."""
    try:
        return np.broadcast_shapes(a.shape, b.shape) == b.shape
    except ValueError:
        return False


def promoted_dtype(a: ShapedArray, b: ShapedArray) -> Any:
    """Return the dtype to which two types are promoted; None for types that cannot be combined: keys and numbers."""
    try:
        return promote_dtypes(((a.dtype, a.weak_type), (b.dtype, b.weak_type)))[0]
    except TypeError:
        return None


def check_like(
    claim: str,
    words: tuple[str, str],
    structure: Any,
    avals: Sequence[ShapedArray],
    result_structure: Any,
    result_avals: Sequence[ShapedArray],
) -> None:
    """Raise TypeError unless a result has the given structure and types.

    ``claim`` is the start of the message, ``words`` are as for :func:`describe_type_differences`.
    """
    check_same_structure(claim, "tree", words, structure, result_structure)
    different = describe_type_differences(structure, avals, result_avals, "leaf", words)
    if different:
        raise TypeError(compose_message(f"{claim}: {different}."))
