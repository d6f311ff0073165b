"""Sorting and searching, by every method, hold about as many numbers as they are given, in about log n steps."""

import math

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
