"""What factorizations promise whatever their signs."""

import numpy as np
import pytest

import xlascope as xs
from xlascope import lax


@pytest.mark.parametrize("shape", [(5, 5), (30, 20), (20, 30), (3, 8, 8)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_factors_give_the_matrix_back(shape, dtype):
    rng = np.random.default_rng(0)
    a = rng.normal(size=shape) + (1j * rng.normal(size=shape) if "c" in dtype else 0)
    with xs.enable_x64():
        a = a.astype(dtype)
        size = np.linalg.norm(a, axis=(-2, -1)).max() * np.finfo(dtype).eps * max(shape)
        q, r = map(np.asarray, lax.linalg.qr(a, full_matrices=False))
        assert np.abs(q @ r - a).max() < size
        assert np.abs(_adjoint(q) @ q - np.eye(q.shape[-1])).max() < 10 * size
        u, s, vh = map(np.asarray, lax.linalg.svd(a, full_matrices=False))
        assert np.abs((u * s[..., None, :]) @ vh - a).max() < size
        if shape[-1] == shape[-2]:
            definite = a @ _adjoint(a) + np.eye(shape[-1])
            factor = np.asarray(lax.linalg.cholesky(definite))
            assert np.abs(factor @ _adjoint(factor) - definite).max() < 10 * size * np.abs(definite).max()
            x = np.asarray(xs.numpy.linalg.solve(a, a @ np.ones(shape[-1], dtype)[:, None]))
            assert np.abs(x - 1).max() < size * np.linalg.cond(a).max()
            t, z = map(np.asarray, lax.linalg.schur(a))
            assert np.abs(z @ t @ _adjoint(z) - a).max() < 10 * size
            w, vectors = map(np.asarray, lax.linalg.eig(a, compute_left_eigenvectors=False))
            assert np.abs(a @ vectors - vectors * w[..., None, :]).max() < 20 * size


def _adjoint(a):
    return a.conj().swapaxes(-1, -2)
