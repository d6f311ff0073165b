"""Padding of arrays, in all of NumPy's modes."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from ..dtypes import cast_on_host, dtype_kind
from ..operations import slicing
from ..operations.complex_numbers import real_dtype
from ..operations.conversion import to_dtype
from ..operations.shapes import broadcasted_iota, reshape
from ..operations.slicing import concatenate, slice_in_dim
from ..trace.trace_cache import cache_trace
from ..trace.values import aval_of
from . import quantiles, reductions, ufuncs
from .creation import asarray
from .jit_wrapped import jit_wrapped
from .promotion import as_dtype, promote_inexact
from .repeating import flip, take_static
from .shaping import broadcast_to, moveaxis, shape_of

PadWidths = tuple[tuple[int, int], ...]

#: The arguments of each mode, with their defaults.
_OPTIONS: dict[str, dict[str, Any]] = {
    "constant": {"constant_values": 0},
    "empty": {},
    "edge": {},
    "wrap": {},
    "reflect": {"reflect_type": "even"},
    "symmetric": {"reflect_type": "even"},
    "linear_ramp": {"end_values": 0},
    "maximum": {"stat_length": None},
    "minimum": {"stat_length": None},
    "mean": {"stat_length": None},
    "median": {"stat_length": None},
}
#: Wider padding exceeds any memory.
_MAX_PAD_WIDTH = 2**62


@cache_trace
def pad(array: Any, pad_width: Any, mode: str | Callable[..., Any] = "constant", **kwargs: Any) -> Any:
    """Return the array padded: ``pad_width`` is a number, a (before, after) pair, or one pair per axis.

    Modes are constant (with ``constant_values``), edge, wrap, reflect and symmetric (with ``reflect_type`` even
    or odd), linear_ramp (to ``end_values``), maximum, minimum, mean and median (of the ``stat_length`` elements
    next to the edge, or all), empty (zeros), or a function of each padded vector, its widths, axis and
    ``kwargs``, that returns the vector.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.pad(jnp.arange(1, 3), (1, 2)), jnp.pad(jnp.arange(1, 3), 2, "linear_ramp"))
    [0 1 2 0 0] [0 0 1 2 1 0]
    """
    pairs = _to_pad_widths(pad_width, len(shape_of(array)))
    if callable(mode):
        return _pad_by_function(array, pairs, mode, kwargs)
    options = _mode_options(mode, kwargs)
    if mode in ("constant", "empty"):
        return _pad_constant(array, pairs, options.get("constant_values", 0))
    if not pairs:
        return slicing.pad(array, as_dtype(0, aval_of(array).dtype), ())
    _require_elements(array, pairs, mode)
    if mode == "linear_ramp":
        return _pad_ramp(array, asarray(options["end_values"]), pairs=pairs)
    if "stat_length" in options:
        return _pad_statistic(array, pairs=pairs, lengths=_stat_lengths(options["stat_length"], pairs), mode=mode)
    return _pad_from_elements(array, pairs=pairs, mode=mode, odd=_is_odd(options.get("reflect_type", "even")))


def _mode_options(mode: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(mode, str) or mode not in _OPTIONS:
        kind = NotImplementedError if isinstance(mode, Hashable) else TypeError
        raise kind(f"pad takes mode as one of {', '.join(_OPTIONS)}, or a function; got {mode!r}")
    for name in arguments:
        if name not in _OPTIONS[mode]:
            raise ValueError(f"pad with mode={mode!r} takes no argument {name}")
    return {**_OPTIONS[mode], **arguments}


def _to_pad_widths(widths: Any, rank: int) -> PadWidths:
    """Return the numbers of elements to add before and after, for each of ``rank`` axes.

    ``widths`` is the ``pad_width`` of the user. Raises TypeError for anything but integers, ValueError for other
    shapes and for negative widths.
    """
    if widths.__class__ is int and 0 <= widths <= _MAX_PAD_WIDTH:
        return ((widths, widths),) * rank
    try:
        table = np.asarray(widths)
        is_valid = (table.dtype.kind in "iu" or not table.size) and not isinstance(widths, dict)
    except ValueError:
        is_valid = False
    if not is_valid:
        raise TypeError(f"pad takes pad_width as integers: one, a pair, or a pair for each axis; got {widths!r}")
    if table.shape not in ((), (1,), (2,), (1, 1), (1, 2), (rank, 1), (rank, 2)):
        raise ValueError(f"pad takes pad_width as one number, a pair, or {rank} pairs; got shape {table.shape}")
    if rank and ((table < 0).any() or (table > _MAX_PAD_WIDTH).any()):
        raise ValueError(f"pad takes widths from 0 on, as many as a memory holds; got {widths!r}")
    return tuple((int(low), int(high)) for low, high in np.broadcast_to(table, (rank, 2)))


def _require_elements(array: Any, pairs: PadWidths, mode: str) -> None:
    """Raise ValueError if ``mode`` pads an axis from its elements and there are none; ``pairs`` are the widths."""
    for axis, (size, pair) in enumerate(zip(shape_of(array), pairs, strict=True)):
        if not size and (any(pair) or mode in ("maximum", "minimum")) and mode != "mean":
            raise ValueError(f"pad with mode={mode!r}: axis {axis} has no elements to go on from")


def _pad_constant(array: Any, pairs: PadWidths, values: Any) -> Any:
    """Pad with constants: ``values`` is one, a (before, after) pair, or one pair for each axis."""
    dtype, weak = aval_of(array).dtype, aval_of(array).weak_type
    if not isinstance(values, (list, tuple)) and not shape_of(values):
        padded = slicing.pad(array, as_dtype(values, dtype), [(low, high, 0) for low, high in pairs])
        return to_dtype(padded, dtype, True) if weak else padded
    table = _value_pairs(values, len(pairs), "constant_values")
    for axis, ((low, high), (before, after)) in enumerate(zip(pairs, table, strict=True)):
        config = [(0, 0, 0)] * len(pairs)
        for value, triple in ((before, (low, 0, 0)), (after, (0, high, 0))):
            config[axis] = triple
            array = slicing.pad(array, cast_on_host(value, dtype)[()], config)
    return array


def _value_pairs(values: Any, rank: int, name: str) -> np.ndarray[Any, Any]:
    """Return ``values`` broadcast to the shape (rank, 2): one before and one after for each axis.

    ``name`` is the argument in the ValueError for other shapes.
    """
    array = np.asarray(values)
    try:
        return np.broadcast_to(array, (rank, 2))
    except ValueError:
        raise ValueError(f"pad takes {name} as one value, a pair, or {rank} pairs; got shape {array.shape}") from None


# Padding by elements------------------------------------------------------------------------------------------------


def _is_odd(kind: Any) -> bool:
    if kind not in ("even", "odd"):
        raise ValueError(f'pad takes reflect_type as "even" or "odd", got {kind!r}')
    return bool(kind == "odd")


@jit_wrapped("pairs", "mode", "odd")
def _pad_from_elements(array: Any, pairs: PadWidths, mode: str, odd: bool) -> Any:
    """Pad with copies of elements, in the modes edge, wrap, reflect and symmetric.

    ``odd`` reflects the values about that of the edge as well.
    """
    for axis, (low, high) in enumerate(pairs):
        if not (low or high):
            continue
        if odd:
            behind = flip(_extrapolate_before(flip(array, axis), axis, mode, high), axis)
            array = concatenate([_extrapolate_before(array, axis, mode, low), array, behind], axis)
        else:
            indices = np.pad(np.arange(shape_of(array)[axis]), (low, high), mode=mode)  # type: ignore[call-overload]
            array = take_static(array, axis, indices)
    return array


def _extrapolate_before(array: Any, axis: int, mode: str, count: int) -> Any:
    """Return ``count`` elements before the first, by repeated point reflection about the edge element.

    In ``mode`` "reflect" the edge element itself is not repeated, in "symmetric" it is.
    """
    extended = array
    offset = 1 if mode == "reflect" and shape_of(array)[axis] > 1 else 0
    while (added := shape_of(extended)[axis] - shape_of(array)[axis]) < count:
        step = min(count - added, shape_of(extended)[axis] - offset)
        edge = slice_in_dim(extended, 0, 1, axis)
        mirrored = flip(slice_in_dim(extended, offset, offset + step, axis), axis)
        extended = concatenate([ufuncs.subtract(ufuncs.multiply(edge, 2), mirrored), extended], axis)
    return slice_in_dim(extended, 0, count, axis)


# Ramps and statistics -----------------------------------------------------------------------------------------------


@jit_wrapped("pairs")
def _pad_ramp(array: Any, end_values: Any, pairs: PadWidths) -> Any:
    ends = broadcast_to(end_values, (len(pairs), 2))
    for axis, (low, high) in enumerate(pairs):
        first = slice_in_dim(array, 0, 1, axis)
        last = slice_in_dim(array, shape_of(array)[axis] - 1, shape_of(array)[axis], axis)
        before = _ramp(ends[axis, 0], first, axis, low)
        behind = flip(_ramp(ends[axis, 1], last, axis, high), axis)
        array = _concatenate_padding(before, array, behind, axis)
    return array


def _ramp(end: Any, edge: Any, axis: int, count: int) -> Any:
    """Return ``count`` evenly spaced values from ``end`` to ``edge``, exclusive; integers are rounded down."""
    dtype = aval_of(edge).dtype
    wide = promote_inexact(edge)
    end = as_dtype(as_dtype(end, dtype), aval_of(wide).dtype)
    sizes = [count if i == axis else 1 for i in range(len(shape_of(edge)))]
    steps = reshape(broadcasted_iota(np.dtype("int32"), (count,), 0), sizes)
    part = ufuncs.true_divide(as_dtype(steps, real_dtype(aval_of(wide).dtype)), max(1, count))
    values = ufuncs.add(end, ufuncs.multiply(ufuncs.subtract(wide, end), part))
    return as_dtype(ufuncs.floor(values) if dtype_kind(dtype) in "iu" else values, dtype)


def _concatenate_padding(before: Any, array: Any, behind: Any, axis: int) -> Any:
    dtype, weak = aval_of(array).dtype, aval_of(array).weak_type
    padded = concatenate([as_dtype(x, dtype) for x in (before, array, behind)], axis)
    return to_dtype(padded, dtype, True) if weak else padded


def _stat_lengths(stat_length: Any, pairs: PadWidths) -> PadWidths | None:
    if stat_length is None:
        return None
    table = _value_pairs(stat_length, len(pairs), "stat_length")
    if table.dtype.kind not in "iu" or (table < 1).any():
        raise ValueError(f"pad takes stat_length as integers from 1 on, got {stat_length!r}")
    return tuple((int(low), int(high)) for low, high in table)


@jit_wrapped("pairs", "lengths", "mode")
def _pad_statistic(array: Any, pairs: PadWidths, lengths: PadWidths | None, mode: str) -> Any:
    for axis, (low, high) in enumerate(pairs):
        size = shape_of(array)[axis]
        first, second = (size, size) if lengths is None else (min(n, size) for n in lengths[axis])
        before = _statistic(slice_in_dim(array, 0, first, axis), axis, mode, low)
        behind = _statistic(slice_in_dim(array, size - second, size, axis), axis, mode, high)
        array = _concatenate_padding(before, array, behind, axis)
    return array


def _statistic(part: Any, axis: int, mode: str, count: int) -> Any:
    """Return a statistic of each vector along an axis, repeated ``count`` times; rounded for integers.

    ``part`` holds the vectors; ``mode`` is "maximum", "minimum", "mean" or "median".
    """
    functions: dict[str, Callable[..., Any]] = {
        "maximum": reductions.max,
        "minimum": reductions.min,
        "mean": reductions.mean,
        "median": quantiles.median,
    }
    statistic = functions[mode](part, axis, keepdims=True)
    if dtype_kind(aval_of(part).dtype) in "iu":
        statistic = ufuncs.rint(statistic)
    shape = shape_of(part)
    return broadcast_to(as_dtype(statistic, aval_of(part).dtype), (*shape[:axis], count, *shape[axis + 1 :]))


def _pad_by_function(array: Any, pairs: PadWidths, function: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
    """Pad with zeros, then replace each vector along each axis by ``function(vector, widths, axis, kwargs)``."""
    padded = _pad_constant(array, pairs, 0)
    for axis, pair in enumerate(pairs):
        axis_last = moveaxis(padded, axis, -1)
        shape = shape_of(axis_last)
        rows = reshape(axis_last, (math.prod(shape[:-1]), shape[-1]))
        outs = [function(rows[i], pair, axis, kwargs) for i in range(shape_of(rows)[0])]
        if outs:
            padded = moveaxis(reshape(concatenate([reshape(row, (1, shape[-1])) for row in outs], 0), shape), -1, axis)
    return padded
