"""What floating-point numbers are made of: exponents and mantissas, and the numbers beside them."""

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
    """The mantissa and the exponent of real numbers: ``x == mantissa * 2**exponent``.

    Mantissas are in [0.5, 1) but for their sign, exponents int32; of 0, infinities and NaN the exponent is 0, and the
    mantissa the number itself. Integers become floats; raises TypeError for complex numbers. The derivative of the
    mantissa is ``2**-exponent``.

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
    held = bitcast_convert_type(x, layout.whole)
    exponent, digits = _parts(held, layout)
    sign = logic.bitwise_and(held, layout.bits(1 << layout.width - 1))
    half = logic.bitwise_or(logic.bitwise_or(sign, layout.bits(layout.bias - 1 << layout.digits)), digits)
    power = ufuncs.subtract(as_dtype(exponent, _INT), layout.bias - 1)
    itself = logic.bitwise_or(logic.equal(held, sign), logic.logical_not(logic.isfinite(x)))
    mantissa = _scaled(x, logic.where(itself, x, bitcast_convert_type(half, aval_of(x).dtype)))
    return mantissa, logic.where(itself, 0, power)


@custom_jvp
def _scaled(x: Any, mantissa: Any) -> Any:
    """Return the mantissa of a number, which moves as the number does, by a power of two."""
    return mantissa


@_scaled.defjvp
def _scaled_jvp(primals: Any, tangents: Any) -> Any:
    (x, mantissa), (t, _) = primals, tangents
    itself = logic.equal(mantissa, x)
    scale = ufuncs.divide(mantissa, logic.where(logic.equal(x, 0), 1, x))
    return mantissa, ufuncs.multiply(t, stop_gradient(logic.where(itself, 1, scale)))


class _Layout(NamedTuple):
    """How a number is kept: sign, exponent above its bias, and that many digits of the mantissa."""

    width: int
    digits: int
    bias: int
    whole: np.dtype[Any]

    def bits(self, value: int) -> Any:
        return typed_scalar(value, self.whole)


def _layout(dtype: np.dtype[Any]) -> _Layout:
    limits, width = finfo(dtype), bits_of(dtype)
    return _Layout(width, int(limits.nmant), 1 - int(limits.minexp), np.dtype(f"uint{width}"))


def _parts(held: Any, layout: _Layout) -> tuple[Any, Any]:
    """The exponent, as int32 above its bias, and the digits behind the first one.

    Numbers too small for an exponent of their own have it lower by the zeros before their first digit. They are looked
    at as bits: XLA computes with zeros in their place.
    """
    digits = logic.bitwise_and(held, layout.bits((1 << layout.digits) - 1))
    mask = (1 << layout.width - 1 - layout.digits) - 1
    exponent = as_dtype(logic.right_shift(held, layout.bits(layout.digits)), _INT)
    exponent = logic.bitwise_and(exponent, mask)
    missing = ufuncs.subtract(bits.clz(digits), layout.bits(layout.width - 1 - layout.digits))
    moved = logic.bitwise_and(logic.left_shift(digits, missing), layout.bits((1 << layout.digits) - 1))
    small = logic.equal(exponent, 0)
    return logic.where(small, ufuncs.subtract(1, as_dtype(missing, _INT)), exponent), logic.where(small, moved, digits)


def nextafter(x: Any, y: Any, /) -> Any:
    """The number of the dtype beside ``x`` in the direction of ``y``, elementwise.

    Both are real numbers of shapes that broadcast together; integers become floats.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.nextafter(0.0, 1.0))
    1e-45
    """
    return bits.nextafter(*inexact_pair(x, y))


@together()
def spacing(x: Any, /) -> Any:
    """How far it is from real numbers to the next ones away from 0, with the sign of the numbers.

    Of infinities and NaN it is NaN. Integers become floats; raises ValueError for complex numbers.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.spacing(jnp.array([1.0, -4.0])))
    [ 1.1920929e-07 -4.7683716e-07]
    """
    x = inexact(x)
    dtype = aval_of(x).dtype
    if kind_of(dtype) == "c":
        raise ValueError(f"spacing takes real numbers, got {dtype.name}")
    away = logic.copysign(typed_scalar(math.inf, dtype), x)
    beside = bits.nextafter(x, away)
    return logic.where(logic.equal(x, 0), beside, ufuncs.subtract(beside, x))  # a difference that small may become 0
