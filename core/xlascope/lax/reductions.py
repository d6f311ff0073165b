"""Reductions with JAX's signatures."""

from __future__ import annotations

from typing import Any

from ..ir.requested_dtypes import requested_dtype
from ..operations import reductions
from ..operations.whole_numbers import whole_number


def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """Return the position of the first largest element along ``axis``, which is counted from the front."""
    return reductions.argmax(operand, whole_number(axis, "axis of argmax"), requested_dtype(index_dtype))


def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """Return the position of the first smallest element along ``axis``, which is counted from the front."""
    return reductions.argmin(operand, whole_number(axis, "axis of argmin"), requested_dtype(index_dtype))
