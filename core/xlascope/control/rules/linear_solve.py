"""custom_linear_solve: the solution of a linear system by any means, with the derivatives that every solution has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import tree
from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...ir.markers import ZERO
from ...ir.operation import Operation
from ...operations.requirements import is_linear
from ...operations.shapes import mapped_in_front
from ...operations.sums import neg, sum_tangents
from ...trace.bind import bind
from ...trace.source import here
from ...transforms.batch import batch_program
from ...transforms.batch_trace import batch_size
from ...transforms.differentiate import instantiated, jvp
from ...transforms.evaluate import evaluate
from ...transforms.transpose import transpose_program
from ..programs.agreement import check_like
from ..programs.bodies import Body, staged
from ..programs.names import name_of
from ..programs.values import operand_aval


class Parts(NamedTuple):
    """Something for each of the four functions of a linear solve."""

    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any

    def transposed(self) -> Parts:
        """The same for the transposed system."""
        return Parts(self.vecmat, self.matvec, self.transpose_solve, self.solve)


class LinearSolve(Operation, name="custom_linear_solve"):
    """The x with ``matvec(x) = b``, and what ``solve`` gave beside it.

    The operands are what each of the four programs closes over, and b.
    """

    composite = True

    const_lengths: Parts
    jaxprs: Parts

    @property
    def holder(self) -> ClosedJaxpr:
        return self.jaxprs.solve  # type: ignore[no-any-return]

    def bodies(self) -> Sequence[ClosedJaxpr]:
        return [self.jaxprs.solve, *(p for p in self.jaxprs if p is not None and p is not self.jaxprs.solve)]

    def split(self, operands: Sequence[Any]) -> tuple[Parts, Sequence[Any]]:
        """What the programs close over, and b."""
        found, start = [], 0
        for length in self.const_lengths:
            found.append(operands[start : start + length])
            start += length
        return Parts(*found), operands[start:]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return self.jaxprs.solve.out_avals  # type: ignore[no-any-return]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        consts, b = self.split(operands)
        return builder.call_body(self.jaxprs.solve, [*consts.solve, *b])  # type: ignore[no-any-return]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        # A x = b moves by A dx = db - dA x.
        consts, b = self.split(primals)
        const_t, b_t = self.split(tangents)
        results = bind(self, *primals)
        x = results[: len(b)]
        moved: list[Any] = [ZERO] * len(b)
        if any(t is not ZERO for t in const_t.matvec):
            _, moved = jvp(lambda *values: evaluate(self.jaxprs.matvec, *values, *x), consts.matvec, const_t.matvec)
        right = [sum_tangents([t, ZERO if m is ZERO else neg(m)]) for t, m in zip(b_t, moved, strict=True)]
        if all(t is ZERO for t in right):
            return results, [ZERO] * len(results)
        avals = self.jaxprs.matvec.out_avals
        flat = [c for part in consts for c in part]
        found = bind(self, *flat, *instantiated(right, avals))
        return results, [*found[: len(b)], *[ZERO] * (len(results) - len(b))]

    def dependence(self, operands: Sequence[bool]) -> list[bool]:
        return [any(operands)] * len(self.jaxprs.solve.out_avals)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        consts, b = self.split(operands)
        if self.jaxprs.transpose_solve is None:
            raise TypeError(
                f"reverse-mode differentiation of custom_linear_solve needs transpose_solve (or symmetric=True){here()}"
            )
        given = instantiated(cotangents[: len(b)], self.jaxprs.matvec.out_avals)
        aux = [ct for ct in cotangents[len(b) :] if ct is not ZERO]
        assert not aux, "what a solver gives beside the solution does not move"
        operation = LinearSolve(self.const_lengths.transposed(), self.jaxprs.transposed())
        flat = [c for part in consts.transposed() for c in part]
        found = bind(operation, *flat, *given)[: len(b)]
        return [*[None] * len(flat), *(ct if is_linear(x) else None for x, ct in zip(b, found, strict=True))]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = batch_size(operands, axes)
        _, b = self.split(operands)
        const_axes, b_axes = self.split(tuple(axes))
        front = (0,) * len(b)
        programs = [
            None
            if program is None
            else batch_program(program, (*own, *front), size, (True,) * len(program.out_avals))[0]
            for program, own in zip(self.jaxprs, const_axes, strict=True)
        ]
        right = [mapped_in_front(x, a, size) for x, a in zip(b, b_axes, strict=True)]
        flat = operands[: len(operands) - len(b)]
        results = bind(LinearSolve(self.const_lengths, Parts(*programs)), *flat, *right)
        return results, [0] * len(results)


def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """The x with ``matvec(x) = b``, found by ``solve(matvec, b)``, with derivatives by solving again.

    ``matvec`` is a linear function of a tree like ``b``; ``solve`` may loop as it likes. ``transpose_solve(vecmat, b)``
    solves the transposed system, which reverse mode needs; a ``symmetric`` system uses ``solve``. With ``has_aux``
    solvers return (x, anything). Raises TypeError where the trees do not fit.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> halve = lambda a, b: xs.lax.custom_linear_solve(lambda x: a * x, b, lambda _, b: b / a, symmetric=True)
    >>> print(halve(2.0, 6.0), xs.grad(halve)(2.0, 6.0))
    3.0 -1.5
    """
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    for what, given in (("matvec", matvec), ("solve", solve), ("transpose_solve", transpose_solve or solve)):
        if not callable(given):
            raise TypeError(f"custom_linear_solve takes functions; {what} is {given!r}{here()}")
    operands, structure = tree.flatten(b)
    arguments = tree.structure((b,))
    avals = [operand_aval("the right-hand side of custom_linear_solve", x) for x in operands]
    product = staged(matvec, arguments, avals)
    _check("matvec", matvec, structure, avals, product)
    opened = product.opened
    vecmat = opened if symmetric else _transposed(opened, len(product.consts), name_of(matvec))

    def of(program: ClosedJaxpr) -> Callable[[Any], Any]:
        return lambda x: structure.unflatten(evaluate(program, *product.consts, *tree.leaves(x)))

    def solver_of(what: str, function: Callable[..., Any], program: ClosedJaxpr) -> Body:
        body = staged(lambda x: function(of(program), x), arguments, avals, name_of(function))
        own = solution_structure(body.structure, f"{what} of custom_linear_solve") if has_aux else body.structure
        _check(what, function, structure, avals, body._replace(structure=own))
        return body

    solver = solver_of("solve", solve, opened)
    transposed = None if transpose_solve is None else solver_of("transpose_solve", transpose_solve, vecmat)
    consts = Parts(product.consts, product.consts, solver.consts, [] if transposed is None else transposed.consts)
    jaxprs = Parts(opened, vecmat, solver.opened, None if transposed is None else transposed.opened)
    operation = LinearSolve(Parts(*(len(c) for c in consts)), jaxprs)
    return solver.structure.unflatten(bind(operation, *(c for part in consts for c in part), *operands))


def _transposed(matvec: ClosedJaxpr, count: int, name: str) -> ClosedJaxpr:
    """The transpose of a program that is linear in its operands but the first ``count``; TypeError if it is not."""
    moves = (True,) * (len(matvec.in_avals) - count)
    try:
        return transpose_program(matvec, (*(False,) * count, *moves), moves, moves)[0]
    except (TypeError, NotImplementedError) as error:
        # an operation whose two operands depend on x fails where it reads one as a number: that says nothing to users
        reason = "two factors depend on its argument" if "LinearInput" in str(error) else error
        raise TypeError(f"matvec ({name}) of custom_linear_solve has to be linear{here()}: {reason}") from error


def solution_structure(structure: Any, what: str) -> Any:
    """The structure of x in a pair (x, aux); raises ValueError for anything else."""
    node = structure.node_data()
    if node is None or node[0] is not tuple or len(structure.children()) != 2:
        raise ValueError(f"{what} has to return a pair (x, aux) with has_aux=True, it returned {structure}{here()}")
    return structure.children()[0]


def _check(what: str, function: Any, structure: Any, avals: Sequence[ShapedArray], body: Body) -> None:
    what = f"{what} ({name_of(function)}) of custom_linear_solve has to return a tree like b"
    found = body.program.out_avals[: len(avals)]
    check_like(what, ("b is", "the result"), structure, avals, body.structure, found)
