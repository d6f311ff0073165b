"""Elements and slices selected by a mask, and values written along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import dtype_kind
from ..operations import indexing, slicing
from ..operations.shapes import expand_dims
from ..trace.bind import bind1
from ..trace.values import aval_of
from . import logic
from .axes import axis_of, reject_out
from .creation import asarray
from .index_construction import nonzero, to_result_size
from .indexing import as_index, normalize_negative
from .jit_wrapped import jit_wrapped
from .promotion import as_dtype
from .shaping import broadcast_to, ravel, reshape, shape_of
from .taking import take


def compress(
    condition: Any, a: Any, axis: int | None = None, *, size: int | None = None, fill_value: Any = 0, out: None = None
) -> Any:
    """Return the slices along an axis (None: the elements of the flattened array) at which ``condition`` holds.

    ``condition`` has one axis; if it is shorter than the axis of ``a``, the remaining slices are not selected.
    ``size`` is the number of slices, required while tracing: excess slices are dropped, missing ones hold
    ``fill_value``. Raises ValueError if the condition has more axes, or if the size exceeds the number of slices.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.compress(jnp.array([True, False, True]), jnp.array([1, 2, 3])))
    [1 3]
    """
    if out is not None:
        raise reject_out("compress")
    if isinstance(condition, (list, tuple)):
        condition = asarray(condition)
    mask = logic.to_bool(condition)
    if len(shape_of(mask)) != 1:
        raise ValueError(f"compress takes a condition with one axis, got shape {shape_of(mask)}")
    if shape_of(fill_value):
        raise ValueError(f"compress takes fill_value as one value, got one of shape {shape_of(fill_value)}")
    x, axis = (ravel(a), 0) if axis is None else (a, axis_of(axis, len(shape_of(a))))
    length, mask_length = shape_of(x)[axis], shape_of(mask)[0]
    if mask_length > length:
        excess, mask = slicing.slice_in_dim(mask, length, mask_length), slicing.slice_in_dim(mask, 0, length)
        _require_no_true_beyond(excess, length)
    if size is not None and to_result_size(size) > min(mask_length, length):
        raise ValueError(
            f"compress takes size as at most {min(mask_length, length)}, the slices that it may hold for; got {size}"
        )
    (positions,) = nonzero(mask, size=size, fill_value=length)
    if not length:
        return broadcast_to(
            as_dtype(fill_value, aval_of(x).dtype), _replace_size(shape_of(x), axis, shape_of(positions)[0])
        )
    if size is None:
        return take(x, positions, axis, mode="clip")
    slices = take(x, positions, axis, mode="clip")
    is_valid = reshape(
        logic.less(positions, length), _replace_size((1,) * len(shape_of(x)), axis, to_result_size(size))
    )
    return logic.where(is_valid, slices, as_dtype(fill_value, aval_of(x).dtype))


def _replace_size(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis + 1 :])


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """Return the elements of the flattened ``arr`` at which the flattened ``condition`` holds.

    ``size`` and ``fill_value`` are as for :func:`compress`.

    >>> import xlascope.numpy as jnp
    >>> x = jnp.arange(6).reshape(2, 3)
    >>> print(jnp.extract(x % 2 == 1, x))
    [1 3 5]
    """
    return compress(ravel(condition), arr, size=size, fill_value=fill_value)


def put_along_axis(
    arr: Any, indices: Any, values: Any, axis: int | None, inplace: bool = True, *, mode: str | None = None
) -> Any:
    """Return ``arr`` with ``values`` at the positions that ``indices`` gives along an axis (None: flattened).

    It is the inverse of :func:`take_along_axis`: ``indices`` has the rank of ``arr``, ``values`` broadcasts to
    the shape of ``indices``. Arrays are immutable, so ``inplace`` has to be False. Indices out of bounds are
    dropped, or with ``mode="clip"`` clipped. Raises ValueError for ``inplace=True`` and for ranks that differ.

    >>> import xlascope.numpy as jnp
    >>> x = jnp.zeros((2, 2))
    >>> print(jnp.put_along_axis(x, jnp.array([[1], [0]]), 5.0, axis=1, inplace=False))
    [[0. 5.]
     [5. 0.]]
    """
    if inplace:
        raise ValueError("put_along_axis gives a new array, since arrays do not change: say inplace=False")
    if mode not in (None, "clip", "drop", "fill", "promise_in_bounds"):
        raise ValueError(f'put_along_axis takes mode as "clip", "drop" or "fill", got {mode!r}')
    if dtype_kind(aval_of(indices).dtype) not in "iu":
        raise TypeError(f"put_along_axis takes integer indices, got {aval_of(indices).dtype.name}")
    return _put_along_axis(arr, indices, values, axis=axis, clip=mode == "clip")


@jit_wrapped("axis", "clip")
def _put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None, clip: bool) -> Any:
    """Return ``arr`` with ``values`` at the positions ``indices`` along an axis (None: flattened).

    ``clip`` clips indices out of bounds; otherwise they are dropped.
    """
    shape = shape_of(arr)
    if axis is None:
        return reshape(
            _put_along_axis(ravel(arr), ravel(indices), _ravel_unless_scalar(values), axis=0, clip=clip), shape
        )
    if len(shape_of(indices)) != len(shape):
        raise ValueError(
            f"put_along_axis takes an array and indices of one rank, got shapes {shape} and {shape_of(indices)}"
        )
    axis = axis_of(axis, len(shape))
    indices_shape = shape_of(indices)
    full_shape = _replace_size(shape, axis, indices_shape[axis])
    positions, new = broadcast_to(indices, full_shape), as_dtype(broadcast_to(values, full_shape), aval_of(arr).dtype)
    # the other axes are batch axes of the scatter, so they need no coordinates
    batch = tuple(i for i in range(len(shape)) if i != axis)
    numbers = indexing.ScatterDimensionNumbers((), (axis,), (axis,), batch, batch)
    coordinates = expand_dims(as_index(normalize_negative(positions, shape[axis])), (len(shape),))
    return bind1(indexing.Scatter(numbers, "clip" if clip else "drop"), arr, coordinates, new)


def _ravel_unless_scalar(values: Any) -> Any:
    return ravel(values) if shape_of(values) else values


def _require_no_true_beyond(excess: Any, length: int) -> None:
    values = excess.concrete() if hasattr(excess, "concrete") else excess
    if values is not None and np.asarray(values).any():
        raise ValueError(f"compress: the condition holds beyond the {length} slices that there are")
