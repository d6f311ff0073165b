"""Derivatives of linear algebra at matrices that have none, or many: what JAX gives."""

from pathlib import Path

import numpy as np
import pytest

import xlascope as xs

DEGENERATE = Path(__file__).with_name("degenerate.py")
#: Where we differ, and why.
KNOWN = {
    "lu: infinite": "of what is infinite one element more is NaN",
    "slogdet: infinite": "the same, less",
    "det: no elements": "its derivative has no elements; jax fails",
    "spectral norm: nothing": "each of three equal largest values has a third of the derivative; in jax a sixth",
}


@pytest.mark.parametrize("which", ["together", pytest.param("gradients", marks=pytest.mark.slow)])
def test_derivatives_are_those_of_jax(which, jax_says, programs):
    expected, found = jax_says(DEGENERATE, which), getattr(programs(DEGENERATE), which)(xs)
    assert found.keys() == expected.keys()
    compared = {name: (found[name], wanted) for name, wanted in expected.items() if name not in BY_ROUNDING}
    differing = {name: both for name, both in compared.items() if not _same(*both)}
    assert differing.keys() <= KNOWN.keys(), differing


#: Rounding errors decide about these vectors, and so how a program was compiled.
BY_ROUNDING = {"singular vectors: rank one", "singular vectors: rank two", "eigenvectors: rank one"}
#: Where a matrix is singular but for rounding errors, a derivative that is infinite comes out as large.
LARGE = 1e4


def _size(x):
    return float(np.max(np.abs(np.nan_to_num(x, nan=np.inf)), initial=0.0))


def _same(ours, theirs):
    if isinstance(ours, str) or isinstance(theirs, str):
        return isinstance(ours, str) and isinstance(theirs, str) and ours == theirs
    if (
        ours.shape == theirs.shape and np.isfinite(theirs).all() and _size(theirs) > LARGE
    ):  # rounding errors, divided by rounding errors
        return _size(ours) > LARGE / 100
    near = 2e-3 * float(np.max(np.abs(theirs[np.isfinite(theirs)]), initial=0.0))
    return ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=2e-3, atol=near, equal_nan=True)


#: Functions whose derivatives are known.
WELL_DETERMINED = {
    "eigenvalues": lambda a: 2 * a,
    "frobenius norm": lambda a: a / np.linalg.norm(a),
    "det": lambda a: np.linalg.inv(a).T * np.linalg.det(a),
}


@pytest.mark.parametrize("name", WELL_DETERMINED)
def test_what_is_determined_has_its_derivative_at_equal_eigenvalues(name, programs):
    derivative = WELL_DETERMINED[name]
    function = programs(DEGENERATE).functions(xs)[name]
    for matrix in (np.diag([2.0, 2.0, 1.0]), np.eye(3)):
        np.testing.assert_allclose(xs.grad(function)(matrix.astype("float32")), derivative(matrix), atol=1e-5)
