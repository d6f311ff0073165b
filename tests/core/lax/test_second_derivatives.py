"""Second derivatives of the functions of lax that the table of operations differentiates at most once.

The table (tests/core/operations) has all the others. These have parameters in which they have no derivative, give whole
numbers beside what moves, or hold programs.
"""

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax
from xlascope.test_util import check_grads

X, P = np.array([0.3, 0.6, 0.45]), np.array([1.5, 2.5, 0.75])
M = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.0]])


def _symmetric(m):
    return (m + m.T) / 2


ROWS = {
    "betainc": (lambda x: lax.betainc(P, P[::-1], x), X),
    "igamma": (lambda x: lax.igamma(P, x), X),
    "igammac": (lambda x: lax.igammac(P, x), X),
    "lgamma": (lax.lgamma, P),
    "digamma": (lax.digamma, P),
    "polygamma": (lambda x: lax.polygamma(np.array([1.0, 2.0, 3.0]), x), P),
    "zeta": (lambda x: lax.zeta(P + 1, x), P),
    "cholesky": (lambda m: lax.linalg.cholesky(_symmetric(m)), M),
    "eigh": (lambda m: lax.linalg.eigh(_symmetric(m))[1], M),
    "lu": (lambda m: lax.linalg.lu(m)[0], M),
    "top_k": (lambda x: lax.top_k(x * x * x, 2)[0], X),
    "reduce": (lambda x: lax.reduce(x * x, 0.0, lambda a, b: a + b, (0,)), X),
    "reduce by a product": (lambda x: lax.reduce(x * x, 1.0, lambda a, b: a * b + 0 * a, (0,)), X),
    "reduce_window": (lambda x: lax.reduce_window(x**3, 0.0, lax.add, (2,), (1,), "VALID"), X),
    "reduce_window of the largest": (lambda x: lax.reduce_window(x**3, -np.inf, lax.max, (2,), (1,), "SAME"), X),
    "reduce_precision": (lambda x: lax.reduce_precision(x, 11, 52) ** 3, X),
    "sort": (lambda x: lax.sort(x**3), X),
    "sort with another": (lambda x: lax.sort((x**3, x**2))[1], X),
    "approx_max_k": (lambda x: lax.approx_max_k(x.astype("float64") ** 3, 2)[0], X),
    "argmax beside": (lambda x: x**3 * lax.argmax(x, 0, np.int32), X),
    "split": (lambda x: lax.split(x**3, (1, 2))[1] * 2, X),
    "optimization_barrier": (lambda x: lax.optimization_barrier(x**3), X),
    "cond": (lambda x: lax.cond(x[0] > 0, lambda y: y**3, lambda y: y, x), X),
    "scan": (lambda x: lax.scan(lambda c, y: (c * y, c + y**2), 1.0, x)[1], X),
    "conv": (lambda x: lax.conv(x[None, None], x[None, None, :2] ** 2, (1,), "VALID"), X),
    "ragged_dot": (lambda m: lax.ragged_dot(m, jnp.stack([m, m**2]), np.array([1, 2], np.int32)), M),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_derivatives_of_second_order(name: str) -> None:
    function, x = ROWS[name]
    with xs.enable_x64(True):
        check_grads(function, (jnp.asarray(x),), order=2, atol=1e-4, rtol=1e-4, eps=1e-5)


@pytest.mark.slow
def test_a_loop_whose_length_is_not_known_moves_forward_twice() -> None:
    def power(x):
        return lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * x), (0, 1.0))[1]

    with xs.enable_x64(True):
        check_grads(power, (1.5,), order=2, modes=("fwd",), atol=1e-4, rtol=1e-4, eps=1e-5)
