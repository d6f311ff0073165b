"""Arguments that take another way by their shape or place: a wide matrix, breakpoints outside of the axis."""

import numpy as np
import pytest
import scipy.linalg
import scipy.signal

import xlascope.numpy as jnp
from xlascope import tree
from xlascope.scipy import linalg, ndimage, signal
from xlascope.scipy.signal.windows import make_window

RANDOM = np.random.default_rng(3)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("method", ["qdwh", "svd"])
@pytest.mark.parametrize("shape", [(2, 4), (4, 2), (3, 3)])
def test_the_polar_factors_of_a_wide_matrix(shape, method, side):
    a = RANDOM.normal(size=shape).astype(np.float32)
    found, wanted = linalg.polar(a, side=side, method=method), scipy.linalg.polar(a, side)
    for x, y in zip(found, wanted, strict=True):
        assert x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(
    ("breakpoints", "fits"),
    [([4], True), ([4, 9], True), ([0, 12], True), ([-1], False), ([3, -2], False), ([13], False)],
)
def test_breakpoints_of_a_trend(breakpoints, fits):
    x = RANDOM.normal(size=12).astype(np.float32)
    if fits:
        np.testing.assert_allclose(
            signal.detrend(x, bp=breakpoints), scipy.signal.detrend(x, bp=breakpoints), atol=1e-5
        )
    else:
        with pytest.raises(ValueError, match="breakpoints lie within the 12 elements of the axis"):
            signal.detrend(x, bp=breakpoints)


WINDOWS = [
    *["boxcar", "hann", "hamming", "blackman", "nuttall", "blackmanharris", "flattop", "bartlett"],
    *["barthann", "bohman", "cosine", "lanczos", "parzen"],
    *["triang", "tukey", "exponential", ("hann",), ("tukey", 0.25), ("tukey", 0.0), ("tukey", 1.0), ("kaiser", 8.0)],
    *[("gaussian", 3.0), ("general_gaussian", 1.5, 3.0), ("general_cosine", (0.3, 0.4, 0.3)), ("general_hamming", 0.7)],
    *[("exponential", None, 2.0), ("exponential", 3.0, 2.0), "parz", "tuk", "han", "poisson"],
]


@pytest.mark.parametrize("window", WINDOWS)
def test_windows_are_those_of_scipy(window):
    for length in (1, 2, 3, 8, 9, 16, 31):
        np.testing.assert_allclose(make_window(window, length), scipy.signal.get_window(window, length), atol=1e-12)


@pytest.mark.parametrize("window", ["kaiser", ("tukey", 0.5, 1), ("hann", 2), "none", ("dpss", 2.0), (), 3.0])
def test_a_window_that_is_none_says_what_windows_are(window):
    with pytest.raises(ValueError, match=r"window .*got |does not have the parameters"):
        make_window(window, 8)


ROWS, SIDE = [[2.0, 1.0], [1.0, 3.0]], [1.0, 2.0]
#: Functions that take nested lists, as in jax.
OF_LISTS = {
    "cholesky": (ROWS,),
    "eigh": (ROWS, [[1.0, 0.0], [0.0, 2.0]]),
    "svd": (ROWS,),
    "qr": (ROWS,),
    "lu": (ROWS,),
    "lu_factor": (ROWS,),
    "solve_triangular": (ROWS, SIDE),
    "eigh_tridiagonal": (SIDE, [1.0]),
    "polar": (ROWS,),
    "rsf2csf": (ROWS, ROWS),
    "funm": (ROWS, jnp.exp),
    "expm_frechet": (ROWS, ROWS),
    "qr_multiply": (ROWS, ROWS),
}


@pytest.mark.parametrize("name", OF_LISTS)
def test_nested_lists_are_matrices(name):
    arguments = OF_LISTS[name]
    of_arrays = [np.array(x, np.float32) if isinstance(x, list) else x for x in arguments]
    found, wanted = (getattr(linalg, name)(*given) for given in (arguments, of_arrays))
    tree.map(np.testing.assert_array_equal, found, wanted)


def test_factors_and_sides_may_be_lists():
    for solve, factors in ((linalg.cho_solve, linalg.cho_factor(ROWS)), (linalg.lu_solve, linalg.lu_factor(ROWS))):
        np.testing.assert_allclose(solve(factors, SIDE), np.linalg.solve(ROWS, SIDE), rtol=1e-6)
    assert ndimage.map_coordinates(SIDE, [[0.5]], 1).tolist() == [1.5]
