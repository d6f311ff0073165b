"""The reductions of ``logaddexp`` and ``logaddexp2``: the logarithm of a sum of powers, without overflow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import is_floating
from ..operations import exponentials
from ..operations.arithmetic import add, div, sub
from ..operations.barriers import stop_gradient
from ..operations.reductions import reduce_max_unless_nan
from ..operations.rounding import is_finite
from ..operations.shapes import expand_dims, reduce_sum
from ..trace.values import aval_of
from . import logic
from .axes import axes_of, to_static_axis
from .jit_wrapped import jit_wrapped
from .promotion import as_dtype
from .reductions import keep_reduced_axes
from .transcendental import logaddexp, logaddexp2


def reduce_logaddexp(x: Any, axis: Any, *, keepdims: bool, initial: Any, where: Any) -> Any:
    """Return log Σ exp(x) of floating-point elements along ``axis``, with ``exp(initial)`` as one more term.

    Elements at which ``where`` is false are left out. A 16-bit floating-point type is added in float32.
    """
    total = _log_sum(x, where, axis=to_static_axis(axis), keepdims=keepdims, binary=False)
    return total if initial is None else as_dtype(logaddexp(total, initial), aval_of(x).dtype)


def reduce_logaddexp2(x: Any, axis: Any, *, keepdims: bool, initial: Any, where: Any) -> Any:
    """Return log2 Σ 2^x of floating-point elements, as :func:`reduce_logaddexp` does for the base e."""
    total = _log_sum(x, where, axis=to_static_axis(axis), keepdims=keepdims, binary=True)
    return total if initial is None else as_dtype(logaddexp2(total, initial), aval_of(x).dtype)


@jit_wrapped("axis", "keepdims", "binary")
def _log_sum(x: Any, where: Any, *, axis: Any, keepdims: bool, binary: bool) -> Any:
    dtype = aval_of(x).dtype
    if is_floating(dtype) and dtype.itemsize == 2:
        x = as_dtype(x, np.dtype("float32"))
    x = x if where is None else logic.where(where, x, -math.inf)
    rank = len(aval_of(x).shape)
    axes = tuple(range(rank)) if axis is None else axes_of(axis, rank)
    maximum = reduce_max_unless_nan(x, axes)
    maximum = stop_gradient(logic.where(is_finite(maximum), maximum, 0))
    shifted = sub(x, expand_dims(maximum, axes))
    if binary:
        total = div(exponentials.log(reduce_sum(exponentials.exp2(shifted), axes)), math.log(2.0))
    else:
        total = exponentials.log(reduce_sum(exponentials.exp(shifted), axes))
    return as_dtype(keep_reduced_axes(add(total, maximum), axes, keepdims), dtype)
