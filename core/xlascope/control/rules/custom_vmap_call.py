"""custom_vmap_call: the operation that calls a function with a custom batching rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import see
from ...ir.avals import strip_weak_type
from ...ir.markers import NOT_MAPPED, ZERO
from ...operations.shapes import mapped_in_front, moveaxis, zeros_of
from ...trace.bind import bind
from ...trace.source import here
from ...trace.values import aval_of
from ...transforms.batch_trace import batch_size
from ...transforms.differentiate import jvp
from ..programs.masks import drop_zero_tangents, nonzero_tangents_mask, scatter_by_mask
from .custom_rule_call import CustomRuleCall

#: Function of the batch size, the mask of operands mapped in front, and the operands; returns results and their mask.
VmapRule = Callable[[int, Sequence[bool], Sequence[Any]], tuple[list[Any], list[bool]]]


class CustomVmapCall(CustomRuleCall, name="custom_vmap_call", by_identity=True):
    """Operation that calls a function with a custom batching rule (:data:`VmapRule`).

    ``rule_title`` is the name of the user's rule.
    """

    rule_title: str

    @property
    def params(self) -> dict[str, Any]:
        return {"name": self.title, "call": self.jaxpr, "rule": self.rule_title}

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Bind a call that computes values and tangents; return the results and their tangents.

        The batching rule of that call is the derivative of this call's rule. A tangent is ZERO where it is known to be
        zero.
        """
        count, nonzero = len(primals), nonzero_tangents_mask(tangents)
        out_nonzero: list[bool] = []

        def call_jvp(*values: Any) -> list[Any]:
            results, tangents_out = jvp(self.function, values[:count], scatter_by_mask(values[count:], nonzero))
            out_nonzero[:] = nonzero_tangents_mask(tangents_out)
            return [*results, *drop_zero_tangents(tangents_out)]

        def rule(size: int, mapped: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
            return _differentiate_rule(self, size, mapped, values, nonzero, out_nonzero)

        jvp_call = CustomVmapCall(call_jvp, rule, self.title, None, 0, self.rule_title)
        results = bind(jvp_call, *primals, *drop_zero_tangents(tangents))
        total = len(results) - sum(out_nonzero)
        return results[:total], scatter_by_mask(results[total:], out_nonzero)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Differentiate the function itself; return the results and their tangents.

        A transposed function has no custom batching rule.
        """
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


def _differentiate_rule(
    call: CustomVmapCall,
    size: int,
    mapped: Sequence[bool],
    values: Sequence[Any],
    nonzero: Sequence[bool],
    out_nonzero: Sequence[bool],
) -> tuple[list[Any], list[bool]]:
    """Apply the derivative of a call's batching rule; return values and nonzero tangents, and which are batched.

    ``values`` are primals and then nonzero tangents, ``mapped`` marks those with a batch axis in front. ``nonzero``
    marks the primals that have a tangent, ``out_nonzero`` the results whose tangents are returned.
    """
    primals, tangents, primal_mapped = _align_mapped_axes(size, mapped, values, nonzero)
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


def _align_mapped_axes(
    size: int, mapped: Sequence[bool], values: Sequence[Any], nonzero: Sequence[bool]
) -> tuple[list[Any], list[Any], list[bool]]:
    """Return primals, tangents (ZERO for none) and the mask of batched primals.

    A primal and its tangent are both batched or neither: if only one of them is, the other is broadcast. ``values``
    are primals and then nonzero tangents, ``mapped`` marks the batched ones, ``nonzero`` the primals with a tangent.
    """
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
    return zeros_of(strip_weak_type(aval_of(x)))
