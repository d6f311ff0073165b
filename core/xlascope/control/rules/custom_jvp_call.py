"""custom_jvp_call: the operation that calls a function with a custom JVP rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.markers import NOT_MAPPED
from ...transforms.batch_trace import batch_size, current_rule_axis
from ..programs.masks import drop_zero_tangents, nonzero_tangents_mask, scatter_by_mask, select_by_mask
from .batched_rules import batch_with_leading_axis
from .custom_rule_call import CustomRuleCall

#: Function from flat primals and tangents (ZERO for zero tangents) to flat results and their tangents.
JVPRule = Callable[[Sequence[Any], Sequence[Any]], tuple[list[Any], list[Any]]]


class CustomJVPCall(CustomRuleCall, name="custom_jvp_call", by_identity=True):
    """Operation that calls a function with a custom JVP rule (:data:`JVPRule`).

    ``rule_title`` is the name of the user's rule; ``symbolic_zeros`` says whether it takes zero tangents as
    ``SymbolicZero``.
    """

    rule_title: str
    symbolic_zeros: bool

    @property
    def params(self) -> dict[str, Any]:
        return {
            "name": self.title,
            "call_jaxpr": self.jaxpr,
            "jvp": self.rule_title,
            "symbolic_zeros": self.symbolic_zeros,
        }

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        results, tangents_out = self.rule(*self.rule_arguments(primals, tangents))
        self.check_results(f"the jvp rule {self.rule_title} of {self.title}", results)
        return results, tangents_out

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = batch_size(operands, axes)
        count = len(self.abstract_eval(()))
        rule = _batch_jvp_rule(self.rule, axes[self.num_consts :], size, count, current_rule_axis())
        return self.bind_batched(rule, operands, axes, size)


def _batch_jvp_rule(rule: JVPRule, axes: Sequence[Any], size: int, count: int, axis: Any) -> JVPRule:
    """Return the JVP rule for all examples at once; its results and tangents have the batch axis in front.

    ``axes`` are the batch axes of the operands, ``size`` is the batch size, ``count`` the number of results, ``axis``
    the name and size of the mapped axis, or None.
    """

    def apply_batched_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        nonzero = nonzero_tangents_mask(tangents)

        def call_rule_flat(*values: Any) -> list[Any]:
            results, tangents_out = rule(values[: len(axes)], scatter_by_mask(values[len(axes) :], nonzero))
            return [*results, *tangents_out]

        flat_operands = [*primals, *drop_zero_tangents(tangents)]
        operand_axes = [*axes, *select_by_mask(axes, nonzero)]
        if all(a is NOT_MAPPED for a in operand_axes):
            raise AssertionError("a batched rule without a mapped operand")
        batched_results = batch_with_leading_axis(call_rule_flat, flat_operands, operand_axes, size, axis)
        return batched_results[:count], batched_results[count:]

    return apply_batched_rule
