"""custom_root: the root of a function by any solver, with the derivative of the implicit function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import tree
from ..api import linearize
from ..api.differentiated_arguments import require_callable
from ..control.programs.function_names import name_of
from ..control.programs.function_staging import Body, get_body
from ..control.programs.structure_checks import check_same_structure, describe_type_differences
from ..control.programs.values import operand_aval
from ..control.rules.custom_jvp import custom_jvp
from ..control.rules.linear_solve import solution_structure
from ..control.rules.tangents import to_rule_tangent
from ..ir.markers import ZERO
from ..operations.tangent_arithmetic import neg
from ..trace.source import user_line, where_text
from ..trace.traceback_filtering import api_boundary
from ..trace.values import aval_of
from ..transforms.differentiate import instantiate_zeros, jvp
from ..transforms.evaluate import evaluate


@api_boundary
def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
    has_aux: bool = False,
) -> Any:
    """Return the x with ``f(x) = 0`` that ``solve`` finds, differentiable as an implicit function.

    How the root changes with values that ``f`` closes over follows from f alone: ``tangent_solve(g, y)`` returns the
    x with ``g(x) = y`` for the linear function g that is f's derivative at the root. So ``solve(f, initial_guess)``
    may use any loop. With ``has_aux`` it returns (x, anything). Derivatives do not go through the guess. Raises
    TypeError where the trees do not fit.

    >>> import xlascope as xs
    >>> def cube_root(a):
    ...     def newton(f, x):
    ...         step = lambda i, x: x - f(x) / xs.grad(f)(x)
    ...         return xs.lax.fori_loop(0, 20, step, x)
    ...     return xs.lax.custom_root(lambda x: x * x * x - a, 1.0, newton, lambda g, y: y / g(1.0))
    >>> print(cube_root(8.0), xs.grad(cube_root)(8.0))
    2.0 0.083333336
    """
    for role, callable_argument in (("f", f), ("solve", solve), ("tangent_solve", tangent_solve)):
        require_callable(f"custom_root ({role})", callable_argument)
    guess, structure = tree.flatten(initial_guess)
    avals = [operand_aval("the initial guess of custom_root", x) for x in guess]
    one_tree, two_trees = tree.structure((initial_guess,)), tree.structure((initial_guess, initial_guess))
    function = get_body(f, one_tree, avals)
    _check_tree("f", f, structure, function, avals)

    def find(start: Any) -> Any:
        return solve(f, start)

    find.__name__ = name_of(solve)
    solution = get_body(find, one_tree, avals)
    checked = solution
    if has_aux:
        checked = solution._replace(structure=solution_structure(solution.structure, "solve of custom_root"))
    _check_tree("solve", solve, structure, checked, avals)

    def solve_tangent(x: Any, y: Any) -> Any:
        return tangent_solve(linearize(f, x)[1], y)

    solve_tangent.__name__ = name_of(tangent_solve)
    tangent = get_body(solve_tangent, two_trees, [*avals, *avals])
    _check_tree("tangent_solve", tangent_solve, structure, tangent, avals)
    count = len(avals)

    @custom_jvp
    def root(f_consts: Sequence[Any], s_consts: Sequence[Any], t_consts: Sequence[Any], start: Sequence[Any]) -> Any:
        return evaluate(solution.program_with_const_operands, *s_consts, *start)

    @root.defjvp
    def root_jvp(primals: Any, tangents: Any) -> Any:
        # f(a, x(a)) = 0 along all a, so f_x dx = -f_a da.
        f_consts, _, t_consts, _ = primals
        results = root(*primals)
        x = results[:count]
        _, f_dot = jvp(
            lambda *values: evaluate(function.program_with_const_operands, *values, *x), f_consts, tangents[0]
        )
        right_side = [neg(t) for t in instantiate_zeros(f_dot, avals)]
        solved = evaluate(tangent.program_with_const_operands, *t_consts, *x, *right_side)
        return results, [*solved, *(to_rule_tangent(ZERO, aval_of(y), False) for y in results[count:])]

    results = root(list(function.consts), list(solution.consts), list(tangent.consts), guess)
    return solution.structure.unflatten(results)


def _check_tree(role: str, function: Any, structure: Any, body: Body, avals: Sequence[Any]) -> None:
    """Raise TypeError if a function given to :func:`custom_root` does not return a tree like the initial guess.

    ``structure`` and ``avals`` are those of the guess, ``body`` is the staged function, and ``role`` its parameter's
    name.
    """
    requirement = f"{role} ({name_of(function)}) of custom_root has to return a tree like the initial guess"
    terms = ("the guess is", "the result")
    check_same_structure(requirement, "tree", terms, structure, body.structure)
    difference = describe_type_differences(structure, avals, body.program.out_avals[: len(avals)], "leaf", terms)
    if difference:
        raise TypeError(f"{requirement}: {difference}{where_text(user_line())}")
