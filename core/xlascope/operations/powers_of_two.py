"""Powers of two, made of the bits of floating-point numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..trace.bind import bind1
from .arithmetic import add, sub
from .bits import shift_left
from .conversion import BitcastConvertType, to_dtype
from .extremes import clamp
from .operand_values import dtype_of, typed_scalar
from .rounding import floor

_INTEGERS: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.float32): np.dtype(np.int32),
    np.dtype(np.float64): np.dtype(np.int64),
}


def split_exponent(x: Any) -> tuple[Any, Any]:
    """Return ``rest`` in [0, 1) and the power of two ``scale`` with ``2**x == scale * 2**rest``.

    ``x`` is float32 or float64. ``scale`` is infinite where 2**x is, and 0 where that is less than the least normal
    number.
    """
    dtype = dtype_of(x)
    limits = np.finfo(dtype)
    bounded = clamp(float(limits.minexp - 1), x, float(limits.maxexp))
    exponent = floor(bounded)
    biased = to_dtype(add(exponent, float(limits.maxexp - 1)), _INTEGERS[dtype])
    bits = shift_left(biased, typed_scalar(limits.nmant, _INTEGERS[dtype]))
    return sub(bounded, exponent), bind1(BitcastConvertType(dtype), bits)
