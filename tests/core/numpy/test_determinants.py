"""Derivatives of determinants at matrices of each rank are those of the polynomial that a determinant is."""

import math

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp

#: Derivatives of matrices of a rank below n - 3 are documented to be correct to this order.
ORDERS = 3


@pytest.fixture(autouse=True)
def exact():
    with xs.enable_x64(True):
        yield


def _matrix(rng, size, rank, is_complex):
    left, right = (rng.normal(size=(2, *shape)) for shape in ((size, rank), (rank, size)))
    (a, b), (c, d) = left, right
    return (a + 1j * b) @ (c + 1j * d) if is_complex else a @ c


def _direction(rng, size, is_complex):
    a, b = rng.normal(size=(2, size, size))
    return a + 1j * b if is_complex else a


def _derivatives_along(a, t):
    """Return the derivatives of det(A + e T) by e at 0, of orders 0 to n: the polynomial through its values."""
    size = len(a) + 1
    points = np.exp(2j * np.pi * np.arange(size) / size)
    coefficients = np.fft.fft([np.linalg.det(a + e * t) for e in points]) / size
    return coefficients * [math.factorial(order) for order in range(size)]


CASES = pytest.mark.parametrize(
    ("size", "is_complex"),
    [(1, False), (4, True), (5, False)]
    + [pytest.param(*case, marks=pytest.mark.slow) for case in ((1, True), (2, True), (3, True), (7, True))],
)


def _of_each_rank(size, is_complex):
    """Return matrices of all ranks, directions, and the derivatives of each determinant along its direction."""
    rng = np.random.default_rng(size)
    a = np.stack([_matrix(rng, size, rank, is_complex) for rank in range(size + 1)])
    t = np.stack([_direction(rng, size, is_complex) for _ in a])
    expected = np.stack(list(map(_derivatives_along, a, t)))
    return a, t, expected, 1e-9 * abs(expected).max(1)


@CASES
def test_derivatives_at_each_rank(size, is_complex):
    a, t, expected, errors = _of_each_rank(size, is_complex)

    def along(e):
        return jnp.linalg.det(a + e * t)

    for order in range(min(size, ORDERS) + 1):
        found = xs.jit(along)(jnp.asarray(0, a.dtype))
        assert (abs(found - expected[:, order]) < errors).all(), (order, found, expected[:, order])
        along = xs.jacfwd(along, holomorphic=is_complex)


@CASES
def test_gradients_and_hessians_at_each_rank(size, is_complex):
    a, t, expected, errors = _of_each_rank(size, is_complex)
    gradient = xs.grad(jnp.linalg.det, holomorphic=is_complex)

    def slopes(a, t):
        slope, forward = xs.jvp(lambda a: (gradient(a) * t).sum(), (a,), (t,))
        backward = xs.grad(lambda a: (gradient(a) * t).sum(), holomorphic=is_complex)(a)
        return slope, forward, (backward * t).sum()

    for found, order in zip(xs.jit(xs.vmap(slopes))(a, t), (1, 2, 2), strict=True):
        wanted = expected[:, order] if order <= size else 0
        assert (abs(found - wanted) < errors).all(), (order, found, wanted)


def test_a_batch_of_all_ranks():
    rng = np.random.default_rng(0)
    batch = np.stack([_matrix(rng, 5, rank, False) for rank in range(6)])
    batch[3] = np.ones((5, 5)) + np.diag([0.0, 0, 0, 1, 2])  # exactly singular
    t = rng.normal(size=(5, 5))

    def curvature(a):
        return xs.jvp(lambda a: (xs.grad(lambda a: jnp.linalg.det(a).sum())(a) * t).sum((-2, -1)), (a,), (t + 0 * a,))

    expected = [_derivatives_along(a, t)[1:3] for a in batch]
    for found in (curvature(batch), xs.jit(xs.vmap(curvature))(batch), xs.vmap(xs.jit(curvature))(batch)):
        np.testing.assert_allclose(np.stack(found, -1), expected, rtol=1e-9, atol=1e-9)


def test_the_determinant_of_nan_has_a_derivative_of_nan():
    a = np.eye(5)
    a[1, 1] = np.nan
    assert np.isnan(xs.grad(jnp.linalg.det)(a)).any()


def test_the_determinant_of_no_elements():
    assert xs.grad(jnp.linalg.det)(jnp.zeros((0, 0))).shape == (0, 0)
    assert jnp.linalg.det(jnp.zeros((2, 0, 0))).tolist() == [1, 1]


@pytest.mark.parametrize("method", ["lu", "qr"])
def test_the_sign_of_a_singular_matrix_is_zero_without_a_sign(method):
    a = np.array([[1.0, 0.0], [0.0, 0.0]])
    for singular in (a, -a, a[::-1], -a[::-1]):
        for compiled in (jnp.linalg.slogdet, xs.jit(jnp.linalg.slogdet, static_argnames="method")):
            sign, size = compiled(jnp.asarray(singular), method=method)
            assert sign == 0 and not np.signbit(sign) and size == -np.inf
