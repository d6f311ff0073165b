"""custom_vjp_call: the operation that calls a function with a custom VJP rule."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...dtypes import float0, is_differentiable
from ...ir.avals import ShapedArray, strip_weak_type
from ...ir.markers import NOT_MAPPED, ZERO
from ...ir.operation import Operation, UnusableResultError
from ...operations.operand_checks import is_linear
from ...operations.shapes import moveaxis, reduce_sum
from ...operations.varying_axes import make_varying, sum_over_extra_axes
from ...trace.bind import bind
from ...trace.source import here
from ...trace.state import STATE
from ...trace.values import aval_of
from ...transforms.batch import batch
from ...transforms.batch_trace import batch_size, current_rule_axis, insert_axis
from ..programs.masks import Mask, drop_zero_tangents, nonzero_tangents_mask, scatter_by_mask, select_by_mask
from .batched_rules import batch_with_leading_axis, move_mapped_axis_to_front
from .custom_rule_call import CustomRuleCall


class VJPForwardResult(NamedTuple):
    """Result of a forward rule: flat results, flat residuals, and the backward rule that takes the residuals.

    ``backward(residuals, cotangents)`` returns a cotangent for each operand, ZERO for those without one.
    """

    results: list[Any]
    residuals: list[Any]
    backward: Callable[[Sequence[Any], Sequence[Any]], list[Any]]


#: Function from flat operands, and the mask of those with nonzero tangents, to the forward rule's result.
ForwardRule = Callable[[Sequence[Any], Sequence[bool]], VJPForwardResult]


class CustomVJPCall(CustomRuleCall, name="custom_vjp_call", by_identity=True):
    """Operation that calls a function with a custom VJP rule (:data:`ForwardRule`).

    ``rule_titles`` are the names of the user's forward and backward rule; ``symbolic_zeros`` says whether these take
    zeros as ``SymbolicZero``.
    """

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
        """Return the results, and tangents that nothing may use: while a program is traced, it is not known what does.

        Outside of a traced program raise TypeError.
        """
        if STATE.trace is None or not STATE.trace.staging:
            raise TypeError(no_forward_mode_text(self.title))
        results = bind(self, *primals)
        avals = tuple(aval_of(y) for y in results)
        mask = tuple(is_differentiable(a.dtype) for a in avals)
        unknown = UnknownTangents(tuple(select_by_mask(avals, mask)), no_forward_mode_text(self.title))
        return results, scatter_by_mask(bind(unknown, *drop_zero_tangents(tangents)), mask)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run the forward rule now, and record a linear operation whose transpose is the backward rule.

        Returns the results and their tangents; a tangent is ZERO where it is known to be zero.
        """
        operands, argument_tangents = self.rule_arguments(primals, tangents)
        results, residuals, backward = self.rule(operands, nonzero_tangents_mask(argument_tangents))
        self.check_results(f"the forward rule {self.rule_titles[0]} of {self.title}", results)
        avals = tuple(aval_of(y) for y in results)
        linear = CustomLin(backward, len(residuals), nonzero_tangents_mask(argument_tangents), avals, self.title)
        recorded = STATE.trace.record(
            linear, [*residuals, *drop_zero_tangents(argument_tangents)], linear.abstract_eval(())
        )
        return results, scatter_by_mask(recorded, linear.differentiable_mask)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = batch_size(operands, axes)
        rule = _batch_forward_rule(self.rule, axes[self.num_consts :], size, current_rule_axis())
        return self.bind_batched(rule, operands, axes, size)


class CustomLin(Operation, name="custom_lin", by_identity=True):
    """Operation that stands for the tangents of a custom_vjp function; it can only be transposed, by the backward rule.

    The operands are residuals, then the nonzero tangents. ``moving`` marks the function's operands that have a
    tangent; ``results`` are the types of its results.
    """

    accepts_keys = True
    has_uniform_lowering = True

    backward: Callable[[Sequence[Any], Sequence[Any]], list[Any]]
    num_residuals: int
    moving: tuple[bool, ...]
    results: tuple[ShapedArray, ...]
    title: str

    @property
    def params(self) -> dict[str, Any]:
        return {"name": self.title, "num_res": self.num_residuals}

    @property
    def differentiable_mask(self) -> Mask:
        """Return the mask of the function's results that can have a tangent: those of differentiable dtypes."""
        return tuple(is_differentiable(a.dtype) for a in self.results)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return [strip_weak_type(a) for a in select_by_mask(self.results, self.differentiable_mask)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        count = self.num_residuals
        received = [
            ct if ct is ZERO else make_varying(ct, aval.varying)
            for ct, aval in zip(cotangents, self.abstract_eval(()), strict=True)
        ]
        operand_cotangents = self.backward(operands[:count], scatter_by_mask(received, self.differentiable_mask))
        nonzero_cotangents = iter(select_by_mask(operand_cotangents, self.moving))
        return [None] * count + [
            sum_over_extra_axes(x.aval, next(nonzero_cotangents)) if is_linear(x) else None for x in operands[count:]
        ]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        raise UnusableResultError(no_forward_mode_text(self.title))

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        raise TypeError(no_forward_mode_text(self.title))

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        raise TypeError(no_forward_mode_text(self.title))


class UnknownTangents(Operation, name="unknown_tangents", by_identity=True):
    """Operation that stands for the tangents of a custom_vjp function in forward mode, which its rule does not say.

    A program in which nothing uses them does without it: as that of the derivative of a gradient, where the results of
    a forward rule that calls another custom_vjp function are not used. Otherwise lowering raises a TypeError with
    ``message``. The operands are tangents; ``results`` are the types of the results.
    """

    results: tuple[ShapedArray, ...]
    message: str

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return [strip_weak_type(a) for a in self.results]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        raise UnusableResultError(self.message)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *primals), bind(self, *drop_zero_tangents(tangents))

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        raise UnusableResultError(self.message)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = batch_size(operands, axes)
        results = tuple(insert_axis(a, 0, size) for a in self.results)
        return bind(dataclasses.replace(self, results=results), *operands), [0] * len(results)


def no_forward_mode_text(name: str) -> str:
    """Return the message of the error for forward mode through the custom_vjp function ``name``."""
    return (
        f"forward-mode differentiation (jvp, jacfwd, hessian as jacfwd of grad) does not work through {name}, a "
        f"custom_vjp function{here()}: it says only how cotangents go back. Use grad, vjp or jacrev, "
        "or define the rule with custom_jvp, which serves both."
    )


def _batch_forward_rule(rule: ForwardRule, axes: Sequence[Any], size: int, axis: Any) -> ForwardRule:
    """Return the forward rule for all examples at once; results and residuals have the batch axis in front.

    ``axes`` are the batch axes of the operands, ``size`` is the batch size, ``axis`` the name and size of the mapped
    axis, or None.
    """

    def apply_batched_rule(operands: Sequence[Any], nonzero: Sequence[bool]) -> VJPForwardResult:
        count_and_backward: list[Any] = []

        def results_and_residuals(*values: Any) -> list[Any]:
            forward_result = rule(values, nonzero)
            count_and_backward[:] = [len(forward_result.results), forward_result.backward]
            return [*forward_result.results, *forward_result.residuals]

        batched_values = batch_with_leading_axis(results_and_residuals, operands, axes, size, axis)
        count, backward = count_and_backward
        return VJPForwardResult(
            batched_values[:count], batched_values[count:], _batch_backward_rule(backward, axes, size, axis)
        )

    return apply_batched_rule


def _batch_backward_rule(backward: Any, axes: Sequence[Any], size: int, axis: Any) -> Any:
    """Return the backward rule for all examples at once, given the rule for one example.

    ``axes`` are the batch axes of the operands (NOT_MAPPED for one that all examples share), ``size`` is the batch
    size, ``axis`` the name and size of the mapped axis, or None. Residuals and cotangents come with the batch axis in
    front. Each operand's cotangent has the operand's batch axis; for a shared operand it is summed over the examples.
    """

    def apply_batched_rule(residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        count = len(residuals)
        nonzero_in = nonzero_tangents_mask(cotangents)
        nonzero: list[bool] = []

        def flat(*values: Any) -> list[Any]:
            operand_cotangents = backward(values[:count], scatter_by_mask(values[count:], nonzero_in))
            nonzero[:] = nonzero_tangents_mask(operand_cotangents)
            return drop_zero_tangents(operand_cotangents)

        flat_operands = [*residuals, *drop_zero_tangents(cotangents)]
        results, out_axes = batch(flat, flat_operands, [0] * len(flat_operands), axis)
        cotangent_axes = zip(results, out_axes, select_by_mask(axes, nonzero), strict=True)
        return scatter_by_mask(
            [
                _align_cotangent(ct, cotangent_axis, operand_axis, size)
                for ct, cotangent_axis, operand_axis in cotangent_axes
            ],
            nonzero,
        )

    return apply_batched_rule


def _align_cotangent(cotangent: Any, axis: Any, operand_axis: Any, size: int) -> Any:
    """Return a cotangent with its batch axis at ``operand_axis``; for NOT_MAPPED, its sum over the ``size`` examples.

    ``axis`` is the batch axis of the cotangent. A float0 cotangent becomes ZERO.
    """
    if aval_of(cotangent).dtype == float0:
        return ZERO
    front = move_mapped_axis_to_front(cotangent, axis, size)
    if operand_axis is NOT_MAPPED:
        return reduce_sum(front, (0,))
    return moveaxis(front, 0, operand_axis)
