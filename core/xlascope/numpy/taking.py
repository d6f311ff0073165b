"""Indexing by an index array along an axis: ``take`` and ``take_along_axis``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import dtype_kind
from ..ir.avals import make_aval
from ..operations import indexing
from ..operations.conversion import to_dtype
from ..operations.indexing import gather
from ..operations.random_keys import fill_value_of
from ..operations.shapes import expand_dims, zeros_of
from ..trace.values import aval_of
from . import logic, ufuncs
from .axes import axis_of, reject_out
from .indexing import as_index, gather_elements, is_in_bounds, normalize_negative, stack_coordinates
from .jit_wrapped import jit_wrapped
from .promotion import as_dtype
from .shaping import broadcast_to, ravel, shape_of


@jit_wrapped("axis", "mode", "unique_indices", "indices_are_sorted")
def take(
    a: Any, indices: Any, axis: int | None = None, out: None = None, mode: str | None = None,
    unique_indices: bool = False, indices_are_sorted: bool = False, fill_value: Any = None,
) -> Any:  # fmt: skip
    """Return the elements at ``indices`` along an axis, or of the flattened array (None).

    Indices out of bounds give NaN or ``fill_value`` (``mode="fill"``, the default), the last element
    (``"clip"``), or wrap around (``"wrap"``).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.take(jnp.array([1.0, 2.0, 3.0]), jnp.array([2, -1, 5])))
    [ 3.  3. nan]
    """
    if out is not None:
        raise reject_out("take")
    if mode not in (None, "fill", "clip", "wrap", "raise"):
        raise ValueError(f'take takes mode as "fill", "clip" or "wrap", got {mode!r}')
    if aval_of(indices).size and dtype_kind(aval_of(indices).dtype) not in "biu":
        raise ValueError(f"take takes integer indices, got {aval_of(indices).dtype.name}; convert with astype(int)")
    return _take(a, indices, fill_value, axis=axis, mode=mode or "fill")


def _take(a: Any, indices: Any, fill_value: Any, axis: int | None, mode: str) -> Any:
    if axis is None:
        a, axis = ravel(a), 0
    axis = axis_of(axis, len(shape_of(a)))
    if mode == "raise":
        raise NotImplementedError('take with mode="raise": values cannot be looked at while tracing; use "fill"')
    size = shape_of(a)[axis]
    if not size:
        return _take_from_empty_axis(a, indices, axis)
    normalized = _normalize_indices(indices, size, mode)
    elements = gather_elements(a, stack_coordinates([normalized]), (axis,), axis)
    if mode != "fill":
        return elements
    in_bounds = is_in_bounds(indices, size)
    trailing_count = len(shape_of(a)) - axis - 1
    mask = expand_dims(in_bounds, tuple(range(len(shape_of(in_bounds)), len(shape_of(in_bounds)) + trailing_count)))
    return _fill_out_of_bounds(elements, mask, fill_value)


def _take_from_empty_axis(a: Any, indices: Any, axis: int) -> Any:
    """Return an empty result of ``take`` along an axis of size 0; raise IndexError if there are indices."""
    shape = shape_of(a)
    if aval_of(indices).size:
        raise IndexError(f"take along axis {axis} of shape {shape}, which has no elements")
    return zeros_of(make_aval((*shape[:axis], *shape_of(indices), *shape[axis + 1 :]), aval_of(a).dtype))


def _normalize_indices(indices: Any, size: int, mode: str) -> Any:
    if mode == "wrap":
        return ufuncs.remainder(as_index(indices), size)
    if mode == "clip":
        return as_index(indices)
    return normalize_negative(indices, size)


def _fill_out_of_bounds(elements: Any, in_bounds: Any, fill_value: Any) -> Any:
    dtype = aval_of(elements).dtype
    value = fill_value_of(dtype) if fill_value is None else as_dtype(fill_value, dtype)
    result = logic.where(broadcast_to(in_bounds, shape_of(elements)), elements, value)
    return to_dtype(result, dtype, True) if aval_of(elements).weak_type else result


def take_along_axis(
    arr: Any, indices: Any, axis: int | None = -1, mode: Any = None, fill_value: Any = None,
    *, wrap_negative_indices: bool | None = None,
) -> Any:  # fmt: skip
    """Return the elements of ``arr`` at ``indices`` along ``axis``, matched by position along the other axes.

    For two axes and ``axis`` 0, element (i, j) of the result is ``arr[indices[i, j], j]``. Indices out of bounds
    give NaN or ``fill_value`` (``mode="fill"``, the default), are clipped (``"clip"``), wrap around (``"wrap"``),
    or are undefined (``"promise_in_bounds"``). Negative indices count from the end unless
    ``wrap_negative_indices`` is False, or is None with ``"promise_in_bounds"``.

    >>> import xlascope.numpy as jnp
    >>> x = jnp.array([[10, 20], [30, 40]])
    >>> print(jnp.take_along_axis(x, jnp.array([[1], [0]]), axis=1))
    [[20]
     [30]]
    """
    mode = "fill" if mode is None else getattr(mode, "value", mode)  # unwrap a member of GatherScatterMode
    mode = "fill" if mode == "drop" else mode
    if mode not in ("fill", "clip", "wrap", "promise_in_bounds"):
        raise ValueError(f'mode is "fill", "clip", "wrap" or "promise_in_bounds", got {mode!r}')
    wrap = mode != "promise_in_bounds" if wrap_negative_indices is None else bool(wrap_negative_indices)
    return _take_along_axis(arr, indices, fill_value, axis=axis, mode=mode, wrap=wrap)


@jit_wrapped("axis", "mode", "wrap")
def _take_along_axis(arr: Any, indices: Any, fill_value: Any, axis: int | None, mode: str, wrap: bool) -> Any:
    if axis is None:
        arr, indices, axis = ravel(arr), ravel(indices), 0
    shape, index_dims = shape_of(arr), shape_of(indices)
    if len(shape) != len(index_dims):
        raise ValueError(f"take_along_axis takes an array and indices of one rank, got shapes {shape} and {index_dims}")
    if dtype_kind(aval_of(indices).dtype) not in "iu":
        raise TypeError(f"take_along_axis takes integer indices, got {aval_of(indices).dtype.name}")
    axis = axis_of(axis, len(shape))
    lead = np.broadcast_shapes(*((*s[:axis], 1, *s[axis + 1 :]) for s in (shape, index_dims)))
    arr = broadcast_to(arr, (*lead[:axis], shape[axis], *lead[axis + 1 :]))
    indices = broadcast_to(indices, (*lead[:axis], index_dims[axis], *lead[axis + 1 :]))
    if not shape[axis]:
        return zeros_of(make_aval(shape_of(indices), aval_of(arr).dtype))
    # the other axes are batch axes of the gather, so they need no coordinates
    batch = tuple(i for i in range(len(shape)) if i != axis)
    numbers = indexing.GatherDimensionNumbers((), (axis,), (axis,), batch, batch)
    if mode == "wrap":
        indices = ufuncs.remainder(as_index(indices), shape[axis])
    elif wrap:
        indices = normalize_negative(indices, shape[axis])
    sizes = tuple(min(1, size) for size in shape_of(arr))
    elements = gather(arr, expand_dims(as_index(indices), (len(shape),)), numbers, sizes)
    return (
        _fill_out_of_bounds(elements, _is_in_bounds_nonnegative(indices, shape[axis]), fill_value)
        if mode == "fill"
        else elements
    )


def _is_in_bounds_nonnegative(indices: Any, size: int) -> Any:
    """Return the mask of the indices with ``0 <= i < size``."""
    below = logic.less(indices, size)
    return (
        below
        if dtype_kind(aval_of(indices).dtype) == "u"
        else logic.logical_and(logic.greater_equal(indices, 0), below)
    )
