"""Elementwise functions of one operand. ``derivative`` is f'(x)·t, in terms of x, of y = f(x), or of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import canonical
from ..ir.avals import ShapedArray, shaped
from ..ir.markers import ZERO
from ..trace.bind import bind1
from ..xla.builder import attribute
from . import arithmetic as a
from . import complex_numbers as c
from .families import Flat, Linear, Unary, pushed, require_kind, sum_tangents
from .values import aval as aval_of_operand
from .values import typed_scalar


class Neg(Linear, name="neg"):
    """-x."""

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        require_kind(self.name, operands[0].dtype, "ifc")
        return list(operands)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.emit("stablehlo.negate", operands)  # type: ignore[no-any-return]

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return results[0].size

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        return [neg(*cotangents)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [neg(*operands)], list(axes)


class Exp(Unary, name="exp"):
    """e to the power x."""

    hlo = "stablehlo.exponential"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, y)


class Exp2(Unary, name="exp2"):
    """2 to the power x."""

    hlo = "stablehlo.exponential"

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (aval,) = builder.out_avals
        scaled = builder.emit1("stablehlo.multiply", [operands[0], builder.constant(math.log(2.0), aval)], aval)
        return builder.emit(self.hlo, [scaled])  # type: ignore[no-any-return]

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(a.mul(t, y), math.log(2.0))


class Expm1(Unary, name="expm1"):
    """e to the power x, minus one, exact near zero."""

    hlo = "stablehlo.exponential_minus_one"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, a.add(y, 1.0))


class Log(Unary, name="log"):
    """The natural logarithm."""

    hlo = "stablehlo.log"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.div(t, x)


class Log1p(Unary, name="log1p"):
    """The natural logarithm of 1 + x, exact near zero."""

    hlo = "stablehlo.log_plus_one"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.div(t, a.add(x, 1.0))


class Sin(Unary, name="sin"):
    """The sine."""

    hlo = "stablehlo.sine"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, cos(x))


class Cos(Unary, name="cos"):
    """The cosine."""

    hlo = "stablehlo.cosine"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, neg(sin(x)))


class Tan(Unary, name="tan"):
    """The tangent; tan' = 1 + tan²."""

    hlo = "stablehlo.tan"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, a.add(square(y), 1.0))


class Tanh(Unary, name="tanh"):
    """The hyperbolic tangent; tanh' = (1 - tanh) (1 + tanh), which does not cancel where tanh is near one."""

    hlo = "stablehlo.tanh"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(sum_tangents([t, a.mul(t, y)]), a.sub(1.0, y))


class Logistic(Unary, name="logistic"):
    """The sigmoid 1 / (1 + e^-x); its derivative is y (1 - y)."""

    hlo = "stablehlo.logistic"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, a.mul(y, a.sub(1.0, y)))


class Sqrt(Unary, name="sqrt"):
    """The square root; sqrt' = 1 / (2 sqrt)."""

    hlo = "stablehlo.sqrt"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, a.div(0.5, y))


class Rsqrt(Unary, name="rsqrt"):
    """One over the square root; its derivative is -y / (2 x)."""

    hlo = "stablehlo.rsqrt"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, a.mul(-0.5, a.div(y, x)))


class Cbrt(Unary, name="cbrt"):
    """The cube root; its derivative is 1 / (3 y²)."""

    hlo = "stablehlo.cbrt"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, a.mul(1 / 3, integer_pow(y, -2)))


class Square(Unary, name="square"):
    """x times x."""

    hlo = "stablehlo.multiply"
    kinds = "ifc"

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,) = operands
        return builder.emit(self.hlo, [x, x])  # type: ignore[no-any-return]

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, a.mul(2.0, x))

    def taylor_rule(self, degree: int, operands: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        # x_0 x_k + … + x_k x_0: each product but the middle one stands there twice
        (x,) = operands
        pairs = [(x[i], x[degree - i]) for i in range((degree + 1) // 2)]
        half = sum_tangents([a.mul(p, q) for p, q in pairs if p is not ZERO and q is not ZERO])
        middle = ZERO if degree % 2 or x[degree // 2] is ZERO else square(x[degree // 2])
        return [sum_tangents([half if half is ZERO else a.mul(2.0, half), middle])]


class IntegerPow(Unary, name="integer_pow"):
    """x to a whole power, by repeated squaring."""

    y: int

    hlo = "stablehlo.multiply"
    kinds = "ifc"

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,) = operands
        (aval,) = builder.out_avals
        result, power, rest = None, x, self.y if self.y >= 0 else -self.y
        while rest:
            if rest & 1:
                result = power if result is None else builder.emit1(self.hlo, [result, power], aval)
            rest >>= 1
            if rest:
                power = builder.emit1(self.hlo, [power, power], aval)
        one = builder.constant(1, aval)
        if result is None:
            return [one]
        return [result] if self.y >= 0 else [builder.emit1("stablehlo.divide", [one, result], aval)]

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        if self.y in (0, 1):
            return t if self.y else ZERO
        return a.mul(t, a.mul(float(self.y), x if self.y == 2 else integer_pow(x, self.y - 1)))


class Abs(Unary, name="abs"):
    """The absolute value; its derivative is the sign, and one at zero. Of a complex value the length, a real value
    that moves by the real part of t times conj(x) / |x|, and by nothing at zero.
    """

    hlo = "stablehlo.abs"
    kinds = "ifc"

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = super().abstract_eval(operands)
        return [x if x.dtype.kind != "c" else shaped(x.shape, c.real_dtype(x.dtype), x.weak_type)]

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        dtype = aval_of_operand(x).dtype
        if dtype.kind == "c":
            length = a.select(a.eq(y, 0), typed_scalar(1, c.real_dtype(dtype)), y)
            return c.real(a.mul(t, a.div(c.conj(x), convert_element_type(length, dtype))))
        return a.mul(t, a.select(a.ge(x, 0), typed_scalar(1, dtype), typed_scalar(-1, dtype)))


class Erf(Unary, name="erf"):
    """The error function; erf' = 2/√π e^(-x²)."""

    hlo = "chlo.erf"
    kinds = "f"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, a.mul(2 / math.sqrt(math.pi), exp(neg(square(x)))))


class ErfInv(Unary, name="erf_inv"):
    """The inverse of the error function; its derivative is √π/2 e^(y²)."""

    hlo = "chlo.erf_inv"
    kinds = "f"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, a.mul(math.sqrt(math.pi) / 2, exp(square(y))))


class Asin(Unary, name="asin"):
    """The inverse sine."""

    hlo = "chlo.asin"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, rsqrt(a.sub(1.0, square(x))))


class Acos(Unary, name="acos"):
    """The inverse cosine."""

    hlo = "chlo.acos"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, neg(rsqrt(a.sub(1.0, square(x)))))


class Atan(Unary, name="atan"):
    """The inverse tangent."""

    hlo = "chlo.atan"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.div(t, a.add(1.0, square(x)))


class Sinh(Unary, name="sinh"):
    """The hyperbolic sine."""

    hlo = "chlo.sinh"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, cosh(x))


class Cosh(Unary, name="cosh"):
    """The hyperbolic cosine."""

    hlo = "chlo.cosh"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, sinh(x))


class Asinh(Unary, name="asinh"):
    """The inverse hyperbolic sine."""

    hlo = "chlo.asinh"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, rsqrt(a.add(square(x), 1.0)))


class Acosh(Unary, name="acosh"):
    """The inverse hyperbolic cosine."""

    hlo = "chlo.acosh"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, a.mul(rsqrt(a.sub(x, 1.0)), rsqrt(a.add(x, 1.0))))


class Atanh(Unary, name="atanh"):
    """The inverse hyperbolic tangent."""

    hlo = "chlo.atanh"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.div(t, a.sub(1.0, square(x)))


class Sign(Flat, name="sign"):
    """-1, 0 or 1; of a complex value x / |x|, which counts as constant too."""

    hlo = "stablehlo.sign"
    kinds = "ifc"


class Floor(Flat, name="floor"):
    """The largest whole number not above x."""

    hlo = "stablehlo.floor"
    kinds = "f"


class Ceil(Flat, name="ceil"):
    """The smallest whole number not below x."""

    hlo = "stablehlo.ceil"
    kinds = "f"


class Round(Flat, name="round"):
    """The nearest whole number; halves go away from zero (rounding_method 0) or to even (1)."""

    rounding_method: int

    hlo = "stablehlo.round_nearest_even"
    kinds = "f"

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        away = "stablehlo.round_nearest_afz"
        return builder.emit(self.hlo if self.rounding_method else away, operands)  # type: ignore[no-any-return]


class IsFinite(Flat, name="is_finite"):
    """Whether x is neither infinite nor NaN."""

    hlo = "stablehlo.is_finite"
    kinds = "f"

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = super().abstract_eval(operands)
        return [shaped(x.shape, np.dtype("bool"))]


class Not(Flat, name="not"):
    """Logical not of truth values, bitwise not of integers."""

    hlo = "stablehlo.not"
    kinds = "bi"


class StopGradient(Flat, name="stop_gradient"):
    """x, with a derivative of zero."""

    hlo = "stablehlo.optimization_barrier"
    kinds = "bifc"
    cost = 0

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return list(operands)


class ConvertElementType(Unary, name="convert_element_type"):
    """The elements in another dtype; linear between floating-point types, flat otherwise."""

    new_dtype: np.dtype[Any]
    weak_type: bool

    taylor_rule = pushed

    hlo = "stablehlo.convert"
    cost = 0

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        return [shaped(x.shape, self.new_dtype, self.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,), (aval,) = operands, builder.in_avals
        (out,) = builder.out_avals
        if out.dtype.kind == "b" and aval.dtype.kind != "b":  # XLA's convert to i1 keeps the lowest bit
            direction = attribute("#stablehlo<comparison_direction NE>")
            zero = builder.constant(0, aval)
            return builder.emit("stablehlo.compare", [x, zero], {"comparison_direction": direction})  # type: ignore[no-any-return]
        if aval.dtype.kind == "c" and out.dtype.kind != "c":
            x = builder.emit1("stablehlo.real", [x], shaped(aval.shape, c.real_dtype(aval.dtype)))
        return builder.emit(self.hlo, [x])  # type: ignore[no-any-return]

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return ZERO if self.new_dtype.kind in "biu" else convert_element_type(t, self.new_dtype)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x,) = cotangents, operands
        return [convert_element_type(ct, x.aval.dtype)]


class BitcastConvertType(Flat, name="bitcast_convert_type"):
    """The same bits read as another dtype of the same width."""

    new_dtype: np.dtype[Any]

    hlo = "stablehlo.bitcast_convert"
    cost = 0

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        if x.dtype.itemsize != self.new_dtype.itemsize:
            raise TypeError(f"bitcast_convert_type from {x.dtype.name} to {self.new_dtype.name}: the widths differ")
        return [shaped(x.shape, self.new_dtype)]


_NEG, _EXP, _EXP2, _EXPM1, _LOG, _LOG1P, _SIN, _COS = Neg(), Exp(), Exp2(), Expm1(), Log(), Log1p(), Sin(), Cos()
_TAN, _TANH, _LOGISTIC, _SQRT, _RSQRT, _CBRT, _SQUARE = Tan(), Tanh(), Logistic(), Sqrt(), Rsqrt(), Cbrt(), Square()
_ABS, _ERF, _ERF_INV, _ASIN, _ACOS, _ATAN, _SINH, _COSH = Abs(), Erf(), ErfInv(), Asin(), Acos(), Atan(), Sinh(), Cosh()
_ASINH, _ACOSH, _ATANH, _SIGN, _FLOOR, _CEIL = Asinh(), Acosh(), Atanh(), Sign(), Floor(), Ceil()
_IS_FINITE, _NOT, _STOP_GRADIENT = IsFinite(), Not(), StopGradient()


def neg(x: Any) -> Any:
    """-x, elementwise."""
    return bind1(_NEG, x)


def exp(x: Any) -> Any:
    """E to the power x, elementwise."""
    return bind1(_EXP, x)


def exp2(x: Any) -> Any:
    """2 to the power x, elementwise."""
    return bind1(_EXP2, x)


def expm1(x: Any) -> Any:
    """E to the power x, minus one, elementwise."""
    return bind1(_EXPM1, x)


def log(x: Any) -> Any:
    """The natural logarithm, elementwise."""
    return bind1(_LOG, x)


def log1p(x: Any) -> Any:
    """The natural logarithm of 1 + x, elementwise."""
    return bind1(_LOG1P, x)


def sin(x: Any) -> Any:
    """The sine, elementwise."""
    return bind1(_SIN, x)


def cos(x: Any) -> Any:
    """The cosine, elementwise."""
    return bind1(_COS, x)


def tan(x: Any) -> Any:
    """The tangent, elementwise."""
    return bind1(_TAN, x)


def tanh(x: Any) -> Any:
    """The hyperbolic tangent, elementwise."""
    return bind1(_TANH, x)


def logistic(x: Any) -> Any:
    """The sigmoid 1 / (1 + e^-x), elementwise."""
    return bind1(_LOGISTIC, x)


def sqrt(x: Any) -> Any:
    """The square root, elementwise."""
    return bind1(_SQRT, x)


def rsqrt(x: Any) -> Any:
    """One over the square root, elementwise."""
    return bind1(_RSQRT, x)


def cbrt(x: Any) -> Any:
    """The cube root, elementwise."""
    return bind1(_CBRT, x)


def square(x: Any) -> Any:
    """X times x, elementwise."""
    return bind1(_SQUARE, x)


def integer_pow(x: Any, y: int) -> Any:
    """X to the whole power y, elementwise."""
    return bind1(IntegerPow(y), x)


def abs(x: Any) -> Any:
    """The absolute value, elementwise."""
    return bind1(_ABS, x)


def erf(x: Any) -> Any:
    """The error function, elementwise."""
    return bind1(_ERF, x)


def erf_inv(x: Any) -> Any:
    """The inverse of the error function, elementwise."""
    return bind1(_ERF_INV, x)


def asin(x: Any) -> Any:
    """The inverse sine, elementwise."""
    return bind1(_ASIN, x)


def acos(x: Any) -> Any:
    """The inverse cosine, elementwise."""
    return bind1(_ACOS, x)


def atan(x: Any) -> Any:
    """The inverse tangent, elementwise."""
    return bind1(_ATAN, x)


def sinh(x: Any) -> Any:
    """The hyperbolic sine, elementwise."""
    return bind1(_SINH, x)


def cosh(x: Any) -> Any:
    """The hyperbolic cosine, elementwise."""
    return bind1(_COSH, x)


def asinh(x: Any) -> Any:
    """The inverse hyperbolic sine, elementwise."""
    return bind1(_ASINH, x)


def acosh(x: Any) -> Any:
    """The inverse hyperbolic cosine, elementwise."""
    return bind1(_ACOSH, x)


def atanh(x: Any) -> Any:
    """The inverse hyperbolic tangent, elementwise."""
    return bind1(_ATANH, x)


def sign(x: Any) -> Any:
    """-1, 0 or 1, elementwise."""
    return bind1(_SIGN, x)


def floor(x: Any) -> Any:
    """The largest whole number not above x, elementwise."""
    return bind1(_FLOOR, x)


def ceil(x: Any) -> Any:
    """The smallest whole number not below x, elementwise."""
    return bind1(_CEIL, x)


def round(x: Any, rounding_method: int = 0) -> Any:
    """The nearest whole number; halves away from zero (0) or to even (1), elementwise."""
    return bind1(Round(int(rounding_method)), x)


def is_finite(x: Any) -> Any:
    """Whether x is neither infinite nor NaN, elementwise."""
    return bind1(_IS_FINITE, x)


def bitwise_not(x: Any) -> Any:
    """Logical not of truth values, bitwise not of integers."""
    return bind1(_NOT, x)


def stop_gradient(x: Any) -> Any:
    """``x``, which differentiation takes for a constant."""
    return bind1(_STOP_GRADIENT, x)


def convert_element_type(operand: Any, new_dtype: Any, weak_type: bool = False) -> Any:
    """The elements of ``operand`` as ``new_dtype`` (64-bit types become 32-bit unless enable_x64 is set)."""
    dtype = canonical(new_dtype)
    aval = aval_of_operand(operand)
    if aval.dtype == dtype and aval.weak_type == weak_type and hasattr(operand, "aval"):
        return operand
    return bind1(ConvertElementType(dtype, weak_type), operand)


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The bits of ``operand`` read as ``new_dtype``, which has the same width."""
    return bind1(BitcastConvertType(np.dtype(new_dtype)), operand)
