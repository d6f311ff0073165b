"""What is compared of a sparse array: its layout, and the dense array that it stands for.

In which order entries are stored, and where those lie that stand for nothing, nobody promises.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def is_sparse(value: Any) -> bool:
    """Whether it is one of the library's sparse arrays."""
    return type(value).__name__ in ("BCOO", "BCSR")


def gradient(library: Any, program: Any, operands: Sequence[Any]) -> Any:
    """That of the sum of the squares of what a program gives, by what it is given: sparse where that is."""

    def total(*values: Any) -> Any:
        found = library.tree_util.tree_leaves(program(*values), is_leaf=is_sparse)
        dense = [each.todense() if is_sparse(each) else each for each in found]
        return sum(library.numpy.sum(library.numpy.abs(each) ** 2) for each in dense)

    places = tuple(range(len(operands)))
    return library.experimental.sparse.grad(total, places if len(places) > 1 else 0)(*operands)


def shown(value: Any) -> Any:
    """A result with tuples in place of sparse arrays."""
    if is_sparse(value):
        layout = value.shape, value.nse, value.n_batch, value.n_dense, str(value.indices.dtype)
        return (type(value).__name__, layout, value.todense())
    if type(value) in (list, tuple):
        return type(value)(shown(each) for each in value)
    return value
