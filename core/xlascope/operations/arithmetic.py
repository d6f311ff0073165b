"""Elementwise arithmetic: sums, products, quotients, remainders, integer powers and absolute values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ..dtypes import dtype_kind
from ..ir.avals import ShapedArray, make_aval
from ..ir.jaxpr import Literal
from ..ir.markers import ZERO
from ..records.traits import DIVISION
from ..trace.bind import bind1
from ..xla.mlir.builder import attribute
from .bits import bitwise_and
from .comparisons import eq, ge
from .complex_numbers import complex, conj, imag, real, real_dtype
from .conversion import convert_element_type, to_dtype
from .elementwise import Binary, Unary, stretch_values
from .integer_arguments import whole_number
from .linear_operation import linear_taylor_rule
from .operand_checks import is_linear, require_kind
from .operand_values import as_float, dtype_of, match, shape_of, typed_scalar
from .operand_values import aval as aval_of_operand
from .rounding import floor
from .selection import select
from .tangent_arithmetic import (
    bilinear_taylor_rule,
    broadcast_to_result,
    neg,
    same_shape,
    sum_tangents,
    unbroadcast,
)


class Add(Binary, name="add"):
    """Elementwise sum x + y."""

    hlo = "stablehlo.add"
    taylor_rule = linear_taylor_rule

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return broadcast_to_result(t, z)

    derivative_right = derivative_left

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,) = cotangents
        return [unbroadcast(ct, x.aval) if is_linear(x) else None for x in operands]


def add(x: Any, y: Any) -> Any:
    """Return the sum x + y, elementwise."""
    return bind1(Add.instance, *match(x, y))


class Sub(Binary, name="sub"):
    """Elementwise difference x - y."""

    hlo = "stablehlo.subtract"
    taylor_rule = linear_taylor_rule

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return broadcast_to_result(t, z)

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return broadcast_to_result(neg(t), z)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x, y) = cotangents, operands
        return [
            unbroadcast(ct, x.aval) if is_linear(x) else None,
            unbroadcast(neg(ct), y.aval) if is_linear(y) else None,
        ]


def sub(x: Any, y: Any) -> Any:
    """Return the difference x - y, elementwise."""
    return bind1(Sub.instance, *match(x, y))


class Mul(Binary, name="mul"):
    """Elementwise product x y."""

    hlo = "stablehlo.multiply"
    taylor_rule = bilinear_taylor_rule

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return mul(t if same_shape(y, z) else broadcast_to_result(t, z), y)

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return mul(x, t if same_shape(x, z) else broadcast_to_result(t, z))

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x, y) = cotangents, operands
        return [
            unbroadcast(mul(ct, y), x.aval) if is_linear(x) else None,
            unbroadcast(mul(x, ct), y.aval) if is_linear(y) else None,
        ]


def mul(x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    """Return the product x y, elementwise.

    With ``out_dtype`` both operands are converted to it first; the product in bool is true where both operands are
    nonzero. Raises TypeError for boolean operands.
    """
    if out_dtype is not None:
        for operand in (x, y):
            require_kind("mul", dtype_of(operand), "ifc")
        if np.dtype(out_dtype) == np.bool_:
            return bitwise_and(convert_element_type(x, out_dtype), convert_element_type(y, out_dtype))
        x, y = convert_element_type(x, out_dtype), convert_element_type(y, out_dtype)
    return bind1(Mul.instance, *match(x, y))


class Division(Binary):
    """Base of quotient and remainder, whose results are defined also for integers divided by zero."""

    traits = DIVISION

    def by_zero(self, builder: Any, x: Any, aval: ShapedArray) -> Any:
        """Return the MLIR value of an integer ``x`` divided by zero, as XLA defines it.

        ``x`` is the MLIR value of the dividend, ``aval`` its type.
        """
        raise NotImplementedError

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        divisor, aval = builder.inputs[1], builder.outputs[0].aval
        if dtype_kind(aval.dtype) not in "iu" or (divisor.__class__ is Literal and divisor.val != 0):
            return super().to_stablehlo(builder, operands)
        # XLA folds a division by a constant zero while it compiles, which would crash the process.
        x, y = stretch_values(builder, operands)
        equal = {"comparison_direction": attribute("#stablehlo<comparison_direction EQ>")}
        none = make_aval(aval.shape, np.dtype(np.bool_))
        is_zero = builder.emit1("stablehlo.compare", [y, builder.constant(0, aval)], none, equal)
        (safe,) = builder.emit("stablehlo.select", [is_zero, builder.constant(1, aval), y])
        (usual,) = builder.emit(self.hlo, [x, safe])
        return builder.emit("stablehlo.select", [is_zero, self.by_zero(builder, x, aval), usual])  # type: ignore[no-any-return]


class Div(Division, name="div"):
    """Elementwise quotient x / y, rounded toward zero for integers."""

    hlo = "stablehlo.divide"

    def by_zero(self, builder: Any, x: Any, aval: ShapedArray) -> Any:
        limits: Any = ml_dtypes.iinfo(aval.dtype)  # type: ignore[no-untyped-call]
        return builder.constant(limits.max if limits.min == 0 else -1, aval)  # all bits set

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return div(broadcast_to_result(t, z) if shape_of(y) != shape_of(z) else t, y)

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return mul(mul(neg(broadcast_to_result(t, z)), x), integer_pow(y, -2))

    def taylor_rule(self, degree: int, operands: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        # x = z y, so x_k = z_0 y_k + … + z_k y_0: solved for z_k
        (x, y), (z,) = operands, results
        pairs = [(z[i], y[degree - i]) for i in range(degree)]
        lower_terms = sum_tangents([mul(p, q) for p, q in pairs if p is not ZERO and q is not ZERO])
        if lower_terms is ZERO:
            return [ZERO if x[degree] is ZERO else div(x[degree], y[0])]
        remainder = neg(lower_terms) if x[degree] is ZERO else sub(broadcast_to_result(x[degree], z[0]), lower_terms)
        return [div(remainder, y[0])]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x, y) = cotangents, operands
        return [unbroadcast(div(ct, y), x.aval), None]


def div(x: Any, y: Any) -> Any:
    """Return the quotient x / y, elementwise, rounded toward zero for integers."""
    return bind1(Div.instance, *match(x, y))


def reciprocal(x: Any) -> Any:
    """Return one divided by ``x``, elementwise."""
    x = as_float(x)
    require_kind("reciprocal", dtype_of(x), "fc")
    return div(1.0, x)


class Rem(Division, name="rem"):
    """Elementwise remainder of x / y, with the sign of x."""

    hlo = "stablehlo.remainder"
    kinds = "if"
    taylor_rule = linear_taylor_rule

    def by_zero(self, builder: Any, x: Any, aval: ShapedArray) -> Any:
        return x

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return broadcast_to_result(t, z)

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        quotient = div(x, y)
        truncated = mul(sign(quotient), floor(abs(quotient)))
        return mul(neg(t), truncated)


def rem(x: Any, y: Any) -> Any:
    """Return the remainder of x / y, elementwise; it has the sign of x."""
    return bind1(Rem.instance, *match(x, y))


class Square(Unary, name="square"):
    """Elementwise square of x."""

    hlo = "stablehlo.multiply"
    kinds = "ifc"

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,) = operands
        return builder.emit(self.hlo, [x, x])  # type: ignore[no-any-return]

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, mul(2.0, x))

    def taylor_rule(self, degree: int, operands: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        # x_0 x_k + … + x_k x_0: each product but the middle one occurs twice
        (x,) = operands
        pairs = [(x[i], x[degree - i]) for i in range((degree + 1) // 2)]
        half = sum_tangents([mul(p, q) for p, q in pairs if p is not ZERO and q is not ZERO])
        middle = ZERO if degree % 2 or x[degree // 2] is ZERO else square(x[degree // 2])
        return [sum_tangents([half if half is ZERO else mul(2.0, half), middle])]


def square(x: Any) -> Any:
    """Return the square of x, elementwise."""
    return bind1(Square.instance, x)


class IntegerPow(Unary, name="integer_pow"):
    """Elementwise power with an integer exponent ``y``, by repeated squaring."""

    y: int

    hlo = "stablehlo.multiply"
    kinds = "ifc"

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        if self.y < 0 and dtype_kind(x.dtype) in "iu":
            raise TypeError(
                f"integer_pow of {x.dtype.name} to the power {self.y}: whole numbers have no negative powers; convert "
                "with astype(float)"
            )
        return super().abstract_eval(operands)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,) = operands
        (aval,) = builder.out_avals
        result, power, exponent = None, x, self.y if self.y >= 0 else -self.y
        while exponent:
            if exponent & 1:
                result = power if result is None else builder.emit1(self.hlo, [result, power], aval)
            exponent >>= 1
            if exponent:
                power = builder.emit1(self.hlo, [power, power], aval)
        if result is None:
            return [builder.constant(1, aval)]
        return (
            [result] if self.y > 0 else [builder.emit1("stablehlo.divide", [builder.constant(1, aval), result], aval)]
        )

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        if self.y in (0, 1):
            return t if self.y else ZERO
        return mul(t, mul(float(self.y), x if self.y == 2 else integer_pow(x, self.y - 1)))


def integer_pow(x: Any, y: int) -> Any:
    """Return ``x`` to the integer power ``y``, elementwise."""
    return bind1(IntegerPow(whole_number(y, "the power of integer_pow")), x)


class Abs(Unary, name="abs"):
    """Elementwise absolute value.

    The derivative is the sign, and 1 at zero. For complex x the result is the modulus |x|, which is real; its tangent
    is the real part of t conj(x) / |x|, and 0 at zero.
    """

    hlo = "stablehlo.abs"
    kinds = "sfc"

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = super().abstract_eval(operands)
        return [x if dtype_kind(x.dtype) != "c" else make_aval(x.shape, real_dtype(x.dtype), x.weak_type)]

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        dtype = aval_of_operand(x).dtype
        if dtype_kind(dtype) == "c":
            length = select(eq(y, 0), typed_scalar(1, real_dtype(dtype)), y)
            return real(mul(t, div(conj(x), to_dtype(length, dtype))))
        return mul(t, select(ge(x, 0), typed_scalar(1, dtype), typed_scalar(-1, dtype)))


def abs(x: Any) -> Any:
    """Return the absolute value, elementwise; for complex x, the modulus."""
    return bind1(Abs.instance, x)


class Sign(Unary, name="sign"):
    """Elementwise sign: -1, 0 or 1, with a derivative of zero.

    For complex x it is x / |x|, whose tangent is i sign(x) Im(conj(sign(x)) t) / |x|, and 0 at zero.
    """

    hlo = "stablehlo.sign"
    kinds = "ifc"

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (aval,) = builder.in_avals
        if dtype_kind(aval.dtype) != "u":
            return super().to_stablehlo(builder, operands)
        return builder.emit("stablehlo.minimum", [*operands, builder.constant(1, aval)])  # type: ignore[no-any-return]

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        dtype = aval_of_operand(x).dtype
        if dtype_kind(dtype) != "c":
            return ZERO
        length, real_of = abs(x), real_dtype(dtype)
        rotation = div(imag(mul(conj(y), t)), select(eq(length, 0), typed_scalar(1, real_of), length))
        return mul(y, complex(typed_scalar(0, real_of), rotation))


def sign(x: Any) -> Any:
    """Return -1, 0 or 1 according to the sign, elementwise; for complex x, x / |x|."""
    return bind1(Sign.instance, x)
