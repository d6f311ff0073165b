"""xlascope.lax agrees with jax.lax, expression by expression, by itself and inside jit."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import oracle
from tests.changes_of_jax import made
from tests.comparison import difference, rough_difference

import xlascope as xs
from xlascope import lax
from xlascope.lax import primitives

HERE = Path(__file__).with_name("expressions.py")
KNOWN = {
    "lax.log(2)": "as in the first versions of JAX, whole Python numbers count as floats where a float is wanted",
    "lax.bessel_i0e(2)": "whole Python numbers count as floats, as for lax.log",
    "lax.reshape(m, (5, 5))": "a TypeError that names the shapes; jax fails in the compiler",
    "lax.convert_element_type(c, np.bool_)": "as in NumPy, complex values are true unless both parts are zero",
    "lax.dynamic_slice(m, (0, 0), (1, 2, 3))": "a TypeError that names the sizes; jax fails in a zip",
    "lax.slice(m, (0, 0), (2, 2), (0, 1))": "a TypeError that names the strides; jax divides by zero",
    "lax.dot(m, m)": "the TypeError that jax had, and that programs expect",
    'lax.conv_general_dilated(t, t, (1,), "FOO")': "a ValueError, as for what else is wrong; jax's is a RuntimeError",
    'lax.reduce_window(i, np.iinfo(np.int32).max, lax.min, (2,), None, "SAME_LOWER")': "jax fails",
}


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("xlascope_lax_expressions", HERE)
    module = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


TABLE = _load()


@pytest.fixture(scope="module")
def expected(jax_says) -> dict[str, Any]:
    return jax_says(HERE, "every")


def _check(found: Any, wanted: Any, compare: Callable[[np.ndarray, np.ndarray], str] = difference) -> None:
    if isinstance(wanted, (np.ndarray, list)) and isinstance(found, (np.ndarray, list)):
        for ours, theirs in zip(_list(found), _list(wanted), strict=True):
            assert not compare(ours, theirs)
    else:
        assert found == wanted


def _list(value: Any) -> list[np.ndarray]:
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("row", oracle.rows(TABLE.ROWS, KNOWN))
def test_an_expression_gives_what_jax_gives(row: str, expected: dict[str, Any]) -> None:
    rough = row.startswith("lax.lgamma(np.array") and made("digits of the gamma function")
    _check(TABLE.evaluate(xs, row), expected[row], rough_difference if rough else difference)


@pytest.mark.parametrize("row", TABLE.ROWS)
def test_an_expression_gives_the_same_inside_jit(row: str) -> None:
    alone = TABLE.evaluate(xs, row)
    if isinstance(alone, (np.ndarray, list)):
        _check(TABLE.evaluate(xs, row, jit=True), alone, rough_difference)


def test_every_operation_has_its_handle() -> None:
    held = {"jit", "constant", "geqrf", "permute_rows"}  # which JAX has no primitives for, or no public ones
    for name, operation in primitives.operations_by_name().items():
        if name not in held:
            room = lax.linalg if ".operations.linalg." in operation.__module__ else lax
            assert getattr(room, f"{name}_p", None) is operation.primitive, f"lax.{name}_p: run `make names`"


def test_stop_gradient_takes_trees() -> None:
    def function(x):
        kept = lax.stop_gradient({"a": x, "b": [x * 2, 3]})
        return x * kept["a"] + kept["b"][0] * kept["b"][1]

    assert float(xs.grad(function)(2.0)) == 2.0


def test_gather_and_scatter_follow_their_dimension_numbers() -> None:
    x = xs.numpy.arange(12.0).reshape(3, 4)
    rows = np.array([[2], [0]], np.int32)
    numbers = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    np.testing.assert_array_equal(lax.gather(x, rows, numbers, (1, 4)), np.asarray(x)[[2, 0]])
    back = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    put = lax.scatter(x, rows, np.zeros((2, 4), np.float32), back)
    np.testing.assert_array_equal(put, np.asarray(x) * [[0], [1], [0]])
    added = lax.scatter_add(x, np.array([[1], [7]], np.int32), np.ones((2, 4), np.float32), back)
    np.testing.assert_array_equal(added, np.add(x, [[0], [1], [0]]))
    clipped = lax.scatter_add(x, np.array([[7]], np.int32), np.ones((1, 4), np.float32), back, mode="clip")
    np.testing.assert_array_equal(clipped, np.add(x, [[0], [0], [1]]))
