"""Arrays that are sorted as integers on the CPU are sorted as before: NaN last, equal keys in their order."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax
from xlascope.operations import sorting, sorting_on_cpu

KEYS = [
    np.float32,
    np.float16,
    ml_dtypes.bfloat16,
    np.int8,
    np.uint8,
    np.int16,
    np.int32,
    np.uint16,
    np.uint32,
    np.bool_,
]
SPECIAL = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e-40, -1e-40, 1.0, -1.0]


def keys(dtype: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Elements of which many are equal, the largest and the smallest among them."""
    random = np.random.default_rng(0)
    if dtype is np.bool_:
        return random.choice(np.array([False, True]), shape)
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        few = np.array([info.min, info.max, 0, 1, info.max // 2, info.max // 2 + 1], dtype)
        return random.choice(few, shape)
    few = np.array([*SPECIAL, *random.standard_normal(20)], np.float64).astype(dtype)
    return random.choice(few, shape)


def sort_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "emit_sort", lambda *_: None)


@pytest.mark.parametrize("dtype", KEYS)
@pytest.mark.parametrize(("shape", "axis"), [((1500,), 0), ((40, 50), 0), ((30, 4, 50), 1)])
def test_keys_with_positions(dtype: Any, shape: tuple[int, ...], axis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = keys(dtype, shape)
    y = np.arange(x.size, dtype=np.float32).reshape(shape)

    def function(x: Any, y: Any) -> Any:
        return lax.sort((x, y), dimension=axis, num_keys=1)

    found = xs.jit(function)(x, y)
    assert "xi64>" in xs.jit(function).lower(x, y).as_text()
    sort_as_before(monkeypatch)
    for ours, wanted in zip(found, xs.jit(lambda *xs_: function(*xs_))(x, y), strict=True):
        assert ours.dtype == wanted.dtype
        np.testing.assert_array_equal(np.asarray(ours, np.float64), np.asarray(wanted, np.float64))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.float64])
@pytest.mark.parametrize(("shape", "axis"), [((1500,), 0), ((40, 50), 0)])
def test_floats_alone(dtype: Any, shape: tuple[int, ...], axis: int) -> None:
    with xs.enable_x64(True):
        x = keys(dtype, shape)
        found = np.asarray(xs.jit(lambda x: jnp.sort(x, axis))(x))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.astype(np.float64), np.sort(x.astype(np.float64), axis))
    assert np.signbit(found[found == 0].astype(np.float64)).any()  # zeros keep their signs


def test_booleans_alone() -> None:
    x = keys(np.bool_, (40, 50))
    np.testing.assert_array_equal(xs.jit(lambda x: jnp.sort(x, 0))(x), np.sort(x, 0))
    assert "xui8>" in xs.jit(lambda x: jnp.sort(x, 0)).lower(x).as_text()


def test_the_order_of_equal_keys() -> None:
    x = np.random.default_rng(0).choice(np.array([0.0, -0.0, np.nan, 1.5, -2.0], np.float32), 2000)
    order = np.argsort(x, kind="stable")
    np.testing.assert_array_equal(jnp.argsort(x), order)
    np.testing.assert_array_equal(jnp.argsort(jnp.asarray(x), stable=False), order)


@pytest.mark.parametrize("size", [sorting_on_cpu.MIN_SIZE - 1, sorting_on_cpu.MIN_SIZE])
def test_small_arrays_are_sorted_as_they_are(size: int) -> None:
    text = xs.jit(jnp.sort).lower(np.zeros(size, np.float32)).as_text()
    assert ("TOTALORDER" in text) == (size < sorting_on_cpu.MIN_SIZE)


def test_derivatives_and_examples() -> None:
    x = np.random.default_rng(0).permutation(1200).astype(np.float32).reshape(2, 600)
    weights = np.arange(600.0, dtype=np.float32)
    gradient = xs.jit(xs.vmap(xs.grad(lambda x: jnp.sort(x) @ weights)))(x)
    np.testing.assert_array_equal(gradient, np.argsort(np.argsort(x, -1), -1))
