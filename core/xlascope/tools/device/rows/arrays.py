"""Test cases of data movement: shapes, slices, indices, sorting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .... import lax
from .... import numpy as jnp
from .row import INTEGERS, NUMBERS, Case, booleans, cases_of, constant, distinct, indices, uniform

_ROWS = constant([[2], [0]], "int32")


def shape_cases() -> Iterator[Case]:
    """Yield test cases of reshapes, transposes, concatenations, padding and slices."""
    cube = uniform(2, 3, 4)
    yield from cases_of("reshape", lambda x: x.reshape(4, 6), cube, oracle=lambda x: x.reshape(4, 6))
    yield from cases_of(
        "transpose", lambda x: x.transpose(2, 0, 1), cube, dtypes=NUMBERS, oracle=lambda x: x.transpose(2, 0, 1)
    )
    yield from cases_of("broadcast", lambda x: jnp.broadcast_to(x, (2, 3, 4)), uniform(3, 1), dtypes=NUMBERS)
    yield from cases_of("squeeze", lambda x: jnp.squeeze(x, 1), uniform(2, 1, 3))
    yield from cases_of(
        "concatenate", lambda x, y: jnp.concatenate([x, y], 1), uniform(2, 1), uniform(2, 3), dtypes=NUMBERS
    )
    yield from cases_of("split", lambda x: jnp.split(x, [1, 3], 1), uniform(2, 5))
    yield from cases_of("pad", lambda x: jnp.pad(x, ((1, 2), (0, 1))), uniform(3, 2), dtypes=("float32", "int32"))
    yield from cases_of(
        "pad inside", lambda x: lax.pad(x, jnp.zeros((), x.dtype), ((1, -1, 2), (0, 0, 1))), uniform(3, 2)
    )
    yield from cases_of("reverse", lambda x: x[::-1, :, ::-1], cube, dtypes=NUMBERS, oracle=lambda x: x[::-1, :, ::-1])
    yield from cases_of("slice", lambda x: x[1:4:2, :2], uniform(5, 3), oracle=lambda x: x[1:4:2, :2])
    yield from cases_of("roll", lambda x: jnp.roll(x, 2, 0), uniform(5, 3), oracle=lambda x: np.roll(x, 2, 0))
    yield from cases_of("tile", lambda x: jnp.tile(x, (2, 3)), uniform(2, 3), oracle=lambda x: np.tile(x, (2, 3)))
    yield from cases_of("iota", lambda: (jnp.arange(7), jnp.arange(6.0).reshape(2, 3), jnp.eye(3)))
    yield from cases_of("triangles", lambda x: (jnp.tril(x), jnp.triu(x, 1)), uniform(4, 4))
    yield from cases_of(
        "no elements", lambda x: (jnp.sum(x, 0), x.reshape(3, 0), jnp.concatenate([x, x])), uniform(0, 3)
    )


def indexing_cases() -> Iterator[Case]:
    """Yield test cases of gathers, scatters and dynamic slices."""
    table, updates = uniform(4, 3), uniform(2, 3)
    yield from cases_of("dynamic slice", lambda x, i: lax.dynamic_slice(x, (i, 1), (2, 2)), table, indices(high=3))
    update = lambda x, y, i: lax.dynamic_update_slice(x, y, (i, 0))  # noqa: E731
    yield from cases_of("dynamic update", update, table, updates, indices(high=3), dtypes=NUMBERS)
    yield from cases_of(
        "gather rows", lambda x, i: x[i], table, indices(5, high=3), dtypes=NUMBERS, oracle=lambda x, i: x[i]
    )
    yield from cases_of("gather pairs", lambda x, i, j: x[i, j], table, indices(5, high=3), indices(5, high=2))
    along = lambda x, i: jnp.take_along_axis(x, i, 1)  # noqa: E731
    yield from cases_of(
        "gather along", along, table, indices(4, 2, high=2), oracle=lambda x, i: np.take_along_axis(x, i, 1)
    )
    yield from cases_of(
        "gather outside", lambda x: jnp.take(x, np.array([9, -9, 1]), 0, mode="fill"), table, derive=False
    )
    for name in ("set", "add", "multiply", "min", "max"):
        once = lambda x, y, name=name: getattr(x.at[np.array([2, 0])], name)(y)  # noqa: E731
        dtypes = ("float32", "bfloat16", "int32") if name in ("set", "add") else ("float32",)
        yield from cases_of(f"scatter {name}", once, table, updates, dtypes=dtypes)
    repeated = lambda x, y: x.at[np.array([1, 1])].add(y)  # noqa: E731
    yield from cases_of("scatter add twice", repeated, table, updates)
    yield from cases_of("scatter by index", lambda x, i, y: x.at[i].add(y), table, indices(2, high=3), updates)
    yield from cases_of("masked", lambda x, m: jnp.where(m, x, 0).sum(0), table, booleans(4, 3))
    yield from cases_of(
        "searchsorted", lambda x, y: jnp.searchsorted(jnp.sort(x), y), uniform(9), uniform(4), derive=False
    )
    yield from cases_of("bincount", lambda i: jnp.bincount(i, length=5), indices(20, high=4), batch=False)


def sorting_cases() -> Iterator[Case]:
    """Yield test cases of sorts, largest elements and cumulative operations."""
    mixed = distinct(3, 8)
    yield from cases_of("sort", lambda x: jnp.sort(x, 1), mixed, dtypes=("float32", "bfloat16", "int32"))
    yield from cases_of("sort columns", lambda x: jnp.sort(x, 0), mixed, oracle=lambda x: np.sort(x, 0))
    yield from cases_of("argsort", lambda x: jnp.argsort(x, 1), mixed, derive=False, oracle=lambda x: np.argsort(x, 1))
    yield from cases_of("sort pairs", lambda x, y: lax.sort((x, y), num_keys=1), mixed, uniform(3, 8))
    yield from cases_of("sort many", jnp.sort, uniform(3000), derive=False, oracle=np.sort)
    yield from cases_of("top k", lambda x: lax.top_k(x, 3), mixed)
    yield from cases_of("argmax, argmin", lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0)), mixed, derive=False)
    yield from cases_of(
        "cumsum", lambda x: jnp.cumsum(x, 1), uniform(3, 8), dtypes=NUMBERS, oracle=lambda x: np.cumsum(x, 1)
    )
    yield from cases_of("cumprod", lambda x: jnp.cumprod(x, 1), uniform(3, 5), oracle=lambda x: np.cumprod(x, 1))
    yield from cases_of("cummax, cummin", lambda x: (lax.cummax(x, 1), lax.cummin(x, 0)), mixed)
    yield from cases_of("cumlogsumexp", lambda x: lax.cumlogsumexp(x, axis=1), uniform(3, 8))
    yield from cases_of("unique", lambda x: jnp.unique(x, size=4), indices(9, high=3), batch=False)
    yield from cases_of(
        "bytes", lambda x, y: (x + y, x // jnp.maximum(y, 1), x % jnp.maximum(y, 1)), *_bytes(), dtypes=INTEGERS
    )


def _bytes() -> tuple[Any, Any]:
    return uniform(6, low=0, high=100), uniform(6, low=1, high=9)
