"""Factors that are updated are those of the matrix that is, and symmetric products are products."""

import numpy as np
import pytest

import xlascope as xs
from xlascope import lax

RNG = np.random.default_rng(0)
A = RNG.normal(size=(3, 4, 4))
DEFINITE = A @ A.swapaxes(-1, -2) + np.eye(4)
R = np.linalg.cholesky(DEFINITE).swapaxes(-1, -2)
W = RNG.normal(size=(3, 4))


def test_an_updated_factor_is_that_of_the_sum():
    with xs.enable_x64(True):
        expected = np.linalg.cholesky(DEFINITE + W[:, :, None] * W[:, None, :]).swapaxes(-1, -2)
        np.testing.assert_allclose(lax.linalg.cholesky_update(R[0], W[0]), expected[0], atol=1e-12)
        np.testing.assert_allclose(xs.vmap(lax.linalg.cholesky_update)(R, W), expected, atol=1e-12)
        np.testing.assert_allclose(lax.linalg.cholesky_update(R[0], np.zeros(4)), R[0], atol=1e-12)
        np.testing.assert_array_equal(lax.linalg.cholesky_update(np.zeros((2, 2)), np.zeros(2)), np.zeros((2, 2)))


def test_the_derivative_of_an_update_is_that_of_the_factor():
    with xs.enable_x64(True):

        def factored(w):
            return xs.numpy.linalg.cholesky(DEFINITE[0] + xs.numpy.outer(w, w)).T

        found = xs.jacrev(lambda w: lax.linalg.cholesky_update(R[0], w))(W[0])
        np.testing.assert_allclose(found, xs.jacfwd(factored)(W[0]), atol=1e-10)


def test_a_symmetric_product_is_the_product():
    a, c = A[:, :, :2].astype("float32"), DEFINITE.astype("float32")
    expected = 2.0 * a @ a.swapaxes(-1, -2) + 0.5 * c
    found = lax.linalg.symmetric_product(a, c, alpha=2.0, beta=0.5)
    np.testing.assert_allclose(np.tril(found), np.tril(expected), rtol=1e-5, atol=1e-5)
    whole = np.asarray(lax.linalg.symmetric_product(a, c, alpha=2.0, beta=0.5, symmetrize_output=True))
    np.testing.assert_array_equal(whole, whole.swapaxes(-1, -2))
    np.testing.assert_allclose(whole, expected, rtol=1e-5, atol=1e-5)


def test_what_does_not_fit_is_said():
    with pytest.raises(ValueError, match="square matrix and a vector"):
        lax.linalg.cholesky_update(np.ones((2, 3)), np.ones(2))
    with pytest.raises(TypeError, match="one floating-point dtype"):
        lax.linalg.cholesky_update(np.ones((2, 2), int), np.ones(2, int))
    with pytest.raises(ValueError, match="symmetric_product takes"):
        lax.linalg.symmetric_product(np.ones((2, 3)), np.ones((3, 3)))
