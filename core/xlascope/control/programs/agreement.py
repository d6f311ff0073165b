"""Checks that two trees of types agree, and descriptions of where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import tree
from ...dtypes import canonical, promote
from ...errors import see
from ...ir.avals import ShapedArray, strengthened
from ...trace.source import compose_message


def check_same_structure(
    claim: str, name: str, words: tuple[str, str], first: Any, second: Any, fix: str = "", page: str = ""
) -> None:
    """Raise TypeError unless two structures are equal.

    ``claim`` is the start of the message, ``name`` and ``words`` are as for :func:`describe_type_differences`,
    ``fix`` ends the message.
    """
    if first != second:
        said = f"{claim}: {_structural_difference(first, second, name, words)}."
        raise TypeError(compose_message(said, fix) + (see(page) if page else ""))


def _structural_difference(first: Any, second: Any, path: str, words: tuple[str, str]) -> str:
    """Return a description of the first position at which two structures differ."""
    first_kind, second_kind = first.node_data(), second.node_data()
    children, second_children = first.children(), second.children()
    if first_kind is not None and first_kind == second_kind and len(children) == len(second_children):
        keys = first_kind[1] if first_kind[0] is dict else range(len(children))
        for key, child, second_child in zip(keys, children, second_children, strict=True):
            if child != second_child:
                return _structural_difference(child, second_child, f"{path}[{key!r}]", words)
    return f"{path}: {words[0]} {tree.node_text(first)} and {words[1]} {tree.node_text(second)}"


def differing(
    structure: Any, first: Sequence[ShapedArray], second: Sequence[ShapedArray], name: str, words: tuple[str, str]
) -> str:
    """Return the differences between two lists of types, leaf by leaf: empty text if they agree except for weak types.

    Each difference reads ``name[path]: words[0] f32[] and words[1] i32[]``.
    """
    paths = [tree.keystr(path) for path, _ in tree.leaves_with_path(structure.unflatten(range(structure.num_leaves)))]
    return "; ".join(
        f"{name}{path}: {words[0]} {a.str_short()} and {words[1]} {b.str_short()}"
        for path, a, b in zip(paths, first, second, strict=True)
        if strengthened(a) is not strengthened(b)
    )


def differing_places(
    structure: Any, first: Sequence[ShapedArray], second: Sequence[ShapedArray]
) -> list[tuple[str, int]]:
    """Return the paths and the positions of the leaves whose types differ by more than being weak."""
    paths = [tree.keystr(path) for path, _ in tree.leaves_with_path(structure.unflatten(range(structure.num_leaves)))]
    pairs = enumerate(zip(first, second, strict=True))
    return [(paths[i], i) for i, (a, b) in pairs if strengthened(a) is not strengthened(b)]


def zeros_text(aval: ShapedArray) -> str:
    """Return how zeros of a type are written: ``zeros(10)``, ``zeros((), int32)``."""
    shape = str(aval.shape[0]) if len(aval.shape) == 1 else str(aval.shape)
    is_default = aval.shape and aval.dtype == canonical(float)
    return f"zeros({shape})" if is_default else f"zeros({shape}, {aval.dtype.name})"


def widens(a: ShapedArray, b: ShapedArray) -> bool:
    """Return whether values of the first type have the shape of the second when they meet it."""
    try:
        return np.broadcast_shapes(a.shape, b.shape) == b.shape
    except ValueError:
        return False


def meeting_dtype(a: ShapedArray, b: ShapedArray) -> Any:
    """Return the dtype in which two types meet; None where they do not, such as keys and numbers."""
    try:
        return promote(((a.dtype, a.weak_type), (b.dtype, b.weak_type)))[0]
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
    """Raise TypeError unless a result has the given structure and types; ``claim`` is the start of the message."""
    check_same_structure(claim, "tree", words, structure, result_structure)
    different = differing(structure, avals, result_avals, "leaf", words)
    if different:
        raise TypeError(compose_message(f"{claim}: {different}."))
