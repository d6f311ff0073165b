"""Sums at the extremes of windows, written out in elementwise operations for compilers that are slow at them.

XLA for CPUs expands ``select_and_scatter`` to a windowed reduction of index arrays, as many as the operand has axes,
and a scatter. Here each window's first extreme is found by comparing strided slices, one for each place in a window.
Then each place takes what the windows over it give: along an axis with stride s these are ceil(w / s) windows, in which
it has a place that depends on its remainder by s alone. With an axis of each stride beside the axis of its windows all
of this is elementwise.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..ir.avals import ShapedArray
from ..ir.jaxpr import ClosedJaxpr
from ..trace.bind import bind, bind1
from ..trace.jaxpr_trace import stage
from .arithmetic import add
from .barriers import OptimizationBarrier
from .comparisons import eq, ge, le
from .constants import Constant
from .operand_values import typed_scalar
from .selection import select
from .shapes import broadcast_in_dim, full, reshape
from .slicing import pad
from .slicing import slice as slice_array

#: Windows with more places are left to the compiler: a program has operations for each place.
MAX_PLACES = 64
#: What no place of a window is numbered, for windows that do not exist and for places between windows.
_NO_WINDOW, _NO_PLACE = -2, -1


class Geometry(NamedTuple):
    """Windows over an operand without padding, by axis: their sizes, their strides, and how many there are."""

    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def reaches(self) -> tuple[int, ...]:
        """Return how many windows cover a place at most, along each axis."""
        return tuple(-(-size // stride) for size, stride in zip(self.sizes, self.strides, strict=True))

    @property
    def blocks(self) -> tuple[int, ...]:
        """Return how many strides the windows span along each axis."""
        return tuple(count + reach - 1 for count, reach in zip(self.counts, self.reaches, strict=True))


def is_fast(sizes: Sequence[int]) -> bool:
    """Return whether windows of these sizes are few enough operations when they are written out."""
    return math.prod(sizes) <= MAX_PLACES


@functools.lru_cache(maxsize=256)
def stage_scatter(
    source: ShapedArray, x: ShapedArray, sizes: tuple[int, ...], strides: tuple[int, ...], select_prim: str
) -> ClosedJaxpr:
    """Return the jaxpr of ``select_and_scatter_add`` without padding, for operands of these types.

    ``source`` has an element for each window of ``x``, ``select_prim`` is "ge" for maxima and "le" for minima.
    """
    windows = zip(sizes, strides, source.shape, strict=True)
    alone = [max(size, stride) if count == 1 else stride for size, stride, count in windows]
    geometry = Geometry(x.shape, sizes, tuple(alone), source.shape)

    def scatter_to_extremes(added: Any, operand: Any) -> list[Any]:
        chosen = _find_extremes(operand, geometry, ge if select_prim == "ge" else le)
        return [_sum_over_windows(added, chosen, geometry, source.dtype)]

    return stage(scatter_to_extremes, [source, x], "select_and_scatter_add")


def _find_extremes(x: Any, of: Geometry, keeps: Any) -> Any:
    """Return the number of the place of each window's first extreme, int8."""
    best = chosen = None
    for number, offset in enumerate(np.ndindex(of.sizes)):
        ends = [start + (n - 1) * stride + 1 for start, n, stride in zip(offset, of.counts, of.strides, strict=True)]
        candidate = slice_array(x, offset, ends, of.strides)
        if best is None:
            best, chosen = candidate, full(of.counts, np.int8(0))
        else:
            stays = keeps(best, candidate)
            best = select(stays, best, candidate)
            chosen = select(stays, chosen, full(of.counts, np.int8(number)))
    return chosen


def _sum_over_windows(added: Any, chosen: Any, of: Geometry, dtype: np.dtype[Any]) -> Any:
    """Return an array like the operand: at each place the sum of ``added`` of the windows that chose it."""
    rank = len(of.shape)
    spread = tuple(size for pair in zip(of.blocks, of.strides, strict=True) for size in pair)
    zero = typed_scalar(0, dtype)
    chosen, added = bind(OptimizationBarrier(), chosen, added)  # otherwise each place would compute both again
    total = None
    for before in itertools.product(*(range(reach - 1, -1, -1) for reach in of.reaches)):  # earlier windows first
        config = [(b, reach - 1 - b, 0) for b, reach in zip(before, of.reaches, strict=True)]
        windows = range(0, 2 * rank, 2)
        numbers = broadcast_in_dim(pad(chosen, typed_scalar(_NO_WINDOW, np.dtype(np.int8)), config), spread, windows)
        values = broadcast_in_dim(pad(added, zero, config), spread, windows)
        places = broadcast_in_dim(bind1(Constant(_places(of, before))), spread, range(1, 2 * rank, 2))
        term = select(eq(numbers, places), values, full(spread, zero))
        total = term if total is None else add(total, term)
    total = select(eq(total, zero), zero, total)  # -0 + -0: XLA's sums begin at 0
    # Joined with the reshaping, the axes of size s would be computed by divisions.
    total = bind1(OptimizationBarrier(), total)
    total = reshape(total, [blocks * stride for blocks, stride in zip(of.blocks, of.strides, strict=True)])
    ends = [
        (0, size - blocks * stride, 0) for size, blocks, stride in zip(of.shape, of.blocks, of.strides, strict=True)
    ]
    return pad(total, zero, ends)


def _places(of: Geometry, before: Sequence[int]) -> np.ndarray[Any, Any]:
    """Return the numbers that places have in the window so many windows ``before`` the first over them, by remainder.

    The array has the size of the stride along each axis; a place outside of that window has none.
    """
    number, inside = np.zeros((), np.int64), np.ones((), bool)
    for axis, (size, stride, b) in enumerate(zip(of.sizes, of.strides, before, strict=True)):
        shape = [1] * len(of.sizes)
        shape[axis] = stride
        offset = (stride * b + np.arange(stride)).reshape(shape)
        number, inside = number * size + offset, inside & (offset < size)
    return np.where(inside, number, _NO_PLACE).astype(np.int8)
