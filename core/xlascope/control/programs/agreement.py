"""Whether two trees of types agree, and where they do not, in words."""

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
    what: str, name: str, words: tuple[str, str], first: Any, second: Any, fix: str = "", page: str = ""
) -> None:
    """Raise TypeError unless two structures are equal.

    ``what`` says what they are of, ``name`` and ``words`` are as for :func:`differing`, ``fix`` says what to do and
    ``page`` where to read more.
    """
    if first != second:
        said = f"{what}: {_structural_difference(first, second, name, words)}."
        raise TypeError(compose_message(said, fix) + (see(page) if page else ""))


def _structural_difference(first: Any, second: Any, path: str, words: tuple[str, str]) -> str:
    """The first place at which two structures differ, and how."""
    kind, other = first.node_data(), second.node_data()
    children, others = first.children(), second.children()
    if kind is not None and kind == other and len(children) == len(others):
        keys = kind[1] if kind[0] is dict else range(len(children))
        for key, child, match in zip(keys, children, others, strict=True):
            if child != match:
                return _structural_difference(child, match, f"{path}[{key!r}]", words)
    return f"{path}: {words[0]} {tree.node_text(first)} and {words[1]} {tree.node_text(second)}"


def differing(
    structure: Any, first: Sequence[ShapedArray], second: Sequence[ShapedArray], name: str, words: tuple[str, str]
) -> str:
    """What differs between two lists of types, leaf by leaf: nothing where they agree up to being weak.

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
    what: str,
    words: tuple[str, str],
    structure: Any,
    avals: Sequence[ShapedArray],
    found_structure: Any,
    found: Sequence[ShapedArray],
) -> None:
    """Raise TypeError unless a result has the structure and the types of something else, of which ``what`` tells."""
    check_same_structure(what, "tree", words, structure, found_structure)
    different = differing(structure, avals, found, "leaf", words)
    if different:
        raise TypeError(compose_message(f"{what}: {different}."))
