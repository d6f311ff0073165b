"""Reductions with JAX's signatures."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..operations import reductions
from ..trace.values import aval_of


def argmax(operand: Any, axis: int, index_dtype: Any = np.int32) -> Any:
    """The position of the first largest element along ``axis``."""
    return reductions.argmax(operand, axis % len(aval_of(operand).shape), np.dtype(index_dtype))


def argmin(operand: Any, axis: int, index_dtype: Any = np.int32) -> Any:
    """The position of the first smallest element along ``axis``."""
    return reductions.argmin(operand, axis % len(aval_of(operand).shape), np.dtype(index_dtype))
