"""Decomposition of floating-point numbers into exponent and mantissa, and neighbouring numbers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..control.rules.custom_jvp import custom_jvp
from ..dtypes import dtype_bits, dtype_kind, finfo
from ..operations import bits
from ..operations.barriers import stop_gradient
from ..operations.conversion import to_bits
from ..operations.operand_values import typed_scalar
from ..trace.values import aval_of
from . import logic, ufuncs
from .jit_wrapped import jit_wrapped
from .promotion import as_dtype, promote_inexact, promote_pair_inexact

_INT = np.dtype("int32")


@jit_wrapped()
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
    x = promote_inexact(x)
    if dtype_kind(aval_of(x).dtype) == "c":
        raise TypeError(f"frexp takes real numbers, got {aval_of(x).dtype.name}")
    x = as_dtype(x, aval_of(x).dtype)
    layout = _layout_of(aval_of(x).dtype)
    word = to_bits(x, layout.integer_dtype)
    exponent, digits = _exponent_and_digits(word, layout)
    sign = logic.bitwise_and(word, layout.bits(1 << layout.width - 1))
    half = logic.bitwise_or(logic.bitwise_or(sign, layout.bits(layout.bias - 1 << layout.digits)), digits)
    power = ufuncs.subtract(as_dtype(exponent, _INT), layout.bias - 1)
    is_unchanged = logic.bitwise_or(logic.equal(word, sign), logic.logical_not(logic.isfinite(x)))
    mantissa = _differentiable_mantissa(x, logic.where(is_unchanged, x, to_bits(half, aval_of(x).dtype)))
    return mantissa, logic.where(is_unchanged, 0, power)


@custom_jvp
def _differentiable_mantissa(x: Any, mantissa: Any) -> Any:
    """Return ``mantissa``, whose derivative is that of ``x`` times a constant power of two, ``mantissa / x``."""
    return mantissa


@_differentiable_mantissa.defjvp
def _differentiable_mantissa_jvp(primals: Any, tangents: Any) -> Any:
    (x, mantissa), (t, _) = primals, tangents
    is_unchanged = logic.equal(mantissa, x)
    scale = ufuncs.divide(mantissa, logic.where(logic.equal(x, 0), 1, x))
    return mantissa, ufuncs.multiply(t, stop_gradient(logic.where(is_unchanged, 1, scale)))


class _FloatLayout(NamedTuple):
    """Bit layout of a floating-point dtype.

    ``width`` is the number of bits, ``digits`` that of the mantissa, ``bias`` the bias of the exponent,
    ``integer_dtype`` the unsigned integer dtype of the same width.
    """

    width: int
    digits: int
    bias: int
    integer_dtype: np.dtype[Any]

    def bits(self, value: int) -> Any:
        return typed_scalar(value, self.integer_dtype)


def _layout_of(dtype: np.dtype[Any]) -> _FloatLayout:
    limits, width = finfo(dtype), dtype_bits(dtype)
    return _FloatLayout(width, int(limits.nmant), 1 - int(limits.minexp), np.dtype(f"uint{width}"))


def _exponent_and_digits(word: Any, layout: _FloatLayout) -> tuple[Any, Any]:
    """Return the biased exponent as int32, and the mantissa digits after the leading one.

    ``word`` holds the bits of the numbers as unsigned integers. Subnormal numbers are normalized: the exponent is
    lower by the number of leading zeros. The computation uses bits, since XLA flushes subnormal numbers to zero.
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
    return bits.nextafter(*promote_pair_inexact(x, y))


@jit_wrapped()
def spacing(x: Any, /) -> Any:
    """Return the distance from real numbers to the next ones away from 0, with the sign of the numbers.

    For infinities and NaN it is NaN. Integers become floats; raises ValueError for complex numbers.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.spacing(jnp.array([1.0, -4.0])))
    [ 1.1920929e-07 -4.7683716e-07]
    """
    x = promote_inexact(x)
    dtype = aval_of(x).dtype
    if dtype_kind(dtype) == "c":
        raise ValueError(f"spacing takes real numbers, got {dtype.name}")
    away = logic.copysign(typed_scalar(math.inf, dtype), x)
    neighbour = bits.nextafter(x, away)
    return logic.where(logic.equal(x, 0), neighbour, ufuncs.subtract(neighbour, x))  # it may flush to 0
