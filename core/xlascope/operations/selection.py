"""Elementwise selection between values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_kind
from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..records.traits import SIMPLE
from ..trace.bind import bind1
from ..xla.mlir.builder import attribute
from . import sharding_rules
from .elementwise import align, stretch_values
from .linear_operation import linear_taylor_rule
from .operand_checks import broadcast_shape, is_linear
from .operand_values import aval, match, typed_scalar
from .tangent_arithmetic import broadcast_to_result, unbroadcast


class SelectN(Operation, name="select_n"):
    """Elementwise ``cases[which]``; a boolean selects the first case where it is false, the second where true.

    A number beyond the ends selects the first or the last case. Cases without axes broadcast to the result's shape.
    """

    traits = SIMPLE
    accepts_keys = True

    taylor_rule = linear_taylor_rule

    sharding_rule = sharding_rules.elementwise

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        choice, *cases = operands
        if dtype_kind(choice.dtype) not in "biu" or not cases:
            raise TypeError(
                f"select_n takes a truth value or an integer that says which case, and at least one case, got {choice} "
                f"and {len(cases)} cases"
            )
        if dtype_kind(choice.dtype) == "b" and len(cases) > 2:
            raise TypeError(f"select_n takes two cases for a truth value, got {len(cases)}; choose by an int32")
        if len({case.dtype for case in cases}) > 1:
            names = " and ".join(case.dtype.name for case in cases)
            raise TypeError(f"select_n takes cases of one dtype, got {names}")
        shape = choice.shape
        for case in cases:
            shape = broadcast_shape(self.name, shape, case.shape)
        return [make_aval(shape, cases[0].dtype, all(case.weak_type for case in cases))]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        choice, *cases = stretch_values(builder, operands)
        if len(cases) == 1:
            return cases
        if dtype_kind(builder.in_avals[0].dtype) == "b":
            return builder.emit("stablehlo.select", [choice, cases[1], cases[0]])  # type: ignore[no-any-return]
        number = make_aval(builder.out_avals[0].shape, builder.in_avals[0].dtype)
        truth = make_aval(number.shape, np.dtype("bool"))
        below = {"comparison_direction": attribute("#stablehlo<comparison_direction LT>")}
        selected = cases[-1]
        for k in range(len(cases) - 1, 0, -1):
            before = builder.emit1("stablehlo.compare", [choice, builder.constant(k, number)], truth, below)
            (selected,) = builder.emit("stablehlo.select", [before, cases[k - 1], selected])
        return [selected]

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return results[0].size

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        choice = primals[0]
        z = bind1(self, *primals)
        if all(t is ZERO for t in tangents[1:]):
            return [z], [ZERO]
        dense = [typed_scalar(0, aval(z).dtype) if t is ZERO else broadcast_to_result(t, z) for t in tangents[1:]]
        return [z], [bind1(self, choice, *dense)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (choice, *cases) = cotangents, operands
        zeros = [typed_scalar(0, aval(ct).dtype)] * len(cases)
        received = []
        for k, case in enumerate(cases):
            selected = bind1(self, choice, *zeros[:k], ct, *zeros[k + 1 :]) if is_linear(case) else None
            received.append(None if selected is None else unbroadcast(selected, case.aval))
        return [None, *received]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *align(operands, axes))], [0]


class MaskTangent(Operation, name="mask_tangent"):
    """Second operand, whose tangent is zero where the first one selects another case than ``case``.

    Where the branches of a conditional become a selection, under vmap, their operands pass through this operation: an
    example must not get the NaN that the derivative has in a branch that the example does not take. ``cases`` is the
    number of branches.
    """

    traits = SIMPLE
    case: int
    cases: int

    sharding_rule = sharding_rules.elementwise

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        choice, x = operands
        return [make_aval(broadcast_shape(self.name, choice.shape, x.shape), x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return [stretch_values(builder, operands)[1]]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        z = bind1(self, *primals)
        return [z], [ZERO if tangents[1] is ZERO else self._mask(primals[0], broadcast_to_result(tangents[1], z))]

    def taylor_rule(self, degree: int, operands: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        choice, x = operands
        return [ZERO if x[degree] is ZERO else self._mask(choice[0], broadcast_to_result(x[degree], results[0][0]))]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (choice, x) = cotangents, operands
        return [None, unbroadcast(self._mask(choice, ct), x.aval)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *align(operands, axes))], [0]

    def _mask(self, choice: Any, t: Any) -> Any:
        zero = typed_scalar(0, aval(t).dtype)
        return bind1(SelectN.instance, choice, *[t if k == self.case else zero for k in range(self.cases)])


def mask_tangent(which: Any, x: Any, case: int, cases: int) -> Any:
    """Return ``x``, with a zero tangent wherever ``which`` is not ``case``; there are ``cases`` cases."""
    return bind1(MaskTangent(case, cases), which, x)


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """Return ``on_true`` where ``pred`` is true, ``on_false`` elsewhere; Python scalars take the other's dtype."""
    on_true, on_false = match(on_true, on_false)
    return bind1(SelectN.instance, pred, on_false, on_true)


def select_n(which: Any, *cases: Any) -> Any:
    """Return ``cases[which]``, elementwise; a boolean selects the first case where it is false."""
    return bind1(SelectN.instance, which, *cases)
