"""Arguments that take another way by their shape or place: a wide matrix, breakpoints outside of the axis."""

import numpy as np
import pytest
import scipy.linalg
import scipy.signal

from xlascope.scipy import linalg, signal

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
