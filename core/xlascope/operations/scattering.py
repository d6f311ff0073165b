"""Scatter by subtraction, multiplication, minimum and maximum.

Where several updates fall on one element, all count. Scatter and scatter_add are in ``indexing``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from ..ir.avals import ShapedArray, shaped
from ..ir.markers import ZERO
from ..trace.bind import bind1
from . import arithmetic
from .arithmetic import div, mul, square, sub
from .bits import bitwise_or
from .comparisons import eq, ne
from .complex_numbers import extreme
from .conversion import convert_element_type
from .indexing import ScatterAdd, ScatterFamily
from .requirements import is_linear, require_kind
from .selection import select
from .shapes import zeros_of
from .sums import neg, sum_tangents
from .values import aval, shape_of, typed_scalar


class ScatterSub(ScatterFamily, name="scatter_sub"):
    """The operand with updates subtracted at indices."""

    kinds = "ifc"

    jvp = ScatterAdd.jvp
    flops = ScatterAdd.flops

    def merge(self, builder: Any, old: Any, new: Any, scalar: ShapedArray) -> Any:
        return builder.emit1("stablehlo.subtract", [old, new], scalar)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x, indices, updates) = cotangents, operands
        ct_updates = neg(self.gathered(ct, indices, updates.aval)) if is_linear(updates) else None
        return [ct if is_linear(x) else None, None, ct_updates]


class ScatterMul(ScatterFamily, name="scatter_mul"):
    """The operand multiplied by updates at indices."""

    flops = ScatterAdd.flops

    def merge(self, builder: Any, old: Any, new: Any, scalar: ShapedArray) -> Any:
        return builder.emit1("stablehlo.multiply", [old, new], scalar)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        x, indices, updates = primals
        tx, _, tu = tangents
        z = bind1(self, x, indices, updates)
        parts = [ZERO if tx is ZERO else bind1(self, tx, indices, updates)]
        if tu is not ZERO and self._no_two_meet(indices):
            parts.append(mul(x, self._added(x, indices, tu)))
        elif tu is not ZERO:
            moved = mul(self._product_of_others(x, indices, updates), tu)
            parts.append(self._added(x, indices, moved))
        return [z], [sum_tangents(parts)]

    def _no_two_meet(self, indices: Any) -> bool:
        return self.unique_indices or math.prod(shape_of(indices)[:-1]) <= 1

    def _added(self, x: Any, indices: Any, updates: Any) -> Any:
        add = ScatterAdd(self.dimension_numbers, self.mode, self.indices_are_sorted, self.unique_indices)
        return bind1(add, zeros_of(shaped(shape_of(x), aval(updates).dtype)), indices, updates)

    def _product_of_others(self, x: Any, indices: Any, updates: Any) -> Any:
        """Return, for each update, the operand's element times the other updates on it, also where some are zero.

        With P the product of the element and its updates that are not zero, and Q that without u, it is Q where none
        of the others is zero; where one or two are, it is their product times Q, which is zero and has derivatives;
        and zero where more are. Of two, a and b, the product is ((a + b)² - (a² + b²)) / 2. Fourth derivatives are
        not right where three of the others are zero.
        """
        dtype = aval(x).dtype
        unit, zero = typed_scalar(1, dtype), typed_scalar(0, dtype)
        type_of_updates = aval(updates)
        is_zero = eq(updates, zero)
        safe = select(is_zero, unit, updates)
        product = self.gathered(bind1(self, x, indices, safe), indices, type_of_updates)
        zeros = self.gathered(self._added(x, indices, convert_element_type(is_zero, dtype)), indices, type_of_updates)
        other_zeros = sub(zeros, convert_element_type(is_zero, dtype))
        small = select(is_zero, updates, zero)
        total, squares = (
            sub(self.gathered(self._added(x, indices, values), indices, type_of_updates), values)
            for values in (small, square(small))
        )
        both = mul(sub(square(total), squares), typed_scalar(0.5, dtype))
        of_zeros = select(eq(other_zeros, unit), total, select(eq(other_zeros, typed_scalar(2, dtype)), both, zero))
        product = div(product, safe)
        return select(eq(other_zeros, zero), product, mul(product, of_zeros))

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x, indices, updates) = cotangents, operands
        if is_linear(x):
            return [bind1(self, ct, indices, updates), None, None]
        if not self._no_two_meet(indices):
            raise NotImplementedError("scatter_mul is not linear in updates that fall on one element")
        return [None, None, self.gathered(mul(x, ct), indices, updates.aval)]


class _ScatterExtreme(ScatterFamily):
    """The extreme of an element and its updates, which share the derivative where several are equally extreme."""

    combine: ClassVar[str]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        require_kind(self.name, operands[0].dtype, "bifc")
        return super().abstract_eval(operands)

    def merge(self, builder: Any, old: Any, new: Any, scalar: ShapedArray) -> Any:
        return extreme(builder, self.combine, old, new, scalar)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        x, indices, updates = primals
        tx, _, tu = tangents
        z = bind1(self, x, indices, updates)
        if tx is ZERO and tu is ZERO:
            return [z], [ZERO]
        dtype = aval(z).dtype
        unit, zero = typed_scalar(1, dtype), typed_scalar(0, dtype)
        add = ScatterAdd(self.dimension_numbers, self.mode, self.indices_are_sorted, self.unique_indices)
        zeros = zeros_of(shaped(shape_of(x), dtype))
        # a NaN without updates keeps its tangent
        stays = select(bitwise_or(eq(x, z), ne(x, x)), unit, zero)
        wins = select(eq(updates, self.gathered(z, indices, aval(updates))), unit, zero)
        winners = arithmetic.add(stays, bind1(add, zeros, indices, wins))
        share = div(unit, select(eq(winners, zero), unit, winners))
        parts = [ZERO if tx is ZERO else mul(tx, mul(stays, share))]
        if tu is not ZERO:
            shares = mul(wins, self.gathered(share, indices, aval(updates)))
            parts.append(bind1(add, zeros, indices, mul(tu, shares)))
        return [z], [sum_tangents(parts)]


class ScatterMin(_ScatterExtreme, name="scatter_min"):
    """The smaller of the operand's elements and updates at indices."""

    combine = "stablehlo.minimum"


class ScatterMax(_ScatterExtreme, name="scatter_max"):
    """The larger of the operand's elements and updates at indices."""

    combine = "stablehlo.maximum"
