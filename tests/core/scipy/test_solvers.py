"""Solvers and minima inside jit, vmap and grad, against direct solutions and derivatives known in advance."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import settings
from xlascope.scipy.linalg import solve_sylvester
from xlascope.scipy.optimize import minimize
from xlascope.scipy.sparse.linalg import bicgstab, cg, gmres

RANDOM = np.random.default_rng(23)
FULL = RANDOM.normal(size=(5, 5)) / 4 + 2 * np.eye(5)
POSITIVE = FULL @ FULL.T
RIGHT = RANDOM.normal(size=5)
SEVERAL = RANDOM.normal(size=(3, 5))
SOLVERS: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "cg": (cg, POSITIVE),
    "gmres": (gmres, FULL),
    "bicgstab": (bicgstab, FULL),
}
METHODS = {"BFGS": "BFGS", "l-bfgs": "l-bfgs-experimental-do-not-rely-on-this"}


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_compose(name: str) -> None:
    solver, matrix = SOLVERS[name]

    def solved(a: Any, b: Any) -> Any:
        return solver(a, b, tol=1e-12)[0]

    def size(solve: Any) -> Callable[[Any, Any], Any]:
        return lambda a, b: jnp.sum(jnp.sin(solve(a, b)))

    def symmetric(solve: Any) -> Callable[[Any, Any], Any]:
        return lambda a, b: size(solve)((a + a.T) / 2 if name == "cg" else a, b)

    def every(solve: Any) -> Callable[[Any, Any, Any], list[Any]]:
        """The solution, both gradients, mapped, forward, twice, of an inner product with a moved system."""
        both = xs.grad(symmetric(solve), (0, 1))
        many = xs.vmap(both, (None, 0))
        return lambda a, b, bs: [
            solve(a, b),
            both(a, b),
            xs.vmap(solve, (None, 0))(a, bs),
            xs.vmap(lambda t: solve(a * t, b))(jnp.arange(1.0, 3.0)),
            many(a, bs),
            xs.jvp(solve, (a, b), (jnp.eye(5), jnp.ones(5)))[1],
            xs.hessian(size(solve), 1)(a, b),
            xs.jacrev(lambda t: solve(a * t, b))(2.0),
        ]

    with settings.enable_x64():
        operands = matrix, RIGHT, SEVERAL
        wanted = xs.jit(every(jnp.linalg.solve))(*operands)
        found = xs.jit(every(solved))(*operands)
        for mine, other in zip(xs.tree_util.tree_leaves(found), xs.tree_util.tree_leaves(wanted), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-9)
        # by themselves they are what they are within jit
        np.testing.assert_allclose(solved(matrix, RIGHT), wanted[0], rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(xs.grad(symmetric(solved), 1)(matrix, RIGHT), wanted[1][1], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_of_trees_with_a_preconditioner(name: str) -> None:
    solver, matrix = SOLVERS[name]

    def applied(x: dict[str, Any]) -> dict[str, Any]:
        whole = matrix @ jnp.concatenate([x["a"], x["b"]])
        return {"a": whole[:2], "b": whole[2:]}

    def solved(b: Any) -> Any:
        x, _ = solver(
            applied, {"a": b[:2], "b": b[2:]}, tol=1e-12, M=lambda x: xs.tree_util.tree_map(lambda y: y / 4, x)
        )
        return jnp.concatenate([x["a"], x["b"]])

    with settings.enable_x64():
        found, slope = xs.jit(lambda b: (solved(b), xs.jacrev(solved)(b)))(RIGHT)
        np.testing.assert_allclose(found, np.linalg.solve(matrix, RIGHT), rtol=1e-8)
        np.testing.assert_allclose(slope, np.linalg.inv(matrix), rtol=1e-8, atol=1e-9)


def _bowl(x: Any, center: Any) -> Any:
    """A convex function with its least value where ``x`` is ``center``, and no quadratic one."""
    away = POSITIVE @ (x - center)
    return jnp.sum(jnp.cosh(away) - 1) + 0.5 * jnp.sum((x - center) ** 2)


@pytest.mark.parametrize("method", METHODS)
def test_minimize_composes(method: str) -> None:
    def found(center: Any, scale: Any = 1.0) -> Any:
        options = {"gtol": 1e-9} if method == "BFGS" else {"gtol": 1e-9, "ftol": 0.0}
        return minimize(
            lambda x, c, s: s * _bowl(x, c), jnp.zeros(5), (center / 4, scale), method=METHODS[method], options=options
        )

    with settings.enable_x64():
        np.testing.assert_allclose(found(RIGHT).x, RIGHT / 4, atol=1e-7)
        mapped = xs.jit(xs.vmap(found))(SEVERAL)
        assert mapped.success.all()
        np.testing.assert_allclose(mapped.x, SEVERAL / 4, atol=1e-7)
        np.testing.assert_allclose(mapped.jac, np.zeros((3, 5)), atol=1e-8)
        # forward through the loops: where the minimum is moves with the center, and not with the scale
        place, moved = xs.jit(lambda c, t: xs.jvp(lambda c: found(c).x, (c,), (t,)))(RIGHT, SEVERAL[0])
        np.testing.assert_allclose(place, RIGHT / 4, atol=1e-7)
        np.testing.assert_allclose(moved, SEVERAL[0] / 4, atol=1e-4)
        still = xs.jacfwd(lambda s: found(RIGHT, s).x)(2.0)
        np.testing.assert_allclose(still, np.zeros(5), atol=1e-4)
        # reverse through a loop of no known length: refused, and what to do instead is said
        with pytest.raises((TypeError, ValueError), match=r"while_loop"):
            xs.grad(lambda c: found(c).x.sum())(RIGHT)


@pytest.mark.parametrize("method", METHODS)
def test_the_gradient_at_a_minimum_by_its_conditions(method: str) -> None:
    """What reverse mode refuses is one linear system: at the minimum the gradient is zero, whatever the operands."""

    def place(center: Any) -> Any:
        best = xs.lax.stop_gradient(
            minimize(_bowl, jnp.zeros(5), (xs.lax.stop_gradient(center),), method=METHODS[method], tol=1e-9).x
        )
        return xs.lax.custom_root(
            lambda x: xs.grad(_bowl)(x, center),
            best,
            lambda _, x: x,
            lambda slope, y: cg(slope, y, tol=1e-12)[0],
        )

    with settings.enable_x64():
        np.testing.assert_allclose(xs.jit(xs.jacrev(place))(RIGHT / 4), np.eye(5), atol=1e-5)


@pytest.mark.parametrize(
    "options", [{"eigvals_only": True}, {"eigvals_only": True, "select": "i", "select_range": (1, 2)}]
)
@pytest.mark.parametrize("offdiagonal", [np.array([1.0, 2.0]), np.array([1.0 + 0.5j, 2.0 - 1.0j])])
def test_eigenvalues_of_a_tridiagonal_matrix_have_derivatives_by_both_triangles(offdiagonal, options):
    """Against finite differences: half of the derivative by the off-diagonal was missing (jax's is wrong, too)."""
    with xs.enable_x64(True):
        diagonal, tangents = (
            np.array([1.0, 2.0, 3.0]),
            (np.array([0.3, -0.2, 0.9]), offdiagonal * np.array([0.7, -0.4])),
        )

        def values(d, e):
            return xs.scipy.linalg.eigh_tridiagonal(d, e, **options)

        step = 1e-6
        moved = [values(diagonal + s * tangents[0], offdiagonal + s * tangents[1]) for s in (step, -step)]
        derivative = xs.jvp(values, (diagonal, offdiagonal), tangents)[1]
        np.testing.assert_allclose(derivative, (moved[0] - moved[1]) / (2 * step), rtol=1e-7)


@pytest.mark.parametrize("method", ["schur", "eigen"])
def test_sylvester_equations_of_stacked_right_hand_sides(method):
    a, b = np.diag([1.0, 2.0, 4.0]).astype(np.float32) + 0.1, np.array([[3.0, 1.0], [0.0, 5.0]], np.float32)
    c = np.arange(24.0, dtype=np.float32).reshape(4, 3, 2)
    x = np.asarray(solve_sylvester(a, b, c, method=method))
    assert x.shape == c.shape
    np.testing.assert_allclose(a @ x + x @ b, c, rtol=1e-4, atol=1e-4)
