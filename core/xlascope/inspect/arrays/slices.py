"""Two-dimensional slices of an array, reduced by blocks to as many cells as a screen has room for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from .array_statistics import float_magnitude
from .host_array import CHUNK_SIZE, HostArray, to_numbers

#: The largest numbers of rows and columns of cells that are sent, whatever is asked for.
MAX_ROWS, MAX_COLUMNS = 256, 512
#: Parts of complex numbers that can be shown.
ComplexPart = Literal["abs", "real", "imag"]


class SliceRequest(NamedTuple):
    """ArraySlice to show: its axes, the indices along all axes, a window, and the number of cells there is room for.

    ``rows`` and ``columns`` are axes, None where the slice has a single row or column. ``at`` has an index for each
    axis, of which those of the two axes are ignored. ``window`` is (first row, last row + 1, first column, last column
    + 1), None for all of it. ``room`` is (rows, columns) of cells; ``part`` that of complex numbers.
    """

    rows: int | None
    columns: int | None
    at: tuple[int, ...]
    window: tuple[int, int, int, int] | None = None
    room: tuple[int, int] = (MAX_ROWS, MAX_COLUMNS)
    part: ComplexPart = "abs"


class ArraySlice(NamedTuple):
    """ArraySlice of an array as cells, each an element or a block of them.

    ``size`` is that of the slice, ``window`` the part of it that is shown, ``block`` the number of rows and columns of
    elements that a cell stands for; the last blocks may be smaller. ``minimum``, ``maximum`` and ``mean`` are 2-D: of
    the finite elements of each block, NaN where it has none; of blocks of one element ``minimum`` is the elements
    themselves, NaN and infinity included, and the other two are None. ``nans`` and ``infs`` count those in each block,
    None where there are none in the window.
    """

    size: tuple[int, int]
    window: tuple[int, int, int, int]
    block: tuple[int, int]
    minimum: Any
    maximum: Any = None
    mean: Any = None
    nans: Any = None
    infs: Any = None


def read_slice(array: HostArray, request: SliceRequest) -> ArraySlice:
    """Return a slice of an array; what the request says beyond the array is moved into it.

    Elements are read once, in pieces. Raises ValueError for axes that the array has not.
    """
    axes = _check_axes(array, request)
    at = [min(max(0, index), size - 1) for index, size in zip(_pad(request.at, array), array.shape, strict=True)]
    rows, columns = (1 if axis is None else array.shape[axis] for axis in axes)
    window = _fit_window(request.window, rows, columns)
    height, width = window[1] - window[0], window[3] - window[2]
    if not height or not width or 0 in array.shape:
        return ArraySlice((rows, columns), window, (1, 1), np.zeros((0, 0), np.float32))
    room = [max(1, min(*pair)) for pair in zip(request.room, (MAX_ROWS, MAX_COLUMNS), strict=True)]
    block = -(-height // room[0]), -(-width // room[1])

    def read(row: slice, column: slice) -> Any:
        return _select_part(array, _read_window(array, axes, at, row, column), request.part)

    if block == (1, 1):
        return ArraySlice((rows, columns), window, block, read(slice(*window[:2]), slice(*window[2:])))
    reduced = [_reduce_rows(read, row, window, block) for row in range(window[0], window[1], block[0])]
    minimum, maximum, mean, nans, infs = (np.stack(columns) for columns in zip(*reduced, strict=True))
    return ArraySlice(
        (rows, columns),
        window,
        block,
        minimum,
        maximum,
        mean,
        nans.astype(np.uint32) if nans.any() else None,
        infs.astype(np.uint32) if infs.any() else None,
    )


def default_request(array: HostArray) -> SliceRequest:
    """Return the slice that is shown at first: the last two axes, at index 0 of all others."""
    count = len(array.shape)
    return SliceRequest(count - 2 if count > 1 else None, count - 1 if count else None, (0,) * count)


def _check_axes(array: HostArray, request: SliceRequest) -> tuple[int | None, int | None]:
    axes = request.rows, request.columns
    for axis in axes:
        if axis is not None and not 0 <= axis < len(array.shape):
            raise ValueError(f"the array has {len(array.shape)} axes, so there is no axis {axis}")
    if axes[0] is not None and axes[0] == axes[1]:
        raise ValueError(f"rows and columns are two different axes, got {axes[0]} for both")
    return axes


def _pad(at: Sequence[int], array: HostArray) -> list[int]:
    return [*at, *[0] * len(array.shape)][: len(array.shape)]


def _fit_window(window: tuple[int, int, int, int] | None, rows: int, columns: int) -> tuple[int, int, int, int]:
    if window is None:
        return 0, rows, 0, columns
    top, bottom, left, right = window
    top, left = min(max(0, top), max(0, rows - 1)), min(max(0, left), max(0, columns - 1))
    return top, min(rows, max(bottom, top + 1)), left, min(columns, max(right, left + 1))


def _read_window(
    array: HostArray, axes: tuple[int | None, int | None], at: Sequence[int], row: slice, column: slice
) -> Any:
    """Return a window of a slice as a 2-D array, a view where that is possible."""
    index: list[int | slice] = list(at)
    for axis, part in zip(axes, (row, column), strict=True):
        if axis is not None:
            index[axis] = part
    values = array.read(tuple(index))
    if axes[0] is not None and axes[1] is not None:
        return values.T if axes[0] > axes[1] else values
    return values.reshape(-1, 1) if axes[1] is None else values.reshape(1, -1)


def _select_part(array: HostArray, values: Any, part: ComplexPart) -> Any:
    """Return elements as real numbers."""
    if array.kind != "complex":
        return to_numbers(values)
    if part == "abs":
        return _bounded_magnitude(values)
    return values.real if part == "real" else values.imag


def _bounded_magnitude(values: Any) -> Any:
    """Return magnitudes of complex numbers; the largest float64 for those of finite numbers that are beyond it."""
    magnitude = float_magnitude(values)
    if magnitude.dtype.itemsize <= 8:
        return magnitude
    is_finite = np.isfinite(magnitude)
    return np.where(is_finite, np.minimum(magnitude, np.finfo(np.float64).max), magnitude).astype(np.float64)


def _reduce_rows(read: Any, first: int, window: tuple[int, int, int, int], block: tuple[int, int]) -> tuple[Any, ...]:
    """Return minimum, maximum, mean, and the numbers of NaN and infinity, of one row of blocks."""
    last = min(window[1], first + block[0])
    pieces = [_reduce_piece(read(slice(first, last), columns), block) for columns in _pieces(window, block)]
    return tuple(np.concatenate(parts) for parts in zip(*pieces, strict=True))


def _pieces(window: tuple[int, int, int, int], block: tuple[int, int]) -> Iterator[slice]:
    """Yield columns, in whole blocks, of which a row of blocks is read at once."""
    width = max(1, CHUNK_SIZE // (block[0] * block[1])) * block[1]
    for start in range(window[2], window[3], width):
        yield slice(start, min(window[3], start + width))


def _reduce_piece(values: Any, block: tuple[int, int]) -> tuple[Any, ...]:
    starts = np.arange(0, values.shape[1], block[1])
    counts = np.minimum(block[1], values.shape[1] - starts) * values.shape[0]
    numbers = values if values.dtype.kind != "b" else values.view(np.uint8)
    nans = infs = np.zeros(len(starts), np.int64)
    low = high = numbers
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        is_nan, is_finite = np.isnan(numbers), np.isfinite(numbers)
        nans = np.add.reduceat(is_nan.sum(0), starts)
        infs = counts - nans - np.add.reduceat(is_finite.sum(0), starts)
        counts = counts - nans - infs
        low, high = np.where(is_finite, numbers, np.inf), np.where(is_finite, numbers, -np.inf)
        numbers = np.where(is_finite, numbers, 0)
    minimum = np.minimum.reduceat(low.min(0), starts).astype(_block_dtype(values))
    maximum = np.maximum.reduceat(high.max(0), starts).astype(_block_dtype(values))
    total = np.add.reduceat(numbers.sum(0, dtype=np.float64), starts)
    empty = counts == 0
    mean = np.where(empty, np.nan, total / np.maximum(counts, 1)).astype(_block_dtype(values))
    minimum[empty] = maximum[empty] = np.nan
    return minimum, maximum, mean, nans, infs


def _block_dtype(values: Any) -> Any:
    """Return the dtype in which numbers about blocks are sent: float32 where it holds all elements exactly."""
    is_small = values.dtype.itemsize <= (4 if values.dtype.kind == "f" else 2)
    return np.dtype(np.float32 if is_small else np.float64)
