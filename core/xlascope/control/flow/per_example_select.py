"""Selection between batched values, example by example."""

from __future__ import annotations

from typing import Any

from ...operations.selection import select_n
from ...operations.shapes import expand_dims
from ...trace.values import aval_of


def select_per_example(index: Any, *cases: Any) -> Any:
    """Return for each example the value of ``cases[index]``.

    ``index`` has an integer or boolean for each example; all cases have the batch axis in front.
    """
    rank = len(aval_of(cases[0]).shape)
    return select_n(expand_dims(index, tuple(range(1, rank))) if rank > 1 else index, *cases)
