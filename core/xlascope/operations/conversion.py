"""Conversion of elements to another dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import bits_of, iinfo, kind_of
from ..ir.avals import ShapedArray, shaped
from ..ir.explicit import unclear
from ..ir.markers import ZERO
from ..ir.requested_dtypes import requested_dtype
from ..ir.sources import user_line, where_text
from ..key_types import is_key
from ..records.traits import MOVES, SIMPLE
from ..trace.bind import bind1
from ..xla.mlir.builder import attribute
from .complex_numbers import real_dtype
from .families import Flat, Unary
from .linear import pushed
from .requirements import require_kind
from .shapes import moveaxis
from .values import aval as aval_of_operand


class ConvertElementType(Unary, name="convert_element_type"):
    """The elements in another dtype; linear between floating-point types, flat otherwise."""

    traits = SIMPLE | MOVES
    new_dtype: np.dtype[Any]
    weak_type: bool

    taylor_rule = pushed

    hlo = "stablehlo.convert"
    cost = 0

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        if is_key(self.new_dtype):
            raise TypeError(f"{x.str_short()} cannot be converted to {self.new_dtype}: random.wrap_key_data makes keys")
        return [shaped(x.shape, self.new_dtype, self.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,), (aval,) = operands, builder.in_avals
        (out,) = builder.out_avals
        if kind_of(out.dtype) == "b" and kind_of(aval.dtype) != "b":  # XLA's convert to i1 keeps the lowest bit
            direction = attribute("#stablehlo<comparison_direction NE>")
            zero = builder.constant(0, aval)
            return builder.emit("stablehlo.compare", [x, zero], {"comparison_direction": direction})  # type: ignore[no-any-return]
        if kind_of(aval.dtype) == "c" and kind_of(out.dtype) != "c":
            aval = shaped(aval.shape, real_dtype(aval.dtype))
            x = builder.emit1("stablehlo.real", [x], aval)
        if kind_of(aval.dtype) == "f" and kind_of(out.dtype) in "iu" and bits_of(out.dtype) < 8:
            x = _within(builder, x, aval, out.dtype)
        return builder.emit(self.hlo, [x])  # type: ignore[no-any-return]

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return ZERO if kind_of(self.new_dtype) in "biu" else convert_element_type(t, self.new_dtype)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x,) = cotangents, operands
        return [convert_element_type(ct, x.aval.dtype)]


def _within(builder: Any, x: Any, aval: ShapedArray, dtype: np.dtype[Any]) -> Any:
    """Clamp floats to the range of an integer type narrower than its carrier, as XLA does for wider ones."""
    wide = aval
    if bits_of(aval.dtype) <= 8:  # some of these have no negative numbers, or no large enough ones
        wide = shaped(aval.shape, np.dtype("float32"))
        x = builder.emit1("stablehlo.convert", [x], wide)
    limits = iinfo(dtype)
    least, most = (builder.constant(int(limit), wide) for limit in (limits.min, limits.max))
    return builder.emit1("stablehlo.clamp", [least, x, most], wide)


def convert_element_type(operand: Any, new_dtype: Any, weak_type: bool = False) -> Any:
    """Return the elements of ``operand`` as ``new_dtype`` (32-bit for 64-bit types unless enable_x64 is set)."""
    if new_dtype is None:
        raise _no_dtype("convert_element_type")
    dtype = requested_dtype(new_dtype)
    aval = aval_of_operand(operand)
    if aval.dtype == dtype and aval.weak_type == weak_type and getattr(operand, "aval", None) is aval:
        return operand
    return bind1(ConvertElementType(dtype, weak_type), operand)


class BitcastConvertType(Flat, name="bitcast_convert_type"):
    """The same bits read as another dtype; a last axis holds the narrower elements that make one wider one."""

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
        return [shaped(self._shape(x), self.new_dtype)]

    def _shape(self, x: ShapedArray) -> tuple[int, ...]:
        """Return the result's shape: a narrower type appends an axis, a wider type removes the last one."""
        old, new = bits_of(x.dtype), bits_of(self.new_dtype)
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
    """Return the bits of ``operand`` read as ``new_dtype``, in the same shape, or with a last axis more or less.

    >>> import numpy as np
    >>> print(bitcast_convert_type(np.float32(1), np.uint8))
    [  0   0 128  63]
    """
    if new_dtype is None:
        raise _no_dtype("bitcast_convert_type")
    return bind1(BitcastConvertType(requested_dtype(new_dtype)), operand)


def _no_dtype(name: str) -> ValueError:
    return ValueError(f"{name} takes new_dtype, the dtype to convert to, got None{where_text(user_line())}")
