"""Elements and slices chosen by a condition, and values put along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import kind_of
from ..operations import indexing, slicing
from ..operations.shapes import expand_dims
from ..trace.bind import bind1
from ..trace.values import aval_of
from . import logic
from .axes import axis_of, no_out
from .creation import asarray
from .indexing import as_index, from_behind
from .indexing_tools import nonzero, size_of
from .promotion import as_dtype
from .shaping import broadcast_to, ravel, reshape, shape_of
from .taking import take
from .together import together


def compress(
    condition: Any, a: Any, axis: int | None = None, *, size: int | None = None, fill_value: Any = 0, out: None = None
) -> Any:
    """The slices along an axis (None: the elements of the flattened array) for which ``condition`` holds.

    ``condition`` has one axis; it may be shorter than ``a``'s, where it does not hold. ``size`` says how many slices
    there are, where that is not known while tracing: what is over is left out, what is missing holds ``fill_value``.
    Raises ValueError for conditions of more axes, and for a
    larger size than there are slices.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.compress(jnp.array([True, False, True]), jnp.array([1, 2, 3])))
    [1 3]
    """
    if out is not None:
        raise no_out("compress")
    if isinstance(condition, (list, tuple)):
        condition = asarray(condition)
    holds = logic.truth(condition)
    if len(shape_of(holds)) != 1:
        raise ValueError(f"compress takes a condition with one axis, got shape {shape_of(holds)}")
    if shape_of(fill_value):
        raise ValueError(f"compress takes fill_value as one value, got one of shape {shape_of(fill_value)}")
    x, axis = (ravel(a), 0) if axis is None else (a, axis_of(axis, len(shape_of(a))))
    length, given = shape_of(x)[axis], shape_of(holds)[0]
    if given > length:
        beyond, holds = slicing.slice_in_dim(holds, length, given), slicing.slice_in_dim(holds, 0, length)
        _require_none(beyond, length)
    if size is not None and size_of(size) > min(given, length):
        raise ValueError(
            f"compress takes size as at most {min(given, length)}, the slices that it may hold for; got {size}"
        )
    (places,) = nonzero(holds, size=size, fill_value=length)
    if not length:
        return broadcast_to(as_dtype(fill_value, aval_of(x).dtype), _with(shape_of(x), axis, shape_of(places)[0]))
    if size is None:
        return take(x, places, axis, mode="clip")
    found = take(x, places, axis, mode="clip")
    inside = reshape(logic.less(places, length), _with((1,) * len(shape_of(x)), axis, size_of(size)))
    return logic.where(inside, found, as_dtype(fill_value, aval_of(x).dtype))


def _with(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis + 1 :])


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """The elements of ``arr``, flattened, at which ``condition``, flattened, holds.

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
    """``arr`` with ``values`` at the places that ``indices`` names along an axis (None: of the flattened array).

    It is the inverse of :func:`take_along_axis`: ``indices`` has the rank of ``arr``, ``values`` broadcasts to the
    shape of ``indices``. Arrays do not change, so ``inplace`` has to be False. Indices beyond the ends change nothing,
    or with ``mode="clip"`` the last element. Raises ValueError for ``inplace=True`` and for ranks that differ.

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
    if kind_of(aval_of(indices).dtype) not in "iu":
        raise TypeError(f"put_along_axis takes integer indices, got {aval_of(indices).dtype.name}")
    return _put(arr, indices, values, axis=axis, clip=mode == "clip")


@together("axis", "clip")
def _put(arr: Any, indices: Any, values: Any, axis: int | None, clip: bool) -> Any:
    shape = shape_of(arr)
    if axis is None:
        return reshape(_put(ravel(arr), ravel(indices), _flat(values), axis=0, clip=clip), shape)
    if len(shape_of(indices)) != len(shape):
        raise ValueError(
            f"put_along_axis takes an array and indices of one rank, got shapes {shape} and {shape_of(indices)}"
        )
    axis = axis_of(axis, len(shape))
    own = shape_of(indices)
    spread = _with(shape, axis, own[axis])
    places, new = broadcast_to(indices, spread), as_dtype(broadcast_to(values, spread), aval_of(arr).dtype)
    # the other axes are batch axes of the scatter: no coordinates have to be made for them
    batch = tuple(i for i in range(len(shape)) if i != axis)
    numbers = indexing.ScatterDimensionNumbers((), (axis,), (axis,), batch, batch)
    at = expand_dims(as_index(from_behind(places, shape[axis])), (len(shape),))
    return bind1(indexing.Scatter(numbers, "clip" if clip else "drop"), arr, at, new)


def _flat(values: Any) -> Any:
    return ravel(values) if shape_of(values) else values


def _require_none(beyond: Any, length: int) -> None:
    known = beyond.concrete() if hasattr(beyond, "concrete") else beyond
    if known is not None and np.asarray(known).any():
        raise ValueError(f"compress: the condition holds beyond the {length} slices that there are")
