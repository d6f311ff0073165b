"""custom_jvp_call: the operation that calls a function with a custom JVP rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.markers import NOT_MAPPED
from ...transforms.batch_trace import axis_of_rule, batch_size
from ..programs.marks import chosen, in_places, moving, present
from .batches import batched_in_front
from .ruled_call import RuledCall

#: Function from flat primals and tangents (ZERO for zero tangents) to flat results and their tangents.
Rule = Callable[[Sequence[Any], Sequence[Any]], tuple[list[Any], list[Any]]]


class CustomJVPCall(RuledCall, name="custom_jvp_call", by_identity=True):
    """Operation that calls a function with a custom JVP rule (:data:`JVPRule`)."""

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
        results, tangents_out = self.rule(*self.arguments_alone(primals, tangents))
        self.check_results(f"the jvp rule {self.rule_title} of {self.title}", results)
        return results, tangents_out

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = batch_size(operands, axes)
        count = len(self.abstract_eval(()))
        rule = _batched_rule(self.rule, axes[self.num_consts :], size, count, axis_of_rule())
        return self.batched(rule, operands, axes, size)


def _batched_rule(rule: Rule, axes: Sequence[Any], size: int, count: int, axis: Any) -> Rule:
    def apply_batched_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        nonzero = moving(tangents)

        def call_rule_flat(*values: Any) -> list[Any]:
            results, tangents_out = rule(values[: len(axes)], in_places(values[len(axes) :], nonzero))
            return [*results, *tangents_out]

        flat_operands = [*primals, *present(tangents)]
        operand_axes = [*axes, *chosen(axes, nonzero)]
        if all(a is NOT_MAPPED for a in operand_axes):
            raise AssertionError("a batched rule without a mapped operand")
        batched_results = batched_in_front(call_rule_flat, flat_operands, operand_axes, size, axis)
        return batched_results[:count], batched_results[count:]

    return apply_batched_rule
