"""custom_linear_solve: the solution of a linear system by a user's solver, differentiated implicitly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import tree
from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...ir.markers import ZERO
from ...ir.operation import Operation
from ...operations.operand_checks import is_linear
from ...operations.shapes import mapped_in_front
from ...operations.tangent_arithmetic import neg, sum_tangents
from ...operations.varying_axes import sum_over_extra_axes
from ...trace.bind import bind
from ...trace.source import here
from ...transforms.batch import batch_program
from ...transforms.batch_trace import batch_size
from ...transforms.differentiate import instantiate_zeros, jvp
from ...transforms.evaluate import evaluate
from ...transforms.transpose import transpose_program
from ..programs.function_names import name_of
from ..programs.function_staging import Body, stage_body
from ..programs.structure_checks import check_like
from ..programs.values import operand_aval


class LinearSolveTuple(NamedTuple):
    """One value for each of the four functions of a linear solve.

    ``vecmat`` applies the transposed matrix, ``transpose_solve`` solves the transposed system.
    """

    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any

    def transpose(self) -> LinearSolveTuple:
        """Return the values for the transposed system."""
        return LinearSolveTuple(self.vecmat, self.matvec, self.transpose_solve, self.solve)


class LinearSolve(Operation, name="custom_linear_solve"):
    """Operation that returns the x with ``matvec(x) = b``, and the solver's auxiliary results.

    The operands are the constants of each of the four programs in ``jaxprs``, as many as ``const_lengths`` says, and
    then b.
    """

    composite = True

    const_lengths: LinearSolveTuple
    jaxprs: LinearSolveTuple

    @property
    def holder(self) -> ClosedJaxpr:
        return self.jaxprs.solve  # type: ignore[no-any-return]

    def bodies(self) -> Sequence[ClosedJaxpr]:
        return [self.jaxprs.solve, *(p for p in self.jaxprs if p is not None and p is not self.jaxprs.solve)]

    def split_operands(self, operands: Sequence[Any]) -> tuple[LinearSolveTuple, Sequence[Any]]:
        """Split the operands into the constants of each program, and the leaves of b."""
        const_groups, start = [], 0
        for length in self.const_lengths:
            const_groups.append(operands[start : start + length])
            start += length
        return LinearSolveTuple(*const_groups), operands[start:]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return self.jaxprs.solve.out_avals  # type: ignore[no-any-return]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        consts, b = self.split_operands(operands)
        return builder.call_body(self.jaxprs.solve, [*consts.solve, *b])  # type: ignore[no-any-return]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        # Differentiating A x = b gives A dx = db - dA x.
        consts, b = self.split_operands(primals)
        const_t, b_t = self.split_operands(tangents)
        results = bind(self, *primals)
        x = results[: len(b)]
        product_tangents: list[Any] = [ZERO] * len(b)
        if any(t is not ZERO for t in const_t.matvec):
            _, product_tangents = jvp(
                lambda *values: evaluate(self.jaxprs.matvec, *values, *x), consts.matvec, const_t.matvec
            )
        right = [sum_tangents([t, ZERO if m is ZERO else neg(m)]) for t, m in zip(b_t, product_tangents, strict=True)]
        if all(t is ZERO for t in right):
            return results, [ZERO] * len(results)
        avals = self.jaxprs.matvec.out_avals
        flat = [c for part in consts for c in part]
        solution_tangents = bind(self, *flat, *instantiate_zeros(right, avals))
        return results, [*solution_tangents[: len(b)], *[ZERO] * (len(results) - len(b))]

    def dependence(self, operands: Sequence[bool]) -> list[bool]:
        return [any(operands)] * len(self.jaxprs.solve.out_avals)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        consts, b = self.split_operands(operands)
        if self.jaxprs.transpose_solve is None:
            raise TypeError(
                f"reverse-mode differentiation of custom_linear_solve needs transpose_solve (or symmetric=True){here()}"
            )
        full_cotangents = instantiate_zeros(cotangents[: len(b)], self.jaxprs.matvec.out_avals)
        aux = [ct for ct in cotangents[len(b) :] if ct is not ZERO]
        assert not aux, "what a solver gives beside the solution does not move"
        operation = LinearSolve(self.const_lengths.transpose(), self.jaxprs.transpose())
        flat = [c for part in consts.transpose() for c in part]
        b_cotangents = bind(operation, *flat, *full_cotangents)[: len(b)]
        return [
            *[None] * len(flat),
            *(sum_over_extra_axes(x.aval, ct) if is_linear(x) else None for x, ct in zip(b, b_cotangents, strict=True)),
        ]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = batch_size(operands, axes)
        _, b = self.split_operands(operands)
        const_axes, b_axes = self.split_operands(tuple(axes))
        front = (0,) * len(b)
        programs = [
            None
            if program is None
            else batch_program(program, (*program_axes, *front), size, (True,) * len(program.out_avals))[0]
            for program, program_axes in zip(self.jaxprs, const_axes, strict=True)
        ]
        right = [mapped_in_front(x, a, size) for x, a in zip(b, b_axes, strict=True)]
        flat = operands[: len(operands) - len(b)]
        results = bind(LinearSolve(self.const_lengths, LinearSolveTuple(*programs)), *flat, *right)
        return results, [0] * len(results)


def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Return the x with ``matvec(x) = b`` that ``solve(matvec, b)`` computes, with implicit derivatives.

    ``matvec`` is a linear function of a tree like ``b``; ``solve`` may use any loop. ``transpose_solve(vecmat, b)``
    solves the transposed system, which reverse mode needs; for a ``symmetric`` system it is ``solve`` itself. With
    ``has_aux`` the solvers return (x, anything). Raises TypeError if the trees do not fit.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> halve = lambda a, b: xs.lax.custom_linear_solve(lambda x: a * x, b, lambda _, b: b / a, symmetric=True)
    >>> print(halve(2.0, 6.0), xs.grad(halve)(2.0, 6.0))
    3.0 -1.5
    """
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    for argument_name, candidate in (
        ("matvec", matvec),
        ("solve", solve),
        ("transpose_solve", transpose_solve or solve),
    ):
        if not callable(candidate):
            raise TypeError(f"custom_linear_solve takes functions; {argument_name} is {candidate!r}{here()}")
    operands, structure = tree.flatten(b)
    arguments = tree.structure((b,))
    avals = [operand_aval("the right-hand side of custom_linear_solve", x) for x in operands]
    product = stage_body(matvec, arguments, avals)
    _check_result_tree("matvec", matvec, structure, avals, product)
    matvec_program = product.program_with_const_operands
    vecmat = matvec_program if symmetric else _transpose_matvec(matvec_program, len(product.consts), name_of(matvec))

    def bind_consts(program: ClosedJaxpr) -> Callable[[Any], Any]:
        return lambda x: structure.unflatten(evaluate(program, *product.consts, *tree.leaves(x)))

    def stage_solver(argument_name: str, function: Callable[..., Any], program: ClosedJaxpr) -> Body:
        body = stage_body(lambda x: function(bind_consts(program), x), arguments, avals, name_of(function))
        solution_tree = (
            solution_structure(body.structure, f"{argument_name} of custom_linear_solve") if has_aux else body.structure
        )
        _check_result_tree(argument_name, function, structure, avals, body._replace(structure=solution_tree))
        return body

    solver = stage_solver("solve", solve, matvec_program)
    transpose_solver = None if transpose_solve is None else stage_solver("transpose_solve", transpose_solve, vecmat)
    consts = LinearSolveTuple(
        product.consts, product.consts, solver.consts, [] if transpose_solver is None else transpose_solver.consts
    )
    jaxprs = LinearSolveTuple(
        matvec_program,
        vecmat,
        solver.program_with_const_operands,
        None if transpose_solver is None else transpose_solver.program_with_const_operands,
    )
    operation = LinearSolve(LinearSolveTuple(*(len(c) for c in consts)), jaxprs)
    return solver.structure.unflatten(bind(operation, *(c for part in consts for c in part), *operands))


def _transpose_matvec(matvec: ClosedJaxpr, count: int, name: str) -> ClosedJaxpr:
    """Return the transpose of a program that is linear in all but the first ``count`` operands.

    ``name`` is the user's function for messages. Raises TypeError if the program is not linear in these operands.
    """
    linear_mask = (True,) * (len(matvec.in_avals) - count)
    try:
        return transpose_program(matvec, (*(False,) * count, *linear_mask), linear_mask, linear_mask)[0]
    except (TypeError, NotImplementedError) as error:
        # An operation with two operands that depend on x fails when it reads one as a number, with an unclear error.
        reason = "two factors depend on its argument" if "LinearInput" in str(error) else error
        raise TypeError(f"matvec ({name}) of custom_linear_solve has to be linear{here()}: {reason}") from error


def solution_structure(structure: Any, solver_name: str) -> Any:
    """Return the structure of x, given that of a solver's result (x, aux).

    ``solver_name`` is for the message of the ValueError that any other structure raises.
    """
    node = structure.node_data()
    if node is None or node[0] is not tuple or len(structure.children()) != 2:
        raise ValueError(
            f"{solver_name} has to return a pair (x, aux) with has_aux=True, it returned {structure}{here()}"
        )
    return structure.children()[0]


def _check_result_tree(text: str, function: Any, structure: Any, avals: Sequence[ShapedArray], body: Body) -> None:
    """Raise TypeError unless a staged function returns a tree like b, of ``structure`` and ``avals``.

    ``text`` and ``function`` name it in the message; auxiliary results of ``body`` after these leaves are ignored.
    """
    text = f"{text} ({name_of(function)}) of custom_linear_solve has to return a tree like b"
    result_avals = body.program.out_avals[: len(avals)]
    check_like(text, ("b is", "the result"), structure, avals, body.structure, result_avals)
