"""linear_call: a linear function that comes with its transpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import tree
from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...ir.markers import ZERO
from ...ir.operation import Operation
from ...operations.families import is_linear
from ...operations.shapes import mapped_in_front
from ...trace.bind import bind
from ...trace.jaxpr_trace import stage
from ...trace.source import here
from ...transforms.batch import batch_program, batch_size
from ...transforms.differentiate import instantiated
from ...transforms.evaluate import evaluate_jaxpr
from ..programs.agreement import check_same_structure, differing
from ..programs.names import name_of
from ..programs.values import check_results, operand_aval


class LinearCall(Operation, name="linear_call"):
    """The results of a program that is linear in the operands after the first ``num_residuals``; and its transpose."""

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
        moves = instantiated(tangents[count:], self.jaxpr.in_avals[count:])
        return bind(self, *primals), bind(self, *primals[:count], *moves)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        count = self.num_residuals
        given = instantiated(cotangents, self.jaxpr.out_avals)
        found = bind(LinearCall(self.transposed, self.jaxpr, count), *operands[:count], *given)
        return [*[None] * count, *(ct if is_linear(x) else None for x, ct in zip(operands[count:], found, strict=True))]

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
    """``fun(residual_args, linear_args)``, linear in the second, whose transpose is ``fun_transpose``.

    ``fun_transpose(residual_args, cotangent)`` gives the cotangent of ``linear_args``. Raises TypeError where the
    trees or types do not fit.

    >>> import xlascope as xs
    >>> from xlascope.custom_derivatives import linear_call
    >>> f = lambda x: linear_call(lambda r, x: x / r, lambda r, ct: 10.0 * ct, 2.0, x)
    >>> print(f(6.0), xs.grad(f)(6.0), xs.jvp(f, (6.0,), (1.0,))[1])
    3.0 10.0 0.5
    """
    residuals, structure = tree.flatten(residual_args)
    linear, linear_structure = tree.flatten(linear_args)
    of_residuals = [operand_aval(f"a residual argument of linear_call of {name_of(fun)}", x) for x in residuals]
    of_linear = [operand_aval(f"a linear argument of linear_call of {name_of(fun)}", x) for x in linear]
    forward, out = _staged(fun, structure, of_residuals, linear_structure, of_linear)
    backward, back = _staged(fun_transpose, structure, of_residuals, out, forward.out_avals)
    words = f"fun_transpose ({name_of(fun_transpose)}) of linear_call has to return a tree like linear_args"
    terms = ("the argument is", "the result")
    check_same_structure(words, "tree", terms, linear_structure, back)
    different = differing(linear_structure, of_linear, backward.out_avals, "leaf", terms)
    if different:
        raise TypeError(f"{words}: {different}{here()}")
    ours, theirs = forward.consts, backward.consts
    before, first = len(ours), len(ours) + len(theirs)
    avals = [*(v.aval for v in (*forward.jaxpr.constvars, *backward.jaxpr.constvars)), *of_residuals]
    both = LinearCall(
        stage(lambda *xs: evaluate_jaxpr(forward.jaxpr, xs[:before], xs[first:]), [*avals, *of_linear], forward.name),
        stage(
            lambda *xs: evaluate_jaxpr(backward.jaxpr, xs[before:first], xs[first:]),
            [*avals, *forward.out_avals],
            backward.name,
        ),
        len(avals),
    )
    return out.unflatten(bind(both, *ours, *theirs, *residuals, *linear))


def _staged(
    function: Callable[[Any, Any], Any], structure: Any, residuals: Sequence[Any], linear: Any, avals: Sequence[Any]
) -> tuple[ClosedJaxpr, Any]:
    kept: list[Any] = []

    def flat(*values: Any) -> list[Any]:
        count = len(residuals)
        found = function(structure.unflatten(values[:count]), linear.unflatten(values[count:]))
        results, out = tree.flatten(found)
        kept.append(out)
        return check_results(name_of(function), results, out)

    return stage(flat, [*residuals, *avals], name_of(function)), kept[0]
