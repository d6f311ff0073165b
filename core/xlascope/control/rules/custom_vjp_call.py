"""custom_vjp_call: a call of a function that says itself how cotangents go back through it."""

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
    """What the forward rule gave: flat results, flat residuals, and the backward rule that takes these.

    ``backward(residuals, cotangents)`` gives a cotangent for each operand, ZERO where none arrives.
    """

    results: list[Any]
    residuals: list[Any]
    backward: Callable[[Sequence[Any], Sequence[Any]], list[Any]]


#: Flat operands, and which of them move, to what the forward rule gives.
ForwardRule = Callable[[Sequence[Any], Sequence[bool]], Forward]


class CustomVJPCall(RuledCall, name="custom_vjp_call", by_identity=True):
    """The results of a function with a vjp rule of its own (:data:`ForwardRule`)."""

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
        """Run the forward rule now, and record an operation that has nothing but a transpose: the backward rule."""
        operands, moves = self.arguments_alone(primals, tangents)
        results, residuals, backward = self.rule(operands, moving(moves))
        self.check_results(f"the forward rule {self.rule_titles[0]} of {self.title}", results)
        avals = tuple(aval_of(y) for y in results)
        linear = CustomLin(backward, len(residuals), moving(moves), avals, self.title)
        recorded = STATE.trace.record(linear, [*residuals, *present(moves)], linear.abstract_eval(()))
        return results, in_places(recorded, linear.differentiable)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = batch_size(operands, axes)
        rule = _batched_rule(self.rule, axes[self.num_consts :], size, axis_of_rule())
        return self.batched(rule, operands, axes, size)


class CustomLin(Operation, name="custom_lin", by_identity=True):
    """The tangents of a custom_vjp function: they exist only to be transposed, by its backward rule."""

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
        """Which results have a tangent."""
        return tuple(is_differentiable(a.dtype) for a in self.results)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return [strengthened(a) for a in chosen(self.results, self.differentiable)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        count = self.num_residuals
        found = self.backward(operands[:count], in_places(cotangents, self.differentiable))
        moved = iter(chosen(found, self.moving))
        return [None] * count + [next(moved) if is_linear(x) else None for x in operands[count:]]

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
    def forward(operands: Sequence[Any], moves: Sequence[bool]) -> Forward:
        kept: list[Any] = []

        def results_and_residuals(*values: Any) -> list[Any]:
            made = rule(values, moves)
            kept[:] = [len(made.results), made.backward]
            return [*made.results, *made.residuals]

        found = batched_in_front(results_and_residuals, operands, axes, size, axis)
        count, backward = kept
        return Forward(found[:count], found[count:], _batched_backward(backward, axes, size, axis))

    return forward


def _batched_backward(backward: Any, axes: Sequence[Any], size: int, axis: Any) -> Any:
    """The backward rule for all examples: an operand that they share gets the sum of their cotangents."""

    def batched(residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        count = len(residuals)
        arrives = moving(cotangents)
        there: list[bool] = []

        def flat(*values: Any) -> list[Any]:
            found = backward(values[:count], in_places(values[count:], arrives))
            there[:] = moving(found)
            return present(found)

        given = [*residuals, *present(cotangents)]
        results, places = batch(flat, given, [0] * len(given), axis)
        found = zip(results, places, chosen(axes, there), strict=True)
        return in_places([_placed(ct, place, own, size) for ct, place, own in found], there)

    return batched


def _placed(cotangent: Any, axis: Any, own: Any, size: int) -> Any:
    if aval_of(cotangent).dtype == float0:
        return ZERO
    front = in_front(cotangent, axis, size)
    if own is NOT_MAPPED:
        return reduce_sum(front, (0,))
    return moveaxis(front, 0, own)
