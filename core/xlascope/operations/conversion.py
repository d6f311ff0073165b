"""Conversion of elements to another dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_bits, dtype_kind, iinfo
from ..ir.avals import ShapedArray, make_aval
from ..ir.explicit_sharding import unclear
from ..ir.markers import ZERO
from ..ir.requested_dtypes import resolve_requested_dtype
from ..ir.user_frames import user_line, where_text
from ..key_types import is_key
from ..records.traits import MOVES, SIMPLE
from ..trace.bind import bind1
from ..xla.mlir.builder import attribute
from .complex_numbers import real_dtype
from .elementwise import PiecewiseConstant, Unary
from .linear_operation import linear_taylor_rule
from .operand_checks import require_kind
from .operand_values import aval as aval_of_operand
from .shapes import moveaxis


class ConvertElementType(Unary, name="convert_element_type"):
    """Elements converted to ``new_dtype``; ``weak_type`` says whether the result is weakly typed.

    The conversion is linear between floating-point types; to integers and booleans its derivative is zero.
    """

    traits = SIMPLE | MOVES
    new_dtype: np.dtype[Any]
    weak_type: bool

    taylor_rule = linear_taylor_rule

    hlo = "stablehlo.convert"
    cost = 0

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        if is_key(self.new_dtype):
            raise TypeError(f"{x.str_short()} cannot be converted to {self.new_dtype}: random.wrap_key_data makes keys")
        return [make_aval(x.shape, self.new_dtype, self.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,), (aval,) = operands, builder.in_avals
        (out,) = builder.out_avals
        if dtype_kind(out.dtype) == "b" and dtype_kind(aval.dtype) != "b":  # XLA's convert to i1 keeps the lowest bit
            direction = attribute("#stablehlo<comparison_direction NE>")
            zero = builder.constant(0, aval)
            return builder.emit("stablehlo.compare", [x, zero], {"comparison_direction": direction})  # type: ignore[no-any-return]
        if dtype_kind(aval.dtype) == "c" and dtype_kind(out.dtype) != "c":
            aval = make_aval(aval.shape, real_dtype(aval.dtype))
            x = builder.emit1("stablehlo.real", [x], aval)
        if dtype_kind(aval.dtype) == "f" and dtype_kind(out.dtype) in "iu" and dtype_bits(out.dtype) < 8:
            x = _clamp_to_range(builder, x, aval, out.dtype)
        return builder.emit(self.hlo, [x])  # type: ignore[no-any-return]

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return ZERO if dtype_kind(self.new_dtype) in "biu" else to_dtype(t, self.new_dtype)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x,) = cotangents, operands
        return [to_dtype(ct, x.aval.dtype)]


def _clamp_to_range(builder: Any, x: Any, aval: ShapedArray, dtype: np.dtype[Any]) -> Any:
    """Return floats clamped to the range of ``dtype``, an integer type of less than 8 bits.

    XLA clamps conversions to wider integers by itself. ``x`` is an MLIR value of type ``aval``; the result is float32
    if that has at most 8 bits.
    """
    wide = aval
    if dtype_bits(aval.dtype) <= 8:  # some of these have no negative numbers, or no large enough ones
        wide = make_aval(aval.shape, np.dtype("float32"))
        x = builder.emit1("stablehlo.convert", [x], wide)
    limits = iinfo(dtype)
    least, most = (builder.constant(int(limit), wide) for limit in (limits.min, limits.max))
    return builder.emit1("stablehlo.clamp", [least, x, most], wide)


def convert_element_type(operand: Any, new_dtype: Any, weak_type: bool = False) -> Any:
    """Return ``operand`` converted to ``new_dtype``; 64-bit types become 32-bit unless enable_x64 is set.

    With ``weak_type`` the result is weakly typed, as a Python scalar is: in an expression it adopts the dtype of the
    other operand. By default the result is strongly typed, even if ``operand`` is not. Raises ValueError if
    ``new_dtype`` is None.
    """
    if new_dtype is None:
        raise _missing_dtype_error("convert_element_type")
    return to_dtype(operand, resolve_requested_dtype(new_dtype), weak_type)


def to_dtype(operand: Any, dtype: np.dtype[Any], weak_type: bool = False) -> Any:
    """Return ``operand`` converted to the dtype of another operand, whatever enable_x64 is.

    Rules use this in place of :func:`convert_element_type`, which narrows a dtype that a user requests.
    """
    aval = aval_of_operand(operand)
    if aval.dtype == dtype and aval.weak_type == weak_type and getattr(operand, "aval", None) is aval:
        return operand
    return bind1(ConvertElementType(dtype, weak_type), operand)


class BitcastConvertType(PiecewiseConstant, name="bitcast_convert_type"):
    """Bits of the operand reinterpreted as ``new_dtype``.

    A narrower dtype appends an axis with the parts of each element; a wider one combines the elements of the last axis,
    which is removed.
    """

    traits = SIMPLE | MOVES
    new_dtype: np.dtype[Any]

    hlo = "stablehlo.bitcast_convert"
    cost = 0

    def sharding_rule(self, parts: Any, operands: Any, results: Any) -> Any:
        (operand_parts,), rank = parts, results[0].ndim
        if rank < len(operand_parts) and operand_parts[-1]:
            raise unclear(self, operands, "its last axis holds the parts of numbers, and is cut")
        return [(*operand_parts, ())[:rank]]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        if x.dtype != self.new_dtype:
            require_kind(self.name, x.dtype, "if")
            require_kind(self.name, self.new_dtype, "if")
        return [make_aval(self._shape(x), self.new_dtype)]

    def _shape(self, x: ShapedArray) -> tuple[int, ...]:
        """Return the result's shape: a narrower type appends an axis, a wider type removes the last one."""
        old, new = dtype_bits(x.dtype), dtype_bits(self.new_dtype)
        if old == new:
            return x.shape
        if old > new:
            return (*x.shape, old // new)
        if x.shape[-1:] != (new // old,):
            raise ValueError(
                f"bitcast_convert_type from {x.dtype.name} to {self.new_dtype.name} takes operands whose last axis has "
                f"size {new // old}, got shape {x.shape}"
            )
        return x.shape[:-1]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,), (operand_aval,), (out,) = operands, builder.in_avals, builder.out_avals
        return [builder.bitcast(x, operand_aval, out)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        return [bind1(self, moveaxis(x, axis, 0))], [0]


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """Return the bits of ``operand`` reinterpreted as ``new_dtype``.

    A narrower dtype appends an axis with the parts of each element; a wider one combines the elements of the last axis,
    which is removed. Raises ValueError if that axis has another size than the ratio of the widths.

    >>> import numpy as np
    >>> print(bitcast_convert_type(np.float32(1), np.uint8))
    [  0   0 128  63]
    """
    if new_dtype is None:
        raise _missing_dtype_error("bitcast_convert_type")
    return to_bits(operand, resolve_requested_dtype(new_dtype))


def to_bits(operand: Any, dtype: np.dtype[Any]) -> Any:
    """Return the bits of ``operand`` as elements of ``dtype``, whatever enable_x64 is: 64 bits stay 64."""
    return bind1(BitcastConvertType(dtype), operand)


def _missing_dtype_error(name: str) -> ValueError:
    return ValueError(f"{name} takes new_dtype, the dtype to convert to, got None{where_text(user_line())}")
