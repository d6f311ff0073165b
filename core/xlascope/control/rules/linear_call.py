"""linear_call: a linear function with a custom transpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import tree
from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...ir.markers import ZERO
from ...ir.operation import Operation
from ...operations.operand_checks import is_linear
from ...operations.shapes import mapped_in_front
from ...operations.varying_axes import make_varying, sum_over_extra_axes
from ...trace.bind import bind
from ...trace.jaxpr_trace import stage
from ...trace.source import here
from ...transforms.batch import batch_program
from ...transforms.batch_trace import batch_size
from ...transforms.differentiate import instantiate_zeros
from ...transforms.evaluate import evaluate_jaxpr
from ..programs.function_names import name_of
from ..programs.function_staging import stage_body
from ..programs.interning import intern_program
from ..programs.structure_checks import check_like
from ..programs.values import operand_aval


class LinearCall(Operation, name="linear_call"):
    """Operation that calls a program, linear in the operands after the first ``num_residuals``, and its transpose.

    ``transposed`` takes the residuals and the cotangents of the results, and returns those of the linear operands.
    """

    composite = True

    jaxpr: ClosedJaxpr
    transposed: ClosedJaxpr
    num_residuals: int

    @property
    def holder(self) -> ClosedJaxpr:
        return self.jaxpr

    def bodies(self) -> Sequence[ClosedJaxpr]:
        return (self.jaxpr, self.transposed)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return self.jaxpr.out_avals

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.call_body(self.jaxpr, operands)  # type: ignore[no-any-return]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        count = self.num_residuals
        if any(t is not ZERO for t in tangents[:count]):
            raise NotImplementedError(
                f"linear_call of {self.jaxpr.name} cannot be differentiated with respect to its residual arguments, or "
                f"to what it closes over{here()}"
            )
        linear_tangents = instantiate_zeros(tangents[count:], self.jaxpr.in_avals[count:])
        return bind(self, *primals), bind(self, *primals[:count], *linear_tangents)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        count = self.num_residuals
        out_avals = self.jaxpr.out_avals
        full_cotangents = [
            make_varying(ct, aval.varying)
            for ct, aval in zip(instantiate_zeros(cotangents, out_avals), out_avals, strict=True)
        ]
        linear_cotangents = bind(LinearCall(self.transposed, self.jaxpr, count), *operands[:count], *full_cotangents)
        return [
            *[None] * count,
            *(
                sum_over_extra_axes(x.aval, ct) if is_linear(x) else None
                for x, ct in zip(operands[count:], linear_cotangents, strict=True)
            ),
        ]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size, count = batch_size(operands, axes), self.num_residuals
        programs = [
            batch_program(
                program, (*axes[:count], *[0] * (len(program.in_avals) - count)), size, (True,) * len(program.out_avals)
            )[0]
            for program in (self.jaxpr, self.transposed)
        ]
        linear = [mapped_in_front(x, a, size) for x, a in zip(operands[count:], axes[count:], strict=True)]
        results = bind(LinearCall(programs[0], programs[1], count), *operands[:count], *linear)
        return results, [0] * len(results)


def linear_call(
    fun: Callable[[Any, Any], Any], fun_transpose: Callable[[Any, Any], Any], residual_args: Any, linear_args: Any
) -> Any:
    """Return ``fun(residual_args, linear_args)``, linear in the second, with ``fun_transpose`` as its transpose.

    ``fun_transpose(residual_args, cotangent)`` returns the cotangent of ``linear_args``. Raises TypeError if the
    trees or types do not fit.

    >>> import xlascope as xs
    >>> from xlascope.custom_derivatives import linear_call
    >>> f = lambda x: linear_call(lambda r, x: x / r, lambda r, ct: 10.0 * ct, 2.0, x)
    >>> print(f(6.0), xs.grad(f)(6.0), xs.jvp(f, (6.0,), (1.0,))[1])
    3.0 10.0 0.5
    """
    residuals = tree.leaves(residual_args)
    linear, linear_structure = tree.flatten(linear_args)
    residual_avals = [operand_aval(f"a residual argument of linear_call of {name_of(fun)}", x) for x in residuals]
    linear_avals = [operand_aval(f"a linear argument of linear_call of {name_of(fun)}", x) for x in linear]
    forward = stage_body(fun, tree.structure((residual_args, linear_args)), [*residual_avals, *linear_avals])
    out, out_avals = forward.structure, forward.program.out_avals
    cotangent = out.unflatten(range(out.num_leaves))
    backward = stage_body(fun_transpose, tree.structure((residual_args, cotangent)), [*residual_avals, *out_avals])
    claim = f"fun_transpose ({name_of(fun_transpose)}) of linear_call has to return a tree like linear_args"
    words = ("the argument is", "the result")
    check_like(claim, words, linear_structure, linear_avals, backward.structure, backward.program.out_avals)
    operation = _build_linear_call(forward.program, backward.program, residual_avals, linear_avals)
    return out.unflatten(bind(operation, *forward.consts, *backward.consts, *residuals, *linear))


def _build_linear_call(
    forward: ClosedJaxpr, backward: ClosedJaxpr, residuals: Sequence[ShapedArray], linear: Sequence[ShapedArray]
) -> LinearCall:
    """Return the operation whose leading operands are the constants of the function and of its transpose.

    ``forward`` and ``backward`` are the staged functions; ``residuals`` and ``linear`` are the types of the
    arguments.
    """
    before, first = len(forward.consts), len(forward.consts) + len(backward.consts)
    avals = [*(v.aval for v in (*forward.jaxpr.constvars, *backward.jaxpr.constvars)), *residuals]
    forward_program = stage(
        lambda *xs: evaluate_jaxpr(forward.jaxpr, xs[:before], xs[first:]), [*avals, *linear], forward.name
    )
    backward_program = stage(
        lambda *xs: evaluate_jaxpr(backward.jaxpr, xs[before:first], xs[first:]),
        [*avals, *forward.out_avals],
        backward.name,
    )
    return LinearCall(intern_program(forward_program), intern_program(backward_program), len(avals))
