"""Histograms of several variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..trace.values import aval_of
from . import logic, reductions, searching, ufuncs
from .axes import is_several
from .calculus import diff
from .creation import asarray
from .index_construction import ravel_multi_index
from .jit_wrapped import jit_wrapped
from .joining import stack, unstack
from .promotion import as_dtype, promote_dtypes, promote_inexact
from .selection import bincount
from .shaping import ravel, reshape, shape_of, transpose
from .statistics import histogram_bin_edges


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None
) -> tuple[Any, Any, Any]:
    """Return the number (or total weight) of points in each rectangle, and the edges along x and along y.

    ``x`` and ``y`` hold the points' coordinates along one axis. ``bins`` is a number of intervals for both, edges
    for both, or a list of two such; ``range`` the ends for both, ((from, to), (from, to)). The counts have the
    shape (along x, along y): integers, or with weights floats. Raises ValueError for coordinates of different
    sizes.

    >>> import xlascope.numpy as jnp
    >>> counts, *_ = jnp.histogram2d(jnp.array([0.0, 1.0, 1.0]), jnp.array([0.0, 0.0, 1.0]), 2)
    >>> print(counts)
    [[1 0]
     [1 1]]
    """
    if len(shape_of(x)) != 1 or shape_of(x) != shape_of(y):
        raise ValueError(f"histogram2d takes x and y along one axis each, got shapes {shape_of(x)} and {shape_of(y)}")
    if not isinstance(bins, (list, tuple)) and len(shape_of(bins)) == 1 and shape_of(bins)[0] not in (1, 2):
        bins = [bins, bins]  # these edges serve both axes
    elif isinstance(bins, (list, tuple)) and len(bins) not in (1, 2):
        bins = [asarray(bins)] * 2
    sample = transpose(stack(list(promote_dtypes([x, y]))))
    counts, (first, second) = histogramdd(sample, bins, range, weights, density)
    return counts, first, second


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None
) -> tuple[Any, list[Any]]:
    """Return the number (or total weight) of points in each box of a grid, and the edges along each axis.

    ``sample`` has a row for each of N points and a column for each of D variables, or is a list of D arrays of N
    numbers. ``bins`` is a number of intervals for all variables, or a list of D numbers or arrays of edges;
    ``range`` a list of D pairs (from, to) or None; ``weights`` holds N numbers. With ``density`` counts are
    divided by their sum and the boxes' sizes. The counts have D axes. Raises ValueError for lists of other
    lengths.

    >>> import xlascope.numpy as jnp
    >>> counts, edges = jnp.histogramdd(jnp.array([[0.0], [1.0], [1.0]]), 2)
    >>> print(counts, *edges)
    [1 2] [0.  0.5 1. ]
    """
    if isinstance(sample, (list, tuple)):
        sample = transpose(stack([asarray(x) for x in sample]))
    if len(shape_of(sample)) != 2:
        raise ValueError(f"histogramdd takes a row for each point, got shape {shape_of(sample)}")
    point_count, variable_count = shape_of(sample)
    if weights is not None and shape_of(weights) != (point_count,):
        raise ValueError(f"weights has one number for each of the {point_count} points, got shape {shape_of(weights)}")
    specs = _per_variable(bins, variable_count, "bins")
    ends: Sequence[Any] = [None] * variable_count if range is None else range
    if len(ends) != variable_count:
        raise ValueError(f"range has a pair of ends for each of the {variable_count} variables, got {len(ends)}")
    x = promote_inexact(sample)
    columns = list(unstack(x, axis=1))
    edges = [histogram_bin_edges(column, splits, end) for column, splits, end in zip(columns, specs, ends, strict=True)]
    counts = _count_in_grid(columns, edges, weights)
    if density:
        counts = ufuncs.true_divide(counts, reductions.sum(counts))
        for axis, splits in enumerate(edges):
            width = reshape(diff(splits), tuple(-1 if i == axis else 1 for i, _ in enumerate(edges)))
            counts = ufuncs.true_divide(counts, width)
    return counts, edges


def _per_variable(bins: Any, count: int, name: str) -> list[Any]:
    if is_several(bins) or len(shape_of(bins)):
        entries = list(bins)
        if len(entries) != count:
            raise ValueError(f"{name} has a number or edges for each of the {count} variables, got {len(entries)}")
        return entries
    return [bins] * count


@jit_wrapped()
def _count_in_grid(columns: list[Any], edges: list[Any], weights: Any) -> Any:
    """Return the number, or total weight, of points in each box of a grid.

    ``columns`` has the coordinates of the points along each axis, ``edges`` the ascending edges of the boxes,
    ``weights`` one number for each point, or is None. Points outside the grid are counted in additional boxes,
    which are cut off.
    """
    bin_indices = []
    for x, axis_edges in zip(columns, edges, strict=True):
        bin_index = searching.searchsorted(axis_edges, x, side="right")
        bin_indices.append(logic.where(logic.equal(x, axis_edges[-1]), ufuncs.subtract(bin_index, 1), bin_index))
    sizes = tuple(shape_of(axis_edges)[0] + 1 for axis_edges in edges)
    flat = ravel_multi_index(tuple(bin_indices), sizes, mode="clip")
    amount = None if weights is None else as_dtype(weights, aval_of(promote_inexact(weights)).dtype)
    total = 1
    for size in sizes:
        total *= size
    counts = reshape(bincount(ravel(flat), amount, length=total), sizes)
    return counts[tuple(slice(1, -1) for _ in sizes)]
