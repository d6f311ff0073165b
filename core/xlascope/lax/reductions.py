"""Reductions with JAX's signatures."""

from __future__ import annotations

from typing import Any

from ..ir.requested_dtypes import resolve_requested_dtype
from ..operations import extreme_positions
from ..operations.integer_arguments import whole_number


def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """Return the position of the first largest element along ``axis``, a number from 0 on, as an ``index_dtype``."""
    return extreme_positions.argmax(operand, whole_number(axis, "axis of argmax"), resolve_requested_dtype(index_dtype))


def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """Return the position of the first smallest element along ``axis``, a number from 0 on, as an ``index_dtype``."""
    return extreme_positions.argmin(operand, whole_number(axis, "axis of argmin"), resolve_requested_dtype(index_dtype))
