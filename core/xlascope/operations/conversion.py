"""The same elements as another dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import canonical
from ..ir.avals import ShapedArray, shaped
from ..ir.markers import ZERO
from ..trace.bind import bind1
from ..xla.builder import attribute
from .complex_numbers import real_dtype
from .families import Flat, Unary
from .linear import pushed
from .values import aval as aval_of_operand


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
            x = builder.emit1("stablehlo.real", [x], shaped(aval.shape, real_dtype(aval.dtype)))
        return builder.emit(self.hlo, [x])  # type: ignore[no-any-return]

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return ZERO if self.new_dtype.kind in "biu" else convert_element_type(t, self.new_dtype)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x,) = cotangents, operands
        return [convert_element_type(ct, x.aval.dtype)]


def convert_element_type(operand: Any, new_dtype: Any, weak_type: bool = False) -> Any:
    """The elements of ``operand`` as ``new_dtype`` (64-bit types become 32-bit unless enable_x64 is set)."""
    dtype = canonical(new_dtype)
    aval = aval_of_operand(operand)
    if aval.dtype == dtype and aval.weak_type == weak_type and hasattr(operand, "aval"):
        return operand
    return bind1(ConvertElementType(dtype, weak_type), operand)


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


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The bits of ``operand`` read as ``new_dtype``, which has the same width."""
    return bind1(BitcastConvertType(np.dtype(new_dtype)), operand)
