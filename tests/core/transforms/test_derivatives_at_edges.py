"""Derivatives where functions have kinks, poles and equal infinities: the right value, as somebody found another one.

Where jax differs, the row says so.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.scipy import special

inf, nan = np.inf, np.nan
INFINITE = (np.array([-inf, inf, inf, -inf, 0.0], "float32"), np.array([-inf, inf, -inf, 1.0, 0.0], "float32"))
ZEROS, IDENTITY = np.zeros(3, "float32"), np.eye(2, dtype="float32")

#: Function, order of the derivative, point, and the derivative there.
ROWS: dict[str, tuple[Callable[..., Any], int, Any, Any]] = {
    "frexp": (lambda x: jnp.frexp(x)[0], 1, [1.5, 8.0, -3.0, 0.0, inf], [0.5, 1 / 16, 0.25, 1, 1]),
    "frexp, second": (lambda x: jnp.frexp(x)[0], 2, [1.5, 0.0], [0, 0]),
    "ldexp": (lambda x: jnp.ldexp(x, 2), 1, [0.0, 3.0], [4, 4]),  # jax has 1 at 0
    "entr": (special.entr, 1, [0.0, 1.0, 0.5, -1.0], [inf, -1, np.log(2) - 1, 0]),
    "entr, second": (special.entr, 2, [0.0, 0.5], [-inf, -2]),
    "i1e, second": (special.i1e, 2, [0.0], [0]),
    "i0": (special.i0, 1, [0.0], [0]),  # jax has 1
    "i0, second": (special.i0, 2, [0.0], [0.5]),
    "ndtri": (special.ndtri, 1, [0.0, 1.0], [inf, inf]),  # jax has 0
    "spence": (special.spence, 1, [0.0, 1.0], [-inf, -1]),  # jax has 0
    "spence, second": (special.spence, 2, [1.0, 1.0001, 0.5], [0.5, 0.49993335, 1.2274113]),
    "0 to a constant power": (lambda x: jnp.power(x, np.float32(0)), 1, [0.0, 2.0], [0, 0]),  # jax has NaN
    "sinc": (jnp.sinc, 1, [0.0, 1e-8], [0, -3.28987e-8]),  # jax has 8 for the second
}
#: Gradients of functions of whole arrays.
GRADIENTS: dict[str, tuple[Callable[..., Any], Any, Any]] = {
    "largest of zeros": (lambda x: jnp.linalg.norm(x, inf), ZEROS, [1 / 6] * 3),
    "1 of zeros": (lambda x: jnp.linalg.norm(x, 1), 0 * IDENTITY, [[0.25, 0.25]] * 2),
    "2 of zeros": (lambda x: jnp.linalg.norm(x, 2), 0 * IDENTITY, [[0.25, 0], [0, 0.25]]),
    "1 of an identity": (lambda x: jnp.linalg.norm(x, 1), IDENTITY, [[0.5, 0.5]] * 2),
}


@pytest.mark.parametrize("name", ROWS)
def test_derivatives(name):
    f, order, x, wanted = ROWS[name]
    for _ in range(order):
        f = xs.grad(f)
    np.testing.assert_allclose(xs.jit(xs.vmap(f))(np.array(x, "float32")), wanted, rtol=1e-4)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_norms_are_shared_with_zero(name):
    f, x, wanted = GRADIENTS[name]
    np.testing.assert_allclose(xs.grad(f)(x), wanted, rtol=1e-6)


@pytest.mark.parametrize("f", [jnp.logaddexp, jnp.logaddexp2])
def test_equal_infinities_share_alike(f):
    first, second = xs.vmap(xs.grad(f, (0, 1)))(*INFINITE)
    np.testing.assert_allclose(first, [0.5, 0.5, 1, 0, 0.5])  # jax has NaN, 1 and 1 for each of equal infinities
    np.testing.assert_allclose(second, [0.5, 0.5, 0, 1, 0.5])
    again = xs.vmap(xs.grad(xs.grad(f)))(*INFINITE)
    np.testing.assert_allclose(again, [0, 0, 0, 0, 0.25 * (1 if f is jnp.logaddexp else np.log(2))], rtol=1e-6)


def _multiplied(u):
    found = jnp.array([2.0, 3.0, 5.0]).at[np.array([0, 0, 0, 1, 1, 2, 9])].multiply(u, mode="drop")
    return jnp.sum(found * np.array([1, 2, 3], "float32"))


@pytest.mark.parametrize("zeros", [(), (0,), (0, 1), (3,), (3, 4), (0, 1, 2), (0, 3, 5, 6)])
def test_three_derivatives_of_products_of_updates_with_zeros(zeros):
    """jax has no derivative of these."""
    u = np.array([0.5, -1.5, 2.0, 0.7, -0.3, 1.2, 4.0], "float32")
    u[list(zeros)] = 0

    def polynomial(u):
        return 2 * u[0] * u[1] * u[2] + 6 * u[3] * u[4] + 15 * u[5]

    np.testing.assert_allclose(xs.grad(_multiplied)(u), xs.grad(polynomial)(u), rtol=1e-5, atol=1e-5)
    second = xs.hessian(_multiplied)(u)
    np.testing.assert_allclose(second, xs.hessian(polynomial)(u), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(xs.jacrev(xs.grad(_multiplied))(u), second, rtol=1e-5, atol=1e-5)
    third = xs.jacfwd(xs.hessian(_multiplied))(u)
    np.testing.assert_allclose(third, xs.jacfwd(xs.hessian(polynomial))(u), rtol=1e-5, atol=1e-5)


def test_second_derivatives_of_a_rule_in_a_rule_are_the_same_in_a_loop():
    """jax loses the inner rule inside of ``scan``."""
    inner = xs.custom_jvp(lambda x: 0.9 * jnp.roll(x, 1))
    inner.defjvp(lambda primals, tangents: (inner(*primals), 1.8 * jnp.roll(tangents[0], 1)))
    outer = xs.custom_vjp(inner)
    outer.defvjp(lambda x: (inner(x), x), lambda x, t: (xs.vjp(inner, x)[1](t)[0] * (2 + 0.01 * x),))
    x = np.array([0.3, -0.2, 0.5, 0.7], "float32")

    def unrolled(x):
        return jnp.sum(jnp.tanh(outer(outer(x))) ** 2)

    def looping(x):
        return jnp.sum(jnp.tanh(xs.lax.scan(lambda c, _: (outer(c), None), x, None, length=2)[0]) ** 2)

    np.testing.assert_allclose(xs.hessian(looping)(x), xs.hessian(unrolled)(x), rtol=1e-5, atol=1e-6)
    twice = [xs.grad(lambda x, f=f: jnp.sum(xs.grad(f)(x) ** 2))(x) for f in (looping, unrolled)]
    np.testing.assert_allclose(*twice, rtol=1e-5)
