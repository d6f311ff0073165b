"""Shapes, slices, indices, sorting: what moves elements about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .... import lax
from .... import numpy as jnp
from .row import NUMBERS, WHOLE, Case, apart, exactly, index, real, row, truth

_ROWS = exactly([[2], [0]], "int32")


def shape_cases() -> Iterator[Case]:
    """Yield reshapes, transposes, concatenations, padding, slices."""
    cube = real(2, 3, 4)
    yield from row("reshape", lambda x: x.reshape(4, 6), cube, oracle=lambda x: x.reshape(4, 6))
    yield from row(
        "transpose", lambda x: x.transpose(2, 0, 1), cube, dtypes=NUMBERS, oracle=lambda x: x.transpose(2, 0, 1)
    )
    yield from row("broadcast", lambda x: jnp.broadcast_to(x, (2, 3, 4)), real(3, 1), dtypes=NUMBERS)
    yield from row("squeeze", lambda x: jnp.squeeze(x, 1), real(2, 1, 3))
    yield from row("concatenate", lambda x, y: jnp.concatenate([x, y], 1), real(2, 1), real(2, 3), dtypes=NUMBERS)
    yield from row("split", lambda x: jnp.split(x, [1, 3], 1), real(2, 5))
    yield from row("pad", lambda x: jnp.pad(x, ((1, 2), (0, 1))), real(3, 2), dtypes=("float32", "int32"))
    yield from row("pad inside", lambda x: lax.pad(x, jnp.zeros((), x.dtype), ((1, -1, 2), (0, 0, 1))), real(3, 2))
    yield from row("reverse", lambda x: x[::-1, :, ::-1], cube, dtypes=NUMBERS, oracle=lambda x: x[::-1, :, ::-1])
    yield from row("slice", lambda x: x[1:4:2, :2], real(5, 3), oracle=lambda x: x[1:4:2, :2])
    yield from row("roll", lambda x: jnp.roll(x, 2, 0), real(5, 3), oracle=lambda x: np.roll(x, 2, 0))
    yield from row("tile", lambda x: jnp.tile(x, (2, 3)), real(2, 3), oracle=lambda x: np.tile(x, (2, 3)))
    yield from row("iota", lambda: (jnp.arange(7), jnp.arange(6.0).reshape(2, 3), jnp.eye(3)))
    yield from row("triangles", lambda x: (jnp.tril(x), jnp.triu(x, 1)), real(4, 4))
    yield from row("no elements", lambda x: (jnp.sum(x, 0), x.reshape(3, 0), jnp.concatenate([x, x])), real(0, 3))


def indexing_cases() -> Iterator[Case]:
    """Yield gathers, scatters and dynamic slices."""
    table, updates = real(4, 3), real(2, 3)
    yield from row("dynamic slice", lambda x, i: lax.dynamic_slice(x, (i, 1), (2, 2)), table, index(high=3))
    update = lambda x, y, i: lax.dynamic_update_slice(x, y, (i, 0))  # noqa: E731
    yield from row("dynamic update", update, table, updates, index(high=3), dtypes=NUMBERS)
    yield from row("gather rows", lambda x, i: x[i], table, index(5, high=3), dtypes=NUMBERS, oracle=lambda x, i: x[i])
    yield from row("gather pairs", lambda x, i, j: x[i, j], table, index(5, high=3), index(5, high=2))
    along = lambda x, i: jnp.take_along_axis(x, i, 1)  # noqa: E731
    yield from row("gather along", along, table, index(4, 2, high=2), oracle=lambda x, i: np.take_along_axis(x, i, 1))
    yield from row("gather outside", lambda x: jnp.take(x, np.array([9, -9, 1]), 0, mode="fill"), table, derive=False)
    for name in ("set", "add", "multiply", "min", "max"):
        once = lambda x, y, name=name: getattr(x.at[np.array([2, 0])], name)(y)  # noqa: E731
        dtypes = ("float32", "bfloat16", "int32") if name in ("set", "add") else ("float32",)
        yield from row(f"scatter {name}", once, table, updates, dtypes=dtypes)
    repeated = lambda x, y: x.at[np.array([1, 1])].add(y)  # noqa: E731
    yield from row("scatter add twice", repeated, table, updates)
    yield from row("scatter by index", lambda x, i, y: x.at[i].add(y), table, index(2, high=3), updates)
    yield from row("masked", lambda x, m: jnp.where(m, x, 0).sum(0), table, truth(4, 3))
    yield from row("searchsorted", lambda x, y: jnp.searchsorted(jnp.sort(x), y), real(9), real(4), derive=False)
    yield from row("bincount", lambda i: jnp.bincount(i, length=5), index(20, high=4), batch=False)


def sorting_cases() -> Iterator[Case]:
    """Yield sorts, the largest elements and cumulative operations."""
    mixed = apart(3, 8)
    yield from row("sort", lambda x: jnp.sort(x, 1), mixed, dtypes=("float32", "bfloat16", "int32"))
    yield from row("sort columns", lambda x: jnp.sort(x, 0), mixed, oracle=lambda x: np.sort(x, 0))
    yield from row("argsort", lambda x: jnp.argsort(x, 1), mixed, derive=False, oracle=lambda x: np.argsort(x, 1))
    yield from row("sort pairs", lambda x, y: lax.sort((x, y), num_keys=1), mixed, real(3, 8))
    yield from row("sort many", jnp.sort, real(3000), derive=False, oracle=np.sort)
    yield from row("top k", lambda x: lax.top_k(x, 3), mixed)
    yield from row("argmax, argmin", lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0)), mixed, derive=False)
    yield from row("cumsum", lambda x: jnp.cumsum(x, 1), real(3, 8), dtypes=NUMBERS, oracle=lambda x: np.cumsum(x, 1))
    yield from row("cumprod", lambda x: jnp.cumprod(x, 1), real(3, 5), oracle=lambda x: np.cumprod(x, 1))
    yield from row("cummax, cummin", lambda x: (lax.cummax(x, 1), lax.cummin(x, 0)), mixed)
    yield from row("cumlogsumexp", lambda x: lax.cumlogsumexp(x, axis=1), real(3, 8))
    yield from row("unique", lambda x: jnp.unique(x, size=4), index(9, high=3), batch=False)
    yield from row(
        "bytes", lambda x, y: (x + y, x // jnp.maximum(y, 1), x % jnp.maximum(y, 1)), *_bytes(), dtypes=WHOLE
    )


def _bytes() -> tuple[Any, Any]:
    return real(6, low=0, high=100), real(6, low=1, high=9)
