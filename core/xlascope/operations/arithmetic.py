"""Elementwise operations of two operands: arithmetic, comparison, logic, and the choice between values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..ir.avals import ShapedArray, shaped
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..trace.bind import bind1
from ..xla.builder import attribute
from . import elementwise as e
from . import shapes
from .families import (
    Binary,
    align,
    convolved,
    is_linear,
    pushed,
    require_kind,
    stretch_values,
    stretched,
    sum_tangents,
    unstretch,
)
from .values import aval, match, shape_of, typed_scalar


def _same_shape(x: Any, z: Any) -> bool:
    try:
        return bool(x.aval.shape == z.aval.shape)
    except AttributeError:  # a NumPy value
        return shape_of(x) == shape_of(z)


def as_result(t: Any, z: Any) -> Any:
    """A tangent spread over the result's shape, when its operand was stretched."""
    if _same_shape(t, z):
        return t
    shape, wanted = shape_of(t), shape_of(z)
    if shape == wanted:
        return t
    return shapes.broadcast_in_dim(t, wanted, range(len(shape)) if shape else ())


class Add(Binary, name="add"):
    """x + y."""

    hlo = "stablehlo.add"
    taylor_rule = pushed

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return as_result(t, z)

    derivative_right = derivative_left

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,) = cotangents
        return [unstretch(ct, x.aval) if is_linear(x) else None for x in operands]


class Sub(Binary, name="sub"):
    """x - y."""

    hlo = "stablehlo.subtract"
    taylor_rule = pushed

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return as_result(t, z)

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return as_result(e.neg(t), z)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x, y) = cotangents, operands
        return [
            unstretch(ct, x.aval) if is_linear(x) else None,
            unstretch(e.neg(ct), y.aval) if is_linear(y) else None,
        ]


class Mul(Binary, name="mul"):
    """x times y."""

    hlo = "stablehlo.multiply"
    taylor_rule = convolved

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return mul(t if _same_shape(y, z) else as_result(t, z), y)

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return mul(x, t if _same_shape(x, z) else as_result(t, z))

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x, y) = cotangents, operands
        return [
            unstretch(mul(ct, y), x.aval) if is_linear(x) else None,
            unstretch(mul(x, ct), y.aval) if is_linear(y) else None,
        ]


class Div(Binary, name="div"):
    """x divided by y; the quotient of integers is cut off towards zero."""

    hlo = "stablehlo.divide"

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return div(as_result(t, z) if shape_of(y) != shape_of(z) else t, y)

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return mul(mul(e.neg(as_result(t, z)), x), e.integer_pow(y, -2))

    def taylor_rule(self, degree: int, operands: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        # x = z y, so x_k = z_0 y_k + … + z_k y_0: solved for z_k
        (x, y), (z,) = operands, results
        pairs = [(z[i], y[degree - i]) for i in range(degree)]
        known = sum_tangents([mul(p, q) for p, q in pairs if p is not ZERO and q is not ZERO])
        if known is ZERO:
            return [ZERO if x[degree] is ZERO else div(x[degree], y[0])]
        rest = e.neg(known) if x[degree] is ZERO else sub(as_result(x[degree], z[0]), known)
        return [div(rest, y[0])]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x, y) = cotangents, operands
        return [unstretch(div(ct, y), x.aval), None]


class Rem(Binary, name="rem"):
    """The remainder of x / y, with the sign of x."""

    hlo = "stablehlo.remainder"
    kinds = "if"
    taylor_rule = pushed

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return as_result(t, z)

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        quotient = div(x, y)
        whole = mul(e.sign(quotient), e.floor(e.abs(quotient)))
        return mul(e.neg(t), whole)


class Pow(Binary, name="pow"):
    """x to the power y."""

    hlo = "stablehlo.power"
    kinds = "fc"

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        # y x^(y-1), and 0 where both are 0 (there x^(y-1) is infinite)
        exponent = sub(y, 1.0)
        if not isinstance(y, np.generic) or y == 0:
            exponent = select(bitwise_and(eq(x, 0.0), eq(y, 0.0)), 1.0, exponent)
        return mul(as_result(t, z), mul(y, pow(x, exponent)))

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        # log(x) x^y; where x is 0 the limit for positive y is 0
        base = select(eq(x, 0.0), 1.0, x)
        return mul(as_result(t, z), mul(e.log(base), z))


class Atan2(Binary, name="atan2"):
    """The angle of the point (y, x)."""

    hlo = "stablehlo.atan2"
    kinds = "f"

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return mul(as_result(t, z), div(y, add(e.square(x), e.square(y))))

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return mul(as_result(t, z), div(e.neg(x), add(e.square(x), e.square(y))))


class _Extreme(Binary):
    """The larger or smaller operand. Where they are equal each gets half of the derivative."""

    kinds = "bif"
    taylor_rule = pushed

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return mul(as_result(t, z), _share(x, y, z))

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return mul(as_result(t, z), _share(y, x, z))


class Max(_Extreme, name="max"):
    """The larger of x and y; NaN if either is."""

    hlo = "stablehlo.maximum"


class Min(_Extreme, name="min"):
    """The smaller of x and y; NaN if either is."""

    hlo = "stablehlo.minimum"


def _share(x: Any, other: Any, z: Any) -> Any:
    dtype = aval(z).dtype
    return select(
        eq(x, z), select(eq(other, z), typed_scalar(0.5, dtype), typed_scalar(1, dtype)), typed_scalar(0, dtype)
    )


class _Comparison(Binary):
    """A truth value from two operands."""

    direction: ClassVar[str]
    kinds = "bifc"

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (z,) = super().abstract_eval(operands)
        return [shaped(z.shape, np.dtype("bool"))]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        direction = attribute(f"#stablehlo<comparison_direction {self.direction}>")
        return builder.emit(  # type: ignore[no-any-return]
            "stablehlo.compare", stretch_values(builder, operands), {"comparison_direction": direction}
        )

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return ZERO

    derivative_right = derivative_left


class Eq(_Comparison, name="eq"):
    """x == y."""

    direction = "EQ"


class Ne(_Comparison, name="ne"):
    """x != y."""

    direction = "NE"


class Lt(_Comparison, name="lt"):
    """x < y."""

    direction = "LT"
    kinds = "bif"


class Le(_Comparison, name="le"):
    """x <= y."""

    direction = "LE"
    kinds = "bif"


class Gt(_Comparison, name="gt"):
    """x > y."""

    direction = "GT"
    kinds = "bif"


class Ge(_Comparison, name="ge"):
    """x >= y."""

    direction = "GE"
    kinds = "bif"


class _Bitwise(Binary):
    """Logical on truth values, bitwise on integers; no derivative."""

    kinds = "bi"

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return ZERO

    derivative_right = derivative_left


class And(_Bitwise, name="and"):
    """x and y."""

    hlo = "stablehlo.and"


class Or(_Bitwise, name="or"):
    """x or y."""

    hlo = "stablehlo.or"


class Xor(_Bitwise, name="xor"):
    """Either x or y."""

    hlo = "stablehlo.xor"


class ShiftLeft(_Bitwise, name="shift_left"):
    """x with its bits moved up by y."""

    hlo = "stablehlo.shift_left"
    kinds = "i"


class ShiftRightLogical(_Bitwise, name="shift_right_logical"):
    """x with its bits moved down by y, zeros coming in."""

    hlo = "stablehlo.shift_right_logical"
    kinds = "i"


class ShiftRightArithmetic(_Bitwise, name="shift_right_arithmetic"):
    """x with its bits moved down by y, the sign coming in."""

    hlo = "stablehlo.shift_right_arithmetic"
    kinds = "i"


class SelectN(Operation, name="select_n"):
    """Elementwise ``cases[which]``; with a truth value, the first case where it is false, the second where it is true.

    A number beyond the ends chooses the first or the last case. Cases without axes are spread over the result's shape.
    """

    taylor_rule = pushed

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        which, *cases = operands
        if which.dtype.kind not in "biu" or not cases:
            raise TypeError(
                f"select_n takes a truth value or an integer that says which case, and at least one case, got {which} "
                f"and {len(cases)} cases"
            )
        if which.dtype.kind == "b" and len(cases) > 2:
            raise TypeError(f"select_n takes two cases for a truth value, got {len(cases)}; choose by an int32")
        if len({case.dtype for case in cases}) > 1:
            names = " and ".join(case.dtype.name for case in cases)
            raise TypeError(f"select_n takes cases of one dtype, got {names}")
        shape = which.shape
        for case in cases:
            shape = stretched(self.name, shape, case.shape)
        return [shaped(shape, cases[0].dtype, all(case.weak_type for case in cases))]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        which, *cases = stretch_values(builder, operands)
        if len(cases) == 1:
            return cases
        if builder.in_avals[0].dtype.kind == "b":
            return builder.emit("stablehlo.select", [which, cases[1], cases[0]])  # type: ignore[no-any-return]
        number = shaped(builder.out_avals[0].shape, builder.in_avals[0].dtype)
        truth = shaped(number.shape, np.dtype("bool"))
        below = {"comparison_direction": attribute("#stablehlo<comparison_direction LT>")}
        chosen = cases[-1]
        for k in range(len(cases) - 1, 0, -1):
            before = builder.emit1("stablehlo.compare", [which, builder.constant(k, number)], truth, below)
            (chosen,) = builder.emit("stablehlo.select", [before, cases[k - 1], chosen])
        return [chosen]

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return results[0].size

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        which = primals[0]
        z = bind1(self, *primals)
        if all(t is ZERO for t in tangents[1:]):
            return [z], [ZERO]
        moved = [typed_scalar(0, aval(z).dtype) if t is ZERO else as_result(t, z) for t in tangents[1:]]
        return [z], [bind1(self, which, *moved)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (which, *cases) = cotangents, operands
        zeros = [typed_scalar(0, aval(ct).dtype)] * len(cases)
        received = []
        for k, case in enumerate(cases):
            chosen = bind1(self, which, *zeros[:k], ct, *zeros[k + 1 :]) if is_linear(case) else None
            received.append(None if chosen is None else unstretch(chosen, case.aval))
        return [None, *received]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *align(operands, axes))], [0]


class Clamp(Operation, name="clamp"):
    """x limited to the range from low to high."""

    taylor_rule = pushed

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        low, x, high = operands
        if not low.dtype == x.dtype == high.dtype:
            names = f"{low.dtype.name}, {x.dtype.name} and {high.dtype.name}"
            raise TypeError(f"clamp takes operands of one dtype, got {names}")
        require_kind(self.name, x.dtype, "bif")
        shape = stretched(self.name, stretched(self.name, x.shape, low.shape), high.shape)
        return [shaped(shape, x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.emit("stablehlo.clamp", stretch_values(builder, operands))  # type: ignore[no-any-return]

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return 2 * results[0].size

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        low, x, high = primals
        t_low, t_x, t_high = tangents
        z = bind1(self, low, x, high)
        zero = typed_scalar(0, aval(z).dtype)
        parts = []
        if t_low is not ZERO:
            parts.append(select(gt(low, x), as_result(t_low, z), zero))
        if t_x is not ZERO:
            inside = bind1(_AND, gt(x, low), lt(x, high))
            parts.append(select(inside, as_result(t_x, z), zero))
        if t_high is not ZERO:
            parts.append(select(lt(high, x), as_result(t_high, z), zero))
        return [z], [sum_tangents(parts)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *align(operands, axes))], [0]


_ADD, _SUB, _MUL, _DIV, _REM, _POW, _ATAN2, _MAX, _MIN = Add(), Sub(), Mul(), Div(), Rem(), Pow(), Atan2(), Max(), Min()
_EQ, _NE, _LT, _LE, _GT, _GE = Eq(), Ne(), Lt(), Le(), Gt(), Ge()
_AND, _OR, _XOR, _SELECT, _CLAMP = And(), Or(), Xor(), SelectN(), Clamp()
_SHIFT_LEFT, _SHIFT_RIGHT_LOGICAL, _SHIFT_RIGHT_ARITHMETIC = ShiftLeft(), ShiftRightLogical(), ShiftRightArithmetic()


def add(x: Any, y: Any) -> Any:
    """X + y, elementwise."""
    return bind1(_ADD, *match(x, y))


def sub(x: Any, y: Any) -> Any:
    """X - y, elementwise."""
    return bind1(_SUB, *match(x, y))


def mul(x: Any, y: Any) -> Any:
    """X times y, elementwise."""
    return bind1(_MUL, *match(x, y))


def div(x: Any, y: Any) -> Any:
    """X divided by y, elementwise; the quotient of integers is cut off towards zero."""
    return bind1(_DIV, *match(x, y))


def rem(x: Any, y: Any) -> Any:
    """The remainder of x / y with the sign of x, elementwise."""
    return bind1(_REM, *match(x, y))


def pow(x: Any, y: Any) -> Any:
    """X to the power y, elementwise."""
    return bind1(_POW, *match(x, y))


def atan2(x: Any, y: Any) -> Any:
    """The angle of the point (y, x), elementwise."""
    return bind1(_ATAN2, *match(x, y))


def max(x: Any, y: Any) -> Any:
    """The larger of x and y, elementwise."""
    return bind1(_MAX, *match(x, y))


def min(x: Any, y: Any) -> Any:
    """The smaller of x and y, elementwise."""
    return bind1(_MIN, *match(x, y))


def eq(x: Any, y: Any) -> Any:
    """X == y, elementwise."""
    return bind1(_EQ, *match(x, y))


def ne(x: Any, y: Any) -> Any:
    """X != y, elementwise."""
    return bind1(_NE, *match(x, y))


def lt(x: Any, y: Any) -> Any:
    """X < y, elementwise."""
    return bind1(_LT, *match(x, y))


def le(x: Any, y: Any) -> Any:
    """X <= y, elementwise."""
    return bind1(_LE, *match(x, y))


def gt(x: Any, y: Any) -> Any:
    """X > y, elementwise."""
    return bind1(_GT, *match(x, y))


def ge(x: Any, y: Any) -> Any:
    """X >= y, elementwise."""
    return bind1(_GE, *match(x, y))


def bitwise_and(x: Any, y: Any) -> Any:
    """Logical and of truth values, bitwise and of integers."""
    return bind1(_AND, *match(x, y))


def bitwise_or(x: Any, y: Any) -> Any:
    """Logical or of truth values, bitwise or of integers."""
    return bind1(_OR, *match(x, y))


def bitwise_xor(x: Any, y: Any) -> Any:
    """Either of truth values, bitwise exclusive or of integers."""
    return bind1(_XOR, *match(x, y))


def shift_left(x: Any, y: Any) -> Any:
    """X with its bits moved up by y."""
    return bind1(_SHIFT_LEFT, *match(x, y))


def shift_right_logical(x: Any, y: Any) -> Any:
    """X with its bits moved down by y, zeros coming in."""
    return bind1(_SHIFT_RIGHT_LOGICAL, *match(x, y))


def shift_right_arithmetic(x: Any, y: Any) -> Any:
    """X with its bits moved down by y, the sign coming in."""
    return bind1(_SHIFT_RIGHT_ARITHMETIC, *match(x, y))


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """``on_true`` where ``pred`` holds, ``on_false`` elsewhere."""
    on_true, on_false = match(on_true, on_false)
    return bind1(_SELECT, pred, on_false, on_true)


def select_n(which: Any, *cases: Any) -> Any:
    """``cases[which]``, elementwise; a truth value chooses the first case where it is false."""
    return bind1(_SELECT, which, *cases)


def clamp(min: Any, x: Any, max: Any) -> Any:
    """X limited to the range from ``min`` to ``max``."""
    low, _ = match(min, x)
    high, _ = match(max, x)
    return bind1(_CLAMP, low, x, high)
