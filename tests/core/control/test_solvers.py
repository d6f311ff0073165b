"""custom_linear_solve and custom_root against closed forms; what jax gives is in remat_programs.py."""

import functools

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax

random = np.random.default_rng(0)
Q = random.normal(size=(5, 5))
A = np.asarray(Q @ Q.T + 5 * np.eye(5), np.float32)
SKEW = np.asarray(Q * 0.3 + 3 * np.eye(5), np.float32)
B = np.asarray(random.normal(size=5), np.float32)


def conjugate_gradients(matvec, b):
    """The classical iteration, until the residual is small."""

    def step(state):
        x, r, p, rr, count = state
        q = matvec(p)
        size = rr / jnp.vdot(p, q)
        x, r = x + size * p, r - size * q
        new = jnp.vdot(r, r)
        return x, r, r + (new / rr) * p, new, count + 1

    start = (jnp.zeros_like(b), b, b, jnp.vdot(b, b), 0)
    return lax.while_loop(lambda s: (s[3] > 1e-12) & (s[4] < 20), step, start)[0]


def normal_equations(matvec, b):
    """A solver for systems that are not symmetric, by way of one that is."""
    transpose = lambda y: xs.linear_transpose(matvec, b)(y)[0]  # noqa: E731
    return conjugate_gradients(lambda x: transpose(matvec(x)), transpose(b))


def solve_symmetric(a, b):
    return lax.custom_linear_solve(lambda x: a @ x, b, conjugate_gradients, symmetric=True)


def solve_any(a, b):
    return lax.custom_linear_solve(lambda x: a @ x, b, normal_equations, normal_equations)


@pytest.mark.parametrize(("solver", "a"), [(solve_symmetric, A), (solve_any, SKEW)])
@pytest.mark.parametrize("wrap", [lambda f: f, xs.jit])
def test_a_solver_that_loops_has_the_derivatives_of_the_solution(solver, a, wrap) -> None:
    w = np.arange(1.0, 6.0)
    x = np.linalg.solve(a.astype(float), B)
    y = np.linalg.solve(a.T.astype(float), w)
    np.testing.assert_allclose(wrap(solver)(a, B), x, rtol=1e-3, atol=1e-4)
    of_a, of_b = wrap(xs.grad(lambda a, b: jnp.vdot(w.astype("float32"), solver(a, b)), (0, 1)))(a, B)
    np.testing.assert_allclose(of_b, y, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(of_a, -np.outer(y, x), rtol=1e-3, atol=2e-3)
    moved = wrap(lambda b, t: xs.jvp(lambda b: solver(a, b), (b,), (t,))[1])(B, w.astype("float32"))
    np.testing.assert_allclose(moved, np.linalg.solve(a.astype(float), w), rtol=1e-3, atol=1e-3)


def test_hessian_and_batches_of_solutions() -> None:
    energy = lambda b: jnp.vdot(b, solve_symmetric(A, b)) / 2  # noqa: E731
    np.testing.assert_allclose(xs.hessian(energy)(B), np.linalg.inv(A), rtol=1e-3, atol=1e-4)
    many_a, many_b = np.stack([A, 2 * A]), np.stack([B, -B])
    for axes in ((0, None), (None, 0), (0, 0)):
        a, b = (many_a if axes[0] == 0 else A), (many_b if axes[1] == 0 else B)
        found = xs.vmap(solve_symmetric, in_axes=axes)(a, b)
        pairs = zip(many_a if axes[0] == 0 else [A, A], many_b if axes[1] == 0 else [B, B], strict=True)
        np.testing.assert_allclose(found, [np.linalg.solve(p, q) for p, q in pairs], rtol=1e-3, atol=1e-4)


def test_trees_and_what_a_solver_gives_besides() -> None:
    def solver(matvec, b):
        return {"u": b["u"] / 2.0, "v": b["v"] / 4.0}, {"steps": 3, "size": jnp.sum(b["u"])}

    def f(u, v):
        matvec = lambda x: {"u": 2.0 * x["u"], "v": 4.0 * x["v"]}  # noqa: E731
        x, aux = lax.custom_linear_solve(matvec, {"u": u, "v": v}, solver, solver, has_aux=True)
        return jnp.sum(x["u"] * x["v"]), aux

    (value, aux), (of_u, of_v) = xs.value_and_grad(f, (0, 1), has_aux=True)(B, B)
    np.testing.assert_allclose(value, np.sum(B * B) / 8, rtol=1e-5)
    np.testing.assert_allclose([of_u, of_v], [B / 8, B / 8], rtol=1e-5)
    assert (int(aux["steps"]), float(aux["size"])) == (3, float(B.sum()))
    np.testing.assert_allclose(xs.hessian(lambda u: f(u, B)[0])(B), np.zeros((5, 5)), atol=1e-6)


# custom_root ---------------------------------------------------------------------------------------------------------


def newton(f, guess):
    """Newton's iteration for a scalar, until it stands still."""

    def step(state):
        x, _, count = state
        moved = x - f(x) / xs.grad(f)(x)
        return moved, x, count + 1

    unfinished = lambda s: (jnp.abs(s[0] - s[1]) > 1e-6) & (s[2] < 50)  # noqa: E731
    return lax.while_loop(unfinished, step, (guess, guess + 1.0, 0))[0]


root = functools.partial(lax.custom_root, solve=newton, tangent_solve=lambda g, y: y / g(1.0))


def kepler(anomaly, e):
    """The eccentric anomaly E with E - e sin E = the mean anomaly."""
    return root(lambda x: x - e * jnp.sin(x) - anomaly, jnp.asarray(1.0))


def test_the_derivatives_of_a_root_are_those_of_the_implicit_function() -> None:
    m, e = 0.8, 0.6
    x = float(kepler(m, e))
    assert abs(x - e * np.sin(x) - m) < 1e-6
    slope = 1 / (1 - e * np.cos(x))
    of_m, of_e = xs.grad(kepler, (0, 1))(m, e)
    np.testing.assert_allclose([of_m, of_e], [slope, np.sin(x) * slope], rtol=1e-5)
    np.testing.assert_allclose(xs.jit(xs.grad(kepler))(m, e), slope, rtol=1e-5)
    np.testing.assert_allclose(xs.grad(xs.grad(kepler))(m, e), -e * np.sin(x) * slope**3, rtol=1e-4)
    np.testing.assert_allclose(
        xs.hessian(lambda p: kepler(p[0], p[1]))(jnp.array([m, e]))[0, 0], -e * np.sin(x) * slope**3, rtol=1e-4
    )
    np.testing.assert_allclose(xs.jvp(kepler, (m, e), (1.0, 0.0))[1], slope, rtol=1e-5)


def test_roots_of_many_and_of_trees() -> None:
    m = np.float32([0.1, 0.8, 2.0])
    each = [float(kepler(x, 0.6)) for x in m]
    np.testing.assert_allclose(xs.vmap(kepler, in_axes=(0, None))(m, 0.6), each, rtol=1e-5)
    np.testing.assert_allclose(
        xs.vmap(xs.grad(kepler), in_axes=(0, None))(m, 0.6), 1 / (1 - 0.6 * np.cos(each)), rtol=1e-4
    )
    np.testing.assert_allclose(
        xs.grad(lambda p: kepler(p["m"] * 2.0, p["e"][0]))({"m": 0.4, "e": [0.6]})["m"],
        2 * xs.grad(kepler)(0.8, 0.6),
        rtol=1e-5,
    )


def test_what_a_solver_of_roots_gives_besides() -> None:
    def solver(f, guess):
        return newton(f, guess), {"steps": 7}

    def square_root(a):
        return lax.custom_root(lambda x: x * x - a, 1.0, solver, lambda g, y: y / g(1.0), has_aux=True)

    (value, aux), slope = xs.value_and_grad(square_root, has_aux=True)(9.0)
    np.testing.assert_allclose([value, slope], [3.0, 1 / 6], rtol=1e-6)
    assert int(aux["steps"]) == 7


def test_no_derivative_goes_through_the_guess() -> None:
    assert float(xs.grad(lambda guess: root(lambda x: x * x - 4.0, guess))(1.5)) == 0.0
