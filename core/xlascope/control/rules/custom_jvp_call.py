"""custom_jvp_call: a call of a function that says itself how it moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.markers import NOT_MAPPED
from ...transforms.batch_trace import axis_of_rule, batch_size
from ..programs.marks import chosen, in_places, moving, present
from .batches import batched_in_front
from .ruled_call import RuledCall

#: Flat primals and tangents (ZERO where nothing moves) to flat results and their tangents.
Rule = Callable[[Sequence[Any], Sequence[Any]], tuple[list[Any], list[Any]]]


class CustomJVPCall(RuledCall, name="custom_jvp_call", by_identity=True):
    """The results of a function with a jvp rule of its own (:data:`Rule`)."""

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
        results, moved = self.rule(*self.arguments_alone(primals, tangents))
        self.check_results(f"the jvp rule {self.rule_title} of {self.title}", results)
        return results, moved

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = batch_size(operands, axes)
        count = len(self.abstract_eval(()))
        rule = _batched_rule(self.rule, axes[self.num_consts :], size, count, axis_of_rule())
        return self.batched(rule, operands, axes, size)


def _batched_rule(rule: Rule, axes: Sequence[Any], size: int, count: int, axis: Any) -> Rule:
    def batched(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        moves = moving(tangents)

        def both(*values: Any) -> list[Any]:
            results, moved = rule(values[: len(axes)], in_places(values[len(axes) :], moves))
            return [*results, *moved]

        given = [*primals, *present(tangents)]
        places = [*axes, *chosen(axes, moves)]
        if all(a is NOT_MAPPED for a in places):
            raise AssertionError("a batched rule without a mapped operand")
        found = batched_in_front(both, given, places, size, axis)
        return found[:count], found[count:]

    return batched
