"""Positions of extremes that are found by comparisons on the CPU are those of NumPy: the first, and the first NaN."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xlascope as xs
from xlascope import lax
from xlascope.operations import extreme_positions

DTYPES = [np.float32, np.float64, ml_dtypes.bfloat16, np.int8, np.uint32, np.bool_]
SPECIAL = {
    "equal": [],
    "NaN": [np.nan],
    "all NaN": [np.nan] * 40,
    "infinite": [np.inf, -np.inf],
    "least": [-np.inf] * 40,
}


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "axis"), [((1500,), 0), ((40, 50), 0), ((30, 4, 50), 1)])
def test_equal_elements(shape: tuple[int, ...], axis: int, dtype: Any, name: str) -> None:
    with xs.enable_x64(True):
        x = np.random.default_rng(0).integers(0, 3, shape).astype(dtype)
        found = xs.jit(lambda x: getattr(lax, name)(x, axis, np.int32))(x)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, getattr(np, name)(x.astype(np.float64), axis))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize("index", [np.int32, np.uint8])
def test_special_values(special: str, name: str, index: Any) -> None:
    x = np.random.default_rng(0).standard_normal((40, 50)).astype(np.float32)
    values = SPECIAL[special]
    x[: len(values), ::3] = np.array(values, np.float32)[:, None]
    x[: 2 * len(values) : 2, 1::3] = np.array(values, np.float32)[:, None] if len(values) < 20 else np.nan
    found = xs.jit(lambda x: getattr(lax, name)(x, 0, index))(x)
    assert found.dtype == index
    np.testing.assert_array_equal(found, getattr(np, name)(x, 0))


@pytest.mark.parametrize("size", [extreme_positions.MIN_SIZE - 1, extreme_positions.MIN_SIZE])
def test_small_arrays_are_reduced_with_their_positions(size: int) -> None:
    text = xs.jit(lambda x: lax.argmax(x, 0, np.int32)).lower(np.zeros(size, np.float32)).as_text()
    assert ("stablehlo.maximum" in text) == (size >= extreme_positions.MIN_SIZE)
