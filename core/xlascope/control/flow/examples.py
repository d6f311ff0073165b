"""Selection between batched values, example by example."""

from __future__ import annotations

from typing import Any

from ...operations.selection import select_n
from ...operations.shapes import expand_dims
from ...trace.values import aval_of


def selected(index: Any, *cases: Any) -> Any:
    """Select one of the cases for each example; all cases are mapped along the leading axis."""
    rank = len(aval_of(cases[0]).shape)
    return select_n(expand_dims(index, tuple(range(1, rank))) if rank > 1 else index, *cases)
