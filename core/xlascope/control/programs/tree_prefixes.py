"""Tree prefixes: trees whose leaves apply to whole subtrees of another tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import tree


class _Leaf:
    """Placeholder for a leaf when a tree is printed in a message."""

    def __repr__(self) -> str:
        return "*"


def broadcast_prefix_leaves(
    caller: str,
    arg_name: str,
    prefix: Any,
    full_tree: Any,
    is_leaf: Callable[[Any], bool],
    location: Callable[[], str] = str,
) -> list[Any]:
    """Return for each leaf of ``full_tree`` the leaf of ``prefix`` that applies to it.

    ``is_leaf`` says which values of the prefix are leaves. Raises ValueError for a tree that is not a prefix; its
    message names the function (``caller``) and the argument (``arg_name``) that the prefix was passed as, and ends
    with ``location()``.

    >>> broadcast_prefix_leaves("vmap of f", "in_axes", (0, None), ([1, 2], 3), lambda x: x is None)
    [0, 0, None]
    """
    leaves, structure = tree.flatten(prefix, is_leaf=is_leaf)
    try:
        parts = structure.flatten_up_to(full_tree)
    except ValueError:
        printable_tree = tree.map(lambda _: _Leaf(), full_tree)
        raise ValueError(
            f"{caller}: {arg_name} {prefix!r} does not fit: it has to be a prefix of the tree it speaks of, which is "
            f"{printable_tree!r}{location()}"
        ) from None
    return [leaf for leaf, part in zip(leaves, parts, strict=True) for _ in tree.leaves(part)]
