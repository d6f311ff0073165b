"""One value or the other, example by example."""

from __future__ import annotations

from typing import Any

from ...operations.selection import select_n
from ...operations.shapes import expand_dims
from ...trace.values import aval_of


def selected(which: Any, *cases: Any) -> Any:
    """For each example, along the leading axis, one of the cases, all of which are mapped along it."""
    rank = len(aval_of(cases[0]).shape)
    return select_n(expand_dims(which, tuple(range(1, rank))) if rank > 1 else which, *cases)
