"""Decomposition of floating-point numbers into exponent and mantissa, and neighbouring numbers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..control.rules.custom_jvp import custom_jvp
from ..dtypes import bits_of, finfo, kind_of
from ..operations import bits
from ..operations.barriers import stop_gradient
from ..operations.conversion import bitcast_convert_type
from ..operations.values import typed_scalar
from ..trace.values import aval_of
from . import logic, ufuncs
from .promotion import as_dtype, inexact, inexact_pair
from .together import together

_INT = np.dtype("int32")


@together()
def frexp(x: Any, /) -> tuple[Any, Any]:
    """Return the mantissa and the exponent of real numbers: ``x == mantissa * 2**exponent``.

    Absolute values of mantissas are in [0.5, 1); exponents are int32. For 0, infinities and NaN the exponent is
    0, and the mantissa is the number itself. Integers become floats; raises TypeError for complex numbers. The
    derivative of the mantissa is ``2**-exponent``.

    >>> import xlascope.numpy as jnp
    >>> mantissa, exponent = jnp.frexp(jnp.array([6.0, -0.75]))
    >>> print(mantissa, exponent)
    [ 0.75 -0.75] [3 0]
    """
    x = inexact(x)
    if kind_of(aval_of(x).dtype) == "c":
        raise TypeError(f"frexp takes real numbers, got {aval_of(x).dtype.name}")
    x = as_dtype(x, aval_of(x).dtype)
    layout = _layout(aval_of(x).dtype)
    word = bitcast_convert_type(x, layout.whole)
    exponent, digits = _parts(word, layout)
    sign = logic.bitwise_and(word, layout.bits(1 << layout.width - 1))
    half = logic.bitwise_or(logic.bitwise_or(sign, layout.bits(layout.bias - 1 << layout.digits)), digits)
    power = ufuncs.subtract(as_dtype(exponent, _INT), layout.bias - 1)
    is_unchanged = logic.bitwise_or(logic.equal(word, sign), logic.logical_not(logic.isfinite(x)))
    mantissa = _scaled(x, logic.where(is_unchanged, x, bitcast_convert_type(half, aval_of(x).dtype)))
    return mantissa, logic.where(is_unchanged, 0, power)


@custom_jvp
def _scaled(x: Any, mantissa: Any) -> Any:
    """Return the mantissa, with the derivative of a multiplication of the number by a power of two."""
    return mantissa


@_scaled.defjvp
def _scaled_jvp(primals: Any, tangents: Any) -> Any:
    (x, mantissa), (t, _) = primals, tangents
    is_unchanged = logic.equal(mantissa, x)
    scale = ufuncs.divide(mantissa, logic.where(logic.equal(x, 0), 1, x))
    return mantissa, ufuncs.multiply(t, stop_gradient(logic.where(is_unchanged, 1, scale)))


class _Layout(NamedTuple):
    """Bit layout of a floating-point dtype: total width, digits of the mantissa, bias of the exponent."""

    width: int
    digits: int
    bias: int
    whole: np.dtype[Any]

    def bits(self, value: int) -> Any:
        return typed_scalar(value, self.whole)


def _layout(dtype: np.dtype[Any]) -> _Layout:
    limits, width = finfo(dtype), bits_of(dtype)
    return _Layout(width, int(limits.nmant), 1 - int(limits.minexp), np.dtype(f"uint{width}"))


def _parts(word: Any, layout: _Layout) -> tuple[Any, Any]:
    """Return the biased exponent as int32, and the mantissa digits behind the leading one.

    Subnormal numbers are normalized: the exponent is lower by the number of leading zeros. The computation uses
    bits, since XLA flushes subnormal numbers to zero.
    """
    digits = logic.bitwise_and(word, layout.bits((1 << layout.digits) - 1))
    mask = (1 << layout.width - 1 - layout.digits) - 1
    exponent = as_dtype(logic.right_shift(word, layout.bits(layout.digits)), _INT)
    exponent = logic.bitwise_and(exponent, mask)
    shift = ufuncs.subtract(bits.clz(digits), layout.bits(layout.width - 1 - layout.digits))
    normalized = logic.bitwise_and(logic.left_shift(digits, shift), layout.bits((1 << layout.digits) - 1))
    tiny = logic.equal(exponent, 0)
    return logic.where(tiny, ufuncs.subtract(1, as_dtype(shift, _INT)), exponent), logic.where(tiny, normalized, digits)


def nextafter(x: Any, y: Any, /) -> Any:
    """Return the next number of the dtype after ``x`` in the direction of ``y``, elementwise.

    Both are real numbers of shapes that broadcast together; integers become floats.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.nextafter(0.0, 1.0))
    1e-45
    """
    return bits.nextafter(*inexact_pair(x, y))


@together()
def spacing(x: Any, /) -> Any:
    """Return the distance from real numbers to the next ones away from 0, with the sign of the numbers.

    For infinities and NaN it is NaN. Integers become floats; raises ValueError for complex numbers.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.spacing(jnp.array([1.0, -4.0])))
    [ 1.1920929e-07 -4.7683716e-07]
    """
    x = inexact(x)
    dtype = aval_of(x).dtype
    if kind_of(dtype) == "c":
        raise ValueError(f"spacing takes real numbers, got {dtype.name}")
    away = logic.copysign(typed_scalar(math.inf, dtype), x)
    neighbour = bits.nextafter(x, away)
    return logic.where(logic.equal(x, 0), neighbour, ufuncs.subtract(neighbour, x))  # it may flush to 0
