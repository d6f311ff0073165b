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
