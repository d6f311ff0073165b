"""custom_vjp_call: the operation that calls a function with a custom VJP rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from ...dtypes import float0, is_differentiable
from ...ir.avals import ShapedArray, strengthened
from ...ir.markers import NOT_MAPPED, ZERO
from ...ir.operation import Operation
from ...operations.requirements import is_linear
from ...operations.shapes import moveaxis, reduce_sum
from ...trace.source import here
from ...trace.state import STATE
from ...trace.values import aval_of
from ...transforms.batch import batch
from ...transforms.batch_trace import axis_of_rule, batch_size
from ..programs.marks import Marks, chosen, in_places, moving, present
from .batches import batched_in_front, in_front
from .ruled_call import RuledCall


class Forward(NamedTuple):
    """Result of a forward rule: flat results, flat residuals, and the backward rule that takes these.

    ``backward(residuals, cotangents)`` returns a cotangent for each operand, ZERO for those without one.
    """

    results: list[Any]
    residuals: list[Any]
    backward: Callable[[Sequence[Any], Sequence[Any]], list[Any]]


#: Function from flat operands, and the mask of those with nonzero tangents, to the forward rule's result.
ForwardRule = Callable[[Sequence[Any], Sequence[bool]], Forward]


class CustomVJPCall(RuledCall, name="custom_vjp_call", by_identity=True):
    """Operation that calls a function with a custom VJP rule (:data:`ForwardRule`)."""

    rule_titles: tuple[str, str]
    symbolic_zeros: bool

    @property
    def params(self) -> dict[str, Any]:
        forward, backward = self.rule_titles
        return {
            "name": self.title,
            "bwd": backward,
            "call_jaxpr": self.jaxpr,
            "fwd": forward,
            "symbolic_zeros": self.symbolic_zeros,
        }

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        _cannot_go_forward(self.title)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run the forward rule now, and record a linear operation whose transpose is the backward rule."""
        operands, argument_tangents = self.arguments_alone(primals, tangents)
        results, residuals, backward = self.rule(operands, moving(argument_tangents))
        self.check_results(f"the forward rule {self.rule_titles[0]} of {self.title}", results)
        avals = tuple(aval_of(y) for y in results)
        linear = CustomLin(backward, len(residuals), moving(argument_tangents), avals, self.title)
        recorded = STATE.trace.record(linear, [*residuals, *present(argument_tangents)], linear.abstract_eval(()))
        return results, in_places(recorded, linear.differentiable)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = batch_size(operands, axes)
        rule = _batched_rule(self.rule, axes[self.num_consts :], size, axis_of_rule())
        return self.batched(rule, operands, axes, size)


class CustomLin(Operation, name="custom_lin", by_identity=True):
    """Tangents of a custom_vjp function, which can only be transposed: the transpose is the backward rule."""

    takes_keys = True
    lowered_alike = True

    backward: Callable[[Sequence[Any], Sequence[Any]], list[Any]]
    num_residuals: int
    moving: tuple[bool, ...]
    results: tuple[ShapedArray, ...]
    title: str

    @property
    def params(self) -> dict[str, Any]:
        return {"name": self.title, "num_res": self.num_residuals}

    @property
    def differentiable(self) -> Marks:
        """Return the mask of results that have a tangent."""
        return tuple(is_differentiable(a.dtype) for a in self.results)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return [strengthened(a) for a in chosen(self.results, self.differentiable)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        count = self.num_residuals
        operand_cotangents = self.backward(operands[:count], in_places(cotangents, self.differentiable))
        nonzero_cotangents = iter(chosen(operand_cotangents, self.moving))
        return [None] * count + [next(nonzero_cotangents) if is_linear(x) else None for x in operands[count:]]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        _cannot_go_forward(self.title)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        _cannot_go_forward(self.title)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        _cannot_go_forward(self.title)


def _cannot_go_forward(name: str) -> NoReturn:
    raise TypeError(
        f"forward-mode differentiation (jvp, jacfwd, hessian as jacfwd of grad) does not work through {name}, a "
        f"custom_vjp function{here()}: it says only how cotangents go back. Use grad, vjp or jacrev, "
        "or define the rule with custom_jvp, which serves both."
    )


def _batched_rule(rule: ForwardRule, axes: Sequence[Any], size: int, axis: Any) -> ForwardRule:
    def apply_batched_rule(operands: Sequence[Any], nonzero: Sequence[bool]) -> Forward:
        count_and_backward: list[Any] = []

        def results_and_residuals(*values: Any) -> list[Any]:
            forward_result = rule(values, nonzero)
            count_and_backward[:] = [len(forward_result.results), forward_result.backward]
            return [*forward_result.results, *forward_result.residuals]

        batched_values = batched_in_front(results_and_residuals, operands, axes, size, axis)
        count, backward = count_and_backward
        return Forward(batched_values[:count], batched_values[count:], _batched_backward(backward, axes, size, axis))

    return apply_batched_rule


def _batched_backward(backward: Any, axes: Sequence[Any], size: int, axis: Any) -> Any:
    """Return the backward rule for all examples; an operand shared by all gets the sum of their cotangents."""

    def apply_batched_rule(residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        count = len(residuals)
        nonzero_in = moving(cotangents)
        nonzero: list[bool] = []

        def flat(*values: Any) -> list[Any]:
            operand_cotangents = backward(values[:count], in_places(values[count:], nonzero_in))
            nonzero[:] = moving(operand_cotangents)
            return present(operand_cotangents)

        flat_operands = [*residuals, *present(cotangents)]
        results, out_axes = batch(flat, flat_operands, [0] * len(flat_operands), axis)
        cotangent_axes = zip(results, out_axes, chosen(axes, nonzero), strict=True)
        return in_places(
            [_placed(ct, cotangent_axis, operand_axis, size) for ct, cotangent_axis, operand_axis in cotangent_axes],
            nonzero,
        )

    return apply_batched_rule


def _placed(cotangent: Any, axis: Any, operand_axis: Any, size: int) -> Any:
    if aval_of(cotangent).dtype == float0:
        return ZERO
    front = in_front(cotangent, axis, size)
    if operand_axis is NOT_MAPPED:
        return reduce_sum(front, (0,))
    return moveaxis(front, 0, operand_axis)
