"""Sorting and searching, by every method, hold about as many numbers as they are given, in about log n steps."""

import math
import re

import ml_dtypes
import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp

SIZE = 2048
X, Y = (xs.ShapeDtypeStruct((SIZE,), "float32") for _ in "xy")
ROWS = {
    **{
        f"searchsorted {method} {side}": (lambda x, y, m=method, s=side: jnp.searchsorted(x, y, s, method=m))
        for method in ("scan", "scan_unrolled", "sort")
        for side in ("left", "right")
    },
    **{f"digitize {m}": (lambda x, y, m=m: jnp.digitize(y, x, method=m)) for m in ("scan", "scan_unrolled", "sort")},
    **{f"isin {m}": (lambda x, y, m=m: jnp.isin(x, y, method=m)) for m in ("auto", "binary_search", "sort")},
    "sort": lambda x, y: jnp.sort(x),
    "sort falling": lambda x, y: jnp.sort(x, descending=True),
    "argsort": lambda x, y: jnp.argsort(x),
    "lexsort": lambda x, y: jnp.lexsort((x, y)),
    "partition": lambda x, y: jnp.partition(x, 7),
    "argpartition": lambda x, y: jnp.argpartition(x, 7),
    "top_k": lambda x, y: xs.lax.top_k(x, 7),
    "median": lambda x, y: jnp.median(x),
    "quantile": lambda x, y: jnp.quantile(x, 0.3),
    "unique": lambda x, y: jnp.unique(x, size=SIZE),
    "nonzero": lambda x, y: jnp.nonzero(x, size=SIZE),
    "union1d": lambda x, y: jnp.union1d(x, y, size=2 * SIZE),
    "intersect1d": lambda x, y: jnp.intersect1d(x, y, size=SIZE),
    "setdiff1d": lambda x, y: jnp.setdiff1d(x, y, size=SIZE),
    "setxor1d": lambda x, y: jnp.setxor1d(x, y, size=2 * SIZE),
    "histogram": lambda x, y: jnp.histogram(x, bins=y),
    "interp": lambda x, y: jnp.interp(x, y, y),
    "bincount": lambda x, y: jnp.bincount(x.astype(int), length=SIZE),
}


def _largest_and_longest(jaxpr) -> tuple[int, int]:
    """The elements of the largest value, and the steps of the longest loop, programs inside of others included."""
    largest, longest = 0, 0
    for equation in jaxpr.eqns:
        largest = max(largest, *(int(np.prod(v.aval.shape, dtype=int)) for v in equation.outvars))
        longest = max(longest, equation.params.get("length", 0))
        for value in equation.params.values():
            if hasattr(value, "jaxpr"):
                inside = _largest_and_longest(value.jaxpr)
                largest, longest = max(largest, inside[0]), max(longest, inside[1])
    return largest, longest


@pytest.mark.parametrize("row", ROWS)
def test_what_is_held_grows_with_the_size_and_loops_with_its_logarithm(row: str) -> None:
    largest, longest = _largest_and_longest(xs.make_jaxpr(ROWS[row])(X, Y).jaxpr)
    assert 0 < largest <= 4 * SIZE
    assert longest <= 2 + math.log2(2 * SIZE)


def test_comparing_all_holds_all_pairs() -> None:
    program = xs.make_jaxpr(lambda x, y: jnp.searchsorted(x, y, method="compare_all"))(X, Y)
    assert _largest_and_longest(program.jaxpr)[0] == SIZE**2


SPECIAL = [3.0, np.nan, -0.0, 0.0, np.inf, -1.0, 3.0, -np.inf, -1.0, np.copysign(np.nan, -1), 0.0, -0.0]
ORDERED = np.random.default_rng(1).permuted(np.array([SPECIAL, np.arange(-5.0, 1)[[0] * 7 + [1] * 5]] * 2), axis=1)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "int32"])
@pytest.mark.parametrize("kth", [0, 3, 40, 68, 71])
def test_the_elements_are_those_of_a_stable_sort(dtype: str, kth: int) -> None:
    """However few are selected at either end, with zeros of either sign, infinities and NaN among them."""
    x = np.tile(ORDERED, (1, 6))
    x = np.nan_to_num(x, posinf=9, neginf=-9) if "int" in dtype else x
    x = x.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    order = np.argsort(x.astype("float32"), axis=1, kind="stable")
    for axis, array in ((1, x), (0, x.T)):
        values, indices = (np.asarray(f(array, kth, axis)) for f in (jnp.partition, jnp.argpartition))
        values, indices = (y if axis else y.T for y in (values, indices))
        np.testing.assert_array_equal(indices[:, : kth + 1], order[:, : kth + 1])
        np.testing.assert_array_equal(indices[:, kth + 1 :], np.sort(order[:, kth + 1 :], axis=1))
        for found, wanted in (
            (values[:, : kth + 1], order[:, : kth + 1]),
            (values[:, kth + 1 :], order[:, :kth:-1]),
            (np.sort(values.astype("float32"), 1), order),
        ):
            wanted_values = np.take_along_axis(x, wanted, 1).astype("float32")
            np.testing.assert_array_equal(found.astype("float32"), wanted_values)


def test_a_program_that_reads_the_smallest_or_largest_elements_alone_sorts_nothing() -> None:
    def compiled(function) -> str:
        return xs.jit(function).lower(X).compile().as_text()

    of_smallest = (lambda x: jnp.partition(x, 7)[:7], lambda x: jnp.argpartition(x, 7)[:8])
    of_largest = (lambda x: jnp.partition(x, -7)[-7:], lambda x: jnp.partition(x, -7)[-3:])
    for function in (*of_smallest, *of_largest):
        assert not re.search(r" sort\(", compiled(function))
    assert re.search(r" sort\(", compiled(lambda x: jnp.partition(x, 7)))


def test_the_gradient_of_selected_elements_goes_to_where_they_are() -> None:
    x = np.random.default_rng(2).permutation(64).astype("float32")
    for count in (5, 50):
        gradient = xs.grad(lambda x, c=count: jnp.sum(jnp.partition(x, c)[: c + 1] ** 2))(x)
        np.testing.assert_array_equal(gradient, np.where(x <= count, 2 * x, 0))
        gradient = xs.grad(lambda x, c=count: jnp.sum(jnp.partition(x, -c)[-c:] ** 2))(x)
        np.testing.assert_array_equal(gradient, np.where(x >= 64 - count, 2 * x, 0))
