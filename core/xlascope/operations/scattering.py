"""Scatter by subtraction, multiplication, minimum and maximum.

Where several updates fall on one element, all are applied. Scatter and scatter_add are in ``indexing``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import ZERO
from ..trace.bind import bind1
from . import arithmetic
from .arithmetic import div, mul, square, sub
from .bits import bitwise_or
from .comparisons import eq, ne
from .complex_numbers import emit_extreme
from .conversion import to_dtype
from .indexing import ScatterAdd, ScatterFamily
from .operand_checks import is_linear, require_kind
from .operand_values import aval, shape_of, typed_scalar
from .selection import select
from .shapes import zeros_of
from .tangent_arithmetic import neg, sum_tangents


class ScatterSub(ScatterFamily, name="scatter_sub"):
    """Operand with updates subtracted from its elements at indices."""

    kinds = "ifc"

    jvp = ScatterAdd.jvp
    flops = ScatterAdd.flops

    def merge(self, builder: Any, old: Any, new: Any, scalar: ShapedArray) -> Any:
        return builder.emit1("stablehlo.subtract", [old, new], scalar)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x, indices, updates) = cotangents, operands
        ct_updates = neg(self.gather_at_updates(ct, indices, updates.aval)) if is_linear(updates) else None
        return [ct if is_linear(x) else None, None, ct_updates]


class ScatterMul(ScatterFamily, name="scatter_mul"):
    """Operand with its elements at indices multiplied by updates."""

    flops = ScatterAdd.flops

    def merge(self, builder: Any, old: Any, new: Any, scalar: ShapedArray) -> Any:
        return builder.emit1("stablehlo.multiply", [old, new], scalar)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        x, indices, updates = primals
        tx, _, tu = tangents
        z = bind1(self, x, indices, updates)
        parts = [ZERO if tx is ZERO else bind1(self, tx, indices, updates)]
        if tu is not ZERO and self._has_disjoint_updates(indices):
            parts.append(mul(x, self._scatter_added(x, indices, tu)))
        elif tu is not ZERO:
            update_tangents = mul(self._exclusive_products(x, indices, updates), tu)
            parts.append(self._scatter_added(x, indices, update_tangents))
        return [z], [sum_tangents(parts)]

    def _has_disjoint_updates(self, indices: Any) -> bool:
        return self.unique_indices or math.prod(shape_of(indices)[:-1]) <= 1

    def _scatter_added(self, x: Any, indices: Any, updates: Any) -> Any:
        add = ScatterAdd(self.dimension_numbers, self.mode, self.indices_are_sorted, self.unique_indices)
        return bind1(add, zeros_of(make_aval(shape_of(x), aval(updates).dtype)), indices, updates)

    def _exclusive_products(self, x: Any, indices: Any, updates: Any) -> Any:
        """Return, for each update, the operand's element times all other updates that fall on it.

        It is exact also if some updates are zero. Let P be the product of the element and its nonzero updates, and Q
        the same without u, the update in question. If none of the others is zero the result is Q; if one or two are, it
        is Q times their product, which is zero and has derivatives; if more are, it is zero. The product of two, a and
        b, is computed as ((a + b)² - (a² + b²)) / 2. Fourth derivatives are wrong where three of the others are zero.
        """
        dtype = aval(x).dtype
        unit, zero = typed_scalar(1, dtype), typed_scalar(0, dtype)
        type_of_updates = aval(updates)
        is_zero = eq(updates, zero)
        safe = select(is_zero, unit, updates)
        product = self.gather_at_updates(bind1(self, x, indices, safe), indices, type_of_updates)
        zeros = self.gather_at_updates(
            self._scatter_added(x, indices, to_dtype(is_zero, dtype)), indices, type_of_updates
        )
        other_zeros = sub(zeros, to_dtype(is_zero, dtype))
        small = select(is_zero, updates, zero)
        total, squares = (
            sub(self.gather_at_updates(self._scatter_added(x, indices, values), indices, type_of_updates), values)
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
        if not self._has_disjoint_updates(indices):
            raise NotImplementedError("scatter_mul is not linear in updates that fall on one element")
        return [None, None, self.gather_at_updates(mul(x, ct), indices, updates.aval)]


class _ScatterExtreme(ScatterFamily):
    """Extreme of each element and its updates; equal extremes share the derivative."""

    combine: ClassVar[str]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        require_kind(self.name, operands[0].dtype, "bifc")
        return super().abstract_eval(operands)

    def merge(self, builder: Any, old: Any, new: Any, scalar: ShapedArray) -> Any:
        return emit_extreme(builder, self.combine, old, new, scalar)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        x, indices, updates = primals
        tx, _, tu = tangents
        z = bind1(self, x, indices, updates)
        if tx is ZERO and tu is ZERO:
            return [z], [ZERO]
        dtype = aval(z).dtype
        unit, zero = typed_scalar(1, dtype), typed_scalar(0, dtype)
        add = ScatterAdd(self.dimension_numbers, self.mode, self.indices_are_sorted, self.unique_indices)
        zeros = zeros_of(make_aval(shape_of(x), dtype))
        # a NaN without updates keeps its tangent
        stays = select(bitwise_or(eq(x, z), ne(x, x)), unit, zero)
        wins = select(eq(updates, self.gather_at_updates(z, indices, aval(updates))), unit, zero)
        winners = arithmetic.add(stays, bind1(add, zeros, indices, wins))
        share = div(unit, select(eq(winners, zero), unit, winners))
        parts = [ZERO if tx is ZERO else mul(tx, mul(stays, share))]
        if tu is not ZERO:
            shares = mul(wins, self.gather_at_updates(share, indices, aval(updates)))
            parts.append(bind1(add, zeros, indices, mul(tu, shares)))
        return [z], [sum_tangents(parts)]


class ScatterMin(_ScatterExtreme, name="scatter_min"):
    """Operand with its elements at indices replaced by the minimum of them and their updates."""

    combine = "stablehlo.minimum"


class ScatterMax(_ScatterExtreme, name="scatter_max"):
    """Operand with its elements at indices replaced by the maximum of them and their updates."""

    combine = "stablehlo.maximum"
