"""Bit operations: logic, shifts, counts and neighbouring floating-point numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_bits, dtype_kind
from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import ZERO
from ..records.traits import SIMPLE
from ..trace.bind import bind1
from ..xla.mlir.builder import attribute
from ..xla.mlir.narrow_types import CARRIERS
from .elementwise import Binary, PiecewiseConstant, Unary, stretch_values
from .integer_arguments import whole_number
from .linear_operation import Linear
from .operand_checks import require_kind
from .operand_values import match


class _Bitwise(Binary):
    """Base of logical operations on booleans and bitwise ones on integers; their derivatives are zero."""

    kinds = "bi"

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return ZERO

    derivative_right = derivative_left


class And(_Bitwise, name="and"):
    """Elementwise logical and of booleans, bitwise and of integers."""

    hlo = "stablehlo.and"


def bitwise_and(x: Any, y: Any) -> Any:
    """Return the logical and of booleans, the bitwise and of integers."""
    return bind1(And.instance, *match(x, y))


class Or(_Bitwise, name="or"):
    """Elementwise logical or of booleans, bitwise or of integers."""

    hlo = "stablehlo.or"


def bitwise_or(x: Any, y: Any) -> Any:
    """Return the logical or of booleans, the bitwise or of integers."""
    return bind1(Or.instance, *match(x, y))


class Xor(_Bitwise, name="xor"):
    """Elementwise exclusive or of booleans, bitwise exclusive or of integers."""

    hlo = "stablehlo.xor"


def bitwise_xor(x: Any, y: Any) -> Any:
    """Return the logical exclusive or of booleans, the bitwise exclusive or of integers."""
    return bind1(Xor.instance, *match(x, y))


def _clear_carrier_bits(
    builder: Any, operands: Sequence[Any], avals: Sequence[ShapedArray] | None = None
) -> Sequence[Any]:
    """Return an operand with the bits of its carrier type that its own type does not have set to zero.

    ``operands`` is a sequence of one MLIR value, as is the result; ``avals`` has its type, None means the operand of
    the current equation. A value without carrier type is returned unchanged.
    """
    (x,), (aval,) = operands, avals or builder.in_avals
    if aval.dtype not in CARRIERS:
        return operands
    carrier = make_aval(aval.shape, CARRIERS[aval.dtype])
    mask = builder.constant(2 ** dtype_bits(aval.dtype) - 1, carrier)
    return [builder.emit1("stablehlo.and", [x, mask], carrier)]


class Not(PiecewiseConstant, name="not"):
    """Logical not of booleans, bitwise not of integers."""

    hlo = "stablehlo.not"
    kinds = "bi"


def bitwise_not(x: Any) -> Any:
    """Return the logical not of booleans, the bitwise not of integers."""
    return bind1(Not.instance, x)


class ShiftLeft(_Bitwise, name="shift_left"):
    """x with its bits shifted left by y."""

    hlo = "stablehlo.shift_left"
    kinds = "i"


def shift_left(x: Any, y: Any) -> Any:
    """Return ``x`` with its bits shifted left by ``y``."""
    return bind1(ShiftLeft.instance, *match(x, y))


class ShiftRightLogical(_Bitwise, name="shift_right_logical"):
    """x with its bits shifted right by y, filled with zeros."""

    hlo = "stablehlo.shift_right_logical"
    kinds = "i"

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        x, y = stretch_values(builder, operands)
        return builder.emit(self.hlo, [*_clear_carrier_bits(builder, [x], builder.out_avals), y])  # type: ignore[no-any-return]


def shift_right_logical(x: Any, y: Any) -> Any:
    """Return ``x`` with its bits shifted right by ``y``, filled with zeros."""
    return bind1(ShiftRightLogical.instance, *match(x, y))


class ShiftRightArithmetic(_Bitwise, name="shift_right_arithmetic"):
    """x with its bits shifted right by y, filled with the sign bit."""

    hlo = "stablehlo.shift_right_arithmetic"
    kinds = "i"


def shift_right_arithmetic(x: Any, y: Any) -> Any:
    """Return ``x`` with its bits shifted right by ``y``, filled with the sign bit."""
    return bind1(ShiftRightArithmetic.instance, *match(x, y))


class PopulationCount(PiecewiseConstant, name="population_count"):
    """Elementwise number of bits that are set."""

    hlo = "stablehlo.popcnt"
    kinds = "i"

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return super().to_stablehlo(builder, _clear_carrier_bits(builder, operands))


def population_count(x: Any) -> Any:
    """Return the number of bits that are set, elementwise."""
    return bind1(PopulationCount.instance, x)


class CountLeadingZeros(PiecewiseConstant, name="clz"):
    """Elementwise number of zero bits above the highest bit that is set."""

    hlo = "stablehlo.count_leading_zeros"
    kinds = "i"

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (aval,) = builder.in_avals
        if aval.dtype not in CARRIERS:
            return [self._emit_unsigned_count(builder, operands[0], aval)]
        (counted,) = super().to_stablehlo(builder, _clear_carrier_bits(builder, operands))
        carrier = make_aval(aval.shape, CARRIERS[aval.dtype])
        above = builder.constant(8 - dtype_bits(aval.dtype), carrier)
        return [builder.emit1("stablehlo.subtract", [counted, above], carrier)]

    def _emit_unsigned_count(self, builder: Any, x: Any, aval: ShapedArray) -> Any:
        """Return the number of leading zeros of the MLIR value ``x``, counted in the unsigned type of the same width.

        XLA folds the count of a negative int32 constant to -32. ``aval`` is the type of ``x`` and of the result.
        """
        if aval.dtype.kind == "u":
            return builder.emit1(self.hlo, [x], aval)
        bits = make_aval(aval.shape, np.dtype(f"uint{dtype_bits(aval.dtype)}"))
        return builder.bitcast(builder.emit1(self.hlo, [builder.bitcast(x, aval, bits)], bits), bits, aval)


def clz(x: Any) -> Any:
    """Return the number of zero bits above the highest bit that is set, elementwise."""
    return bind1(CountLeadingZeros.instance, x)


class NextAfter(Binary, name="nextafter"):
    """Next representable number after x in the direction of y."""

    hlo = "chlo.next_after"
    kinds = "f"

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        raise NotImplementedError("the derivative of nextafter; take it for a constant with lax.stop_gradient")

    derivative_right = derivative_left


def nextafter(x1: Any, x2: Any) -> Any:
    """Return the next representable number after ``x1`` in the direction of ``x2``, elementwise."""
    return bind1(NextAfter.instance, *match(x1, x2))


class MulHi(Binary, name="mulhi"):
    """Upper half of the bits of the product of two integers, elementwise."""

    kinds = "i"

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (out,) = builder.out_avals
        bits = dtype_bits(out.dtype)
        if bits == 64:
            return builder.emit("chlo.mulhi", stretch_values(builder, operands))  # type: ignore[no-any-return]
        wide = make_aval(out.shape, np.dtype(f"{'u' if dtype_kind(out.dtype) == 'u' else ''}int{max(2 * bits, 8)}"))
        x, y = (builder.emit1("stablehlo.convert", [v], wide) for v in stretch_values(builder, operands))
        product = builder.emit1("stablehlo.multiply", [x, y], wide)
        upper = builder.emit1("stablehlo.shift_right_logical", [product, builder.constant(bits, wide)], wide)
        return builder.emit("stablehlo.convert", [upper])  # type: ignore[no-any-return]

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return ZERO

    derivative_right = derivative_left


def mulhi(x: Any, y: Any, /) -> Any:
    """Return the upper half of the bits of the product of two integers, elementwise.

    >>> import numpy as np
    >>> print(mulhi(np.int32(2**30), np.int32(9)))
    2
    """
    return bind1(MulHi.instance, *match(x, y))


class ReducePrecision(Linear, name="reduce_precision"):
    """Floats rounded to ``exponent_bits`` and ``mantissa_bits``, in their dtype; tangents are rounded too."""

    traits = SIMPLE
    exponent_bits: int
    mantissa_bits: int

    batch_rule = Unary.batch_rule

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        require_kind(self.name, operands[0].dtype, "f")
        if self.exponent_bits < 1 or self.mantissa_bits < 0:
            raise ValueError(
                "reduce_precision takes at least 1 bit of exponent and 0 of mantissa, got "
                f"{self.exponent_bits} and {self.mantissa_bits}"
            )
        return list(operands)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        bits = {
            "exponent_bits": attribute(f"{self.exponent_bits} : i32"),
            "mantissa_bits": attribute(f"{self.mantissa_bits} : i32"),
        }
        return builder.emit("stablehlo.reduce_precision", operands, bits)  # type: ignore[no-any-return]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,) = cotangents
        return [bind1(self, ct)]


def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """Round floats to a format of ``exponent_bits`` and ``mantissa_bits``; the dtype does not change.

    >>> import numpy as np
    >>> print(reduce_precision(np.float32(1.2345), 5, 3))
    1.25
    """
    return bind1(
        ReducePrecision(
            whole_number(exponent_bits, "exponent_bits of reduce_precision"),
            whole_number(mantissa_bits, "mantissa_bits of reduce_precision"),
        ),
        operand,
    )
