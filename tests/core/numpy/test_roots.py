"""Roots of polynomials, by NumPy: how many there are depends on zeros among the coefficients."""

import numpy as np
import pytest

import xlascope.numpy as jnp

COEFFICIENTS = [[], [0], [0, 0, 0], [2], [0, 0, 3], [3, 0, 0], [1, -3, 2], [0, 1, -3, 2], [1, -3, 2, 0], [0, 5, 0, 0]]


@pytest.mark.parametrize("coefficients", COEFFICIENTS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_as_many_roots_as_numpy_has(coefficients: list[float], dtype: str) -> None:
    roots = jnp.roots(jnp.array(coefficients, dtype))
    expected = np.roots(np.array(coefficients, dtype))
    assert roots.shape == expected.shape and roots.dtype == np.complex64
    assert np.allclose(np.sort_complex(np.asarray(roots)), np.sort_complex(expected), atol=1e-5)
