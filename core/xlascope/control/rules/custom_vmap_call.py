"""custom_vmap_call: the operation that calls a function with a custom batching rule."""

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

#: Function of the batch size, the mask of operands mapped in front, and the operands; returns results and their mask.
Rule = Callable[[int, Sequence[bool], Sequence[Any]], tuple[list[Any], list[bool]]]


class CustomVmapCall(RuledCall, name="custom_vmap_call", by_identity=True):
    """Operation that calls a function with a custom batching rule (:data:`VmapRule`)."""

    rule_title: str

    @property
    def params(self) -> dict[str, Any]:
        return {"name": self.title, "call": self.jaxpr, "rule": self.rule_title}

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Bind a call that computes values and tangents, whose batching rule is the derivative of this one's."""
        count, nonzero = len(primals), moving(tangents)
        out_nonzero: list[bool] = []

        def call_jvp(*values: Any) -> list[Any]:
            results, tangents_out = jvp(self.function, values[:count], in_places(values[count:], nonzero))
            out_nonzero[:] = moving(tangents_out)
            return [*results, *present(tangents_out)]

        def rule(size: int, mapped: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
            return _derivative_of_rule(self, size, mapped, values, nonzero, out_nonzero)

        jvp_call = CustomVmapCall(call_jvp, rule, self.title, None, 0, self.rule_title)
        results = bind(jvp_call, *primals, *present(tangents))
        total = len(results) - sum(out_nonzero)
        return results[:total], in_places(results[total:], out_nonzero)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Differentiate the function itself, because a transposed function has no custom batching rule."""
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
            expected = (size, *aval.shape) if m else aval.shape
            if aval_of(y).shape != expected:
                raise ValueError(
                    f"the batching rule {self.rule_title} of {self.title} has to return results for {size} examples, "
                    f"of shape {expected}; it returned {aval_of(y).shape}{here()}"
                )
        return results, [0 if m else NOT_MAPPED for m in out_mapped]


def _derivative_of_rule(
    call: CustomVmapCall,
    size: int,
    mapped: Sequence[bool],
    values: Sequence[Any],
    nonzero: Sequence[bool],
    out_nonzero: Sequence[bool],
) -> tuple[list[Any], list[bool]]:
    primals, tangents, primal_mapped = _mapped_alike(size, mapped, values, nonzero)
    out_mask: list[bool] = []

    def flat(*xs: Any) -> list[Any]:
        results: list[Any]
        results, out_mapped = call.rule(size, primal_mapped, xs)
        out_mask[:] = out_mapped
        return results

    results, tangents_out = jvp(flat, primals, tangents)
    returned_tangents = [
        (_zeros_like(y) if t is ZERO else t, m)
        for y, t, m, is_nonzero in zip(results, tangents_out, out_mask, out_nonzero, strict=True)
        if is_nonzero
    ]
    return [*results, *(t for t, _ in returned_tangents)], [*out_mask, *(m for _, m in returned_tangents)]


def _mapped_alike(
    size: int, mapped: Sequence[bool], values: Sequence[Any], nonzero: Sequence[bool]
) -> tuple[list[Any], list[Any], list[bool]]:
    """Return values, their tangents, and a mask: a value and its tangent are both mapped or neither."""
    count = len(nonzero)
    primals, marks = list(values[:count]), list(mapped[:count])
    tangents: list[Any] = [ZERO] * count
    nonzero_indices = [i for i, is_nonzero in enumerate(nonzero) if is_nonzero]
    for i, tangent, tangent_mapped in zip(nonzero_indices, values[count:], mapped[count:], strict=True):
        is_mapped = marks[i] or tangent_mapped
        if is_mapped and not tangent_mapped:
            tangent = mapped_in_front(tangent, NOT_MAPPED, size)
        if is_mapped and not marks[i]:
            primals[i] = mapped_in_front(primals[i], NOT_MAPPED, size)
        tangents[i], marks[i] = tangent, is_mapped
    return primals, tangents, marks


def _zeros_like(x: Any) -> Any:
    return zeros_of(strengthened(aval_of(x)))
