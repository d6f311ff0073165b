"""Sorting."""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType
from typing import Any

import numpy as np

from ..dtypes import to_canonical_dtype
from ..ir.requested_dtypes import resolve_requested_dtype
from ..operations import sorting
from ..operations.shapes import broadcasted_iota, full
from .axes import axis_of, is_several
from .jit_wrapped import Conversion, jit_wrapped
from .repeating import flip
from .shaping import ravel, shape_of


def _reject_order(order: Any, name: str = "order") -> None:
    if order is not None:
        raise TypeError(f"order names the fields of structured arrays, of which there are none here; got {order!r}")


def _require_kind(kind: Any) -> None:
    if not (kind is None or isinstance(kind, str)):
        raise TypeError(f"kind is the name of a way to sort, which changes nothing here (see stable); got {kind!r}")


def _is_stable(stable: Any, name: str = "stable") -> bool:
    if stable is not None and not isinstance(stable, (bool, np.bool_)):
        raise TypeError(f"stable is True or False (equal elements keep their order, or may not), got {stable!r}")
    return bool(stable)


#: The number 1 is not True here.
_STABLE = Conversion(_is_stable, frozenset({NoneType, bool}))
_NO_ORDER = Conversion(_reject_order)


@jit_wrapped("axis", "kind", "descending", stable=_STABLE, order=_NO_ORDER)
def sort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Any:
    """Return the elements in ascending order along an axis (None: of the flattened array); NaN comes last.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.sort(jnp.array([3, 1, 2])))
    [1 2 3]
    """
    _require_kind(kind)
    _reject_order(order)
    return _sort(a, axis=axis, stable=_is_stable(stable), descending=bool(descending))


def _sort(a: Any, axis: int | None, stable: bool, descending: bool) -> Any:
    if axis is None:
        a, axis = ravel(a), 0
    axis = axis_of(axis, len(shape_of(a)))
    (result,) = sorting.sort([a], axis, stable)
    return flip(result, axis) if descending else result


@jit_wrapped("axis", "kind", "descending", "dtype", stable=_STABLE, order=_NO_ORDER)
def argsort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: Any = None,
) -> Any:
    """Return the indices that sort an array along an axis, as integers of ``dtype``; the sort is stable.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.argsort(jnp.array([3, 1, 2])))
    [1 2 0]
    """
    _require_kind(kind)
    _reject_order(order)
    requested = resolve_requested_dtype(int if dtype is None else dtype)
    return _argsort(a, axis=axis, stable=_is_stable(stable), descending=bool(descending), dtype=requested)


def _argsort(a: Any, axis: int | None, stable: bool, descending: bool, dtype: np.dtype[Any]) -> Any:
    if axis is None:
        a, axis = ravel(a), 0
    axis = axis_of(axis, len(shape_of(a)))
    indices = broadcasted_iota(dtype, shape_of(a), axis)
    if not descending or not stable:
        result = sorting.sort([a, indices], axis, stable)[1]
        return flip(result, axis) if descending else result
    # reverse the operands, so that equal elements keep their order when the result is reversed
    result = sorting.sort([flip(a, axis), flip(indices, axis)], axis, stable)[1]
    return flip(result, axis)


@jit_wrapped("axis")
def lexsort(keys: Sequence[Any], axis: int = -1) -> Any:
    """Return the indices that sort by the last key, then by the one before it, and so on."""
    if not is_several(keys):
        raise TypeError(f"lexsort takes keys in a list, or along an array's first axis; got {keys!r}")
    ordered_keys = list(keys)[::-1]
    if not ordered_keys:
        raise TypeError("lexsort takes at least one key, in a list or along an array's first axis; got none")
    if len({shape_of(key) for key in ordered_keys}) > 1:
        raise ValueError(f"lexsort takes keys of one shape, got {' and '.join(str(shape_of(key)) for key in keys)}")
    if not shape_of(ordered_keys[0]):  # scalar keys
        return full((), to_canonical_dtype(int).type(0))
    axis = axis_of(axis, len(shape_of(ordered_keys[0])))
    indices = broadcasted_iota(to_canonical_dtype(int), shape_of(ordered_keys[0]), axis)
    return sorting.sort([*ordered_keys, indices], axis, True, len(ordered_keys))[-1]
