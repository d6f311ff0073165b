"""Trees that say something of each leaf of another tree, and may say it of a whole part at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import tree


class _Leaf:
    """A leaf of a tree whose structure is shown."""

    def __repr__(self) -> str:
        return "*"


def leaves_of_prefix(
    whom: str, what: str, prefix: Any, whole: Any, is_leaf: Callable[[Any], bool], where: Callable[[], str] = str
) -> list[Any]:
    """For each leaf of ``whole`` the leaf of ``prefix`` that stands for it.

    Raises ValueError, which says ``whom`` the tree was given to and ``what`` it is, for a tree that is no prefix.

    >>> leaves_of_prefix("vmap of f", "in_axes", (0, None), ([1, 2], 3), lambda x: x is None)
    [0, 0, None]
    """
    leaves, structure = tree.flatten(prefix, is_leaf=is_leaf)
    try:
        parts = structure.flatten_up_to(whole)
    except ValueError:
        shown = tree.map(lambda _: _Leaf(), whole)
        raise ValueError(
            f"{whom}: {what} {prefix!r} does not fit: it has to be a prefix of the tree it speaks of, which is "
            f"{shown!r}{where()}"
        ) from None
    return [leaf for leaf, part in zip(leaves, parts, strict=True) for _ in tree.leaves(part)]
