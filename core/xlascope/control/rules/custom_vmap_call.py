"""custom_vmap_call: a call of a function that says itself how it is vectorized."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import see
from ...ir.avals import strengthened
from ...ir.markers import NOT_MAPPED, ZERO
from ...operations.shapes import mapped_in_front, moveaxis, zeros_of
from ...trace.bind import bind
from ...trace.source import here
from ...trace.values import aval_of
from ...transforms.batch_trace import batch_size
from ...transforms.differentiate import jvp
from ..programs.marks import in_places, moving, present
from .ruled_call import RuledCall

#: Number of examples, which operands are mapped (in front), the operands: results, and which of them are mapped.
Rule = Callable[[int, Sequence[bool], Sequence[Any]], tuple[list[Any], list[bool]]]


class CustomVmapCall(RuledCall, name="custom_vmap_call", by_identity=True):
    """The results of a function with a batching rule of its own (:data:`Rule`)."""

    rule_title: str

    @property
    def params(self) -> dict[str, Any]:
        return {"name": self.title, "call": self.jaxpr, "rule": self.rule_title}

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Values and tangents together are a function whose batching rule is the derivative of this one's."""
        count, moves = len(primals), moving(tangents)
        kept: list[bool] = []

        def derivative(*values: Any) -> list[Any]:
            results, moved = jvp(self.function, values[:count], in_places(values[count:], moves))
            kept[:] = moving(moved)
            return [*results, *present(moved)]

        def rule(size: int, mapped: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
            return _derivative_of_rule(self, size, mapped, values, moves, kept)

        made = CustomVmapCall(derivative, rule, self.title, None, 0, self.rule_title)
        results = bind(made, *primals, *present(tangents))
        total = len(results) - sum(kept)
        return results[:total], in_places(results[total:], kept)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Differentiate the function itself: a transposed function has no batching rule of its own."""
        return jvp(self.function, primals, tangents)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size, count = batch_size(operands, axes), self.num_consts
        if any(a is not NOT_MAPPED for a in axes[:count]):
            raise TypeError(
                f"{self.title} has a batching rule of its own and closes over a mapped value{here()}: "
                "the rule says only how its arguments are vectorized. Make that value an argument."
                + see("closed-over-value")
            )
        mapped = [a is not NOT_MAPPED for a in axes[count:]]
        front = [moveaxis(x, a, 0) if m else x for x, a, m in zip(operands[count:], axes[count:], mapped, strict=True)]
        results: list[Any]
        results, out_mapped = self.rule(size, mapped, front)
        assert self.jaxpr is not None
        for y, m, aval in zip(results, out_mapped, self.jaxpr.out_avals, strict=True):
            wanted = (size, *aval.shape) if m else aval.shape
            if aval_of(y).shape != wanted:
                raise ValueError(
                    f"the batching rule {self.rule_title} of {self.title} has to return results for {size} examples, "
                    f"of shape {wanted}; it returned {aval_of(y).shape}{here()}"
                )
        return results, [0 if m else NOT_MAPPED for m in out_mapped]


def _derivative_of_rule(
    call: CustomVmapCall,
    size: int,
    mapped: Sequence[bool],
    values: Sequence[Any],
    moves: Sequence[bool],
    out_moves: Sequence[bool],
) -> tuple[list[Any], list[bool]]:
    primals, tangents, primal_mapped = _mapped_alike(size, mapped, values, moves)
    found: list[bool] = []

    def flat(*xs: Any) -> list[Any]:
        results: list[Any]
        results, out_mapped = call.rule(size, primal_mapped, xs)
        found[:] = out_mapped
        return results

    results, moved = jvp(flat, primals, tangents)
    wanted = [
        (_zeros_like(y) if t is ZERO else t, m)
        for y, t, m, wanted_too in zip(results, moved, found, out_moves, strict=True)
        if wanted_too
    ]
    return [*results, *(t for t, _ in wanted)], [*found, *(m for _, m in wanted)]


def _mapped_alike(
    size: int, mapped: Sequence[bool], values: Sequence[Any], moves: Sequence[bool]
) -> tuple[list[Any], list[Any], list[bool]]:
    """Values, their tangents, and which are mapped: a value and its tangent have to be mapped alike."""
    count = len(moves)
    primals, marks = list(values[:count]), list(mapped[:count])
    tangents: list[Any] = [ZERO] * count
    places = [i for i, moves_too in enumerate(moves) if moves_too]
    for i, tangent, also in zip(places, values[count:], mapped[count:], strict=True):
        both = marks[i] or also
        if both and not also:
            tangent = mapped_in_front(tangent, NOT_MAPPED, size)
        if both and not marks[i]:
            primals[i] = mapped_in_front(primals[i], NOT_MAPPED, size)
        tangents[i], marks[i] = tangent, both
    return primals, tangents, marks


def _zeros_like(x: Any) -> Any:
    return zeros_of(strengthened(aval_of(x)))
