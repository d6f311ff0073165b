"""The sums at extremes of windows that are written out for the CPU are those of XLA's own operation, to the bit."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax
from xlascope.operations import windows
from xlascope.operations.windows import SelectAndScatterAdd
from xlascope.trace.bind import bind1

#: Shape, sizes and strides of windows.
WINDOWS = [
    ((6, 8), (2, 2), (2, 2)),
    ((7, 9), (2, 3), (2, 3)),  # places behind the last window
    ((7, 9), (3, 3), (2, 2)),  # windows overlap
    ((9, 7), (3, 2), (1, 1)),
    ((11,), (5,), (2,)),
    ((11,), (2,), (4,)),  # places between the windows
    ((5, 6), (5, 6), (1, 1)),  # one window
    ((5, 6), (5, 2), (3, 2)),
    ((2, 6, 5, 3), (1, 2, 2, 1), (1, 2, 2, 1)),
    ((2, 3, 6, 5), (1, 1, 3, 3), (1, 1, 2, 2)),
    ((3, 4), (1, 1), (1, 1)),
    ((3, 9), (1, 1), (1, 2)),
]
#: Dtypes of what is added and of the operand; XLA's own operation takes one for both.
DTYPES = [
    (np.float32, np.float64),
    (ml_dtypes.bfloat16, ml_dtypes.bfloat16),
    (np.complex64, np.float32),
    (np.int32, np.int8),
    (np.float32, np.bool_),
]


def scatter(op: SelectAndScatterAdd, source: Any, x: Any) -> np.ndarray[Any, Any]:
    return np.asarray(xs.jit(lambda source, x: bind1(op, source, x))(source, x))


def both(op: SelectAndScatterAdd, source: Any, x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    written = scatter(op, source, x)
    monkeypatch.setattr(windows, "is_fast", lambda sizes: False)
    np.testing.assert_array_equal(written, scatter(op, source, x))


def operands(
    shape: tuple[int, ...],
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: Any = np.float32,
    of: Any = np.float32,
) -> tuple[Any, Any]:
    """Arrays of few different numbers, so that many windows have several extremes."""
    random = np.random.default_rng(0)
    counts = [(n - size) // stride + 1 for n, size, stride in zip(shape, sizes, strides, strict=True)]
    return random.integers(-9, 10, counts).astype(dtype), random.integers(-2, 3, shape).astype(of)


@pytest.mark.parametrize("select", ["ge", "le"])
@pytest.mark.parametrize(("shape", "sizes", "strides"), WINDOWS)
def test_windows(
    shape: tuple[int, ...],
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    select: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    op = SelectAndScatterAdd(sizes, strides, ((0, 0),) * len(sizes), select)
    both(op, *operands(shape, sizes, strides), monkeypatch)


def reference(
    source: np.ndarray[Any, Any], x: np.ndarray[Any, Any], sizes: tuple[int, ...], strides: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """The sums at first maxima, window by window."""
    total = np.zeros(x.shape, source.dtype)
    for window in np.ndindex(source.shape):
        corner = np.multiply(window, strides)
        places = [tuple(corner + place) for place in np.ndindex(sizes)]
        total[max(places, key=lambda place: x[place])] += source[window]
    return total


@pytest.mark.parametrize(("dtype", "of"), DTYPES)
def test_dtypes(dtype: Any, of: Any) -> None:
    shape, sizes, strides = (7, 9), (3, 3), (2, 2)
    with xs.enable_x64(True):
        op = SelectAndScatterAdd(sizes, strides, ((0, 0),) * 2, "ge")
        source, x = operands(shape, sizes, strides, dtype, of)
        found = scatter(op, source, x)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, reference(source, x, sizes, strides))


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("select", ["ge", "le"])
def test_special_values(special: float, select: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, x = operands((7, 9), (3, 3), (2, 2))
    x[::2, ::3] = special
    both(SelectAndScatterAdd((3, 3), (2, 2), ((0, 0),) * 2, select), source, x, monkeypatch)


def test_the_gradient_of_a_pool_is_that_of_the_first_largest_element() -> None:
    x = jnp.array([[3.0, 3.0, 1.0, 5.0], [0.0, 3.0, 5.0, 2.0]])

    def total(x: Any) -> Any:
        pooled = lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID")
        return (pooled * jnp.array([[2.0, 7.0]])).sum()

    wanted = [[2.0, 0.0, 0.0, 7.0], [0.0, 0.0, 0.0, 0.0]]
    for function in (xs.grad(total), xs.jit(xs.grad(total))):
        np.testing.assert_array_equal(function(x), wanted)


def test_no_index_arrays_are_made_for_a_pools_gradient() -> None:
    """XLA's expansion has one for each axis, and a scatter: they took most of a convolutional net's step."""
    pool = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME").sum()  # noqa: E731
    text = xs.jit(xs.grad(pool)).lower(jnp.ones((2, 9, 9, 4))).compile().as_text()
    assert "scatter" not in text.replace("select_and_scatter", "") and "iota" not in text


@pytest.mark.parametrize("sizes", [(9, 9), (2, 2)])
def test_large_windows_and_padding_are_left_to_xla(sizes: tuple[int, int]) -> None:
    padding = ((0, 0), (0, 0)) if sizes == (9, 9) else ((1, 0), (0, 1))
    op = SelectAndScatterAdd(sizes, (1, 1), padding, "ge")
    x = jnp.arange(100.0).reshape(10, 10)
    source = jnp.ones(op._gather().windows(x.shape))
    text = xs.jit(lambda source, x: bind1(op, source, x)).lower(source, x).as_text()
    assert "stablehlo.select_and_scatter" in text
