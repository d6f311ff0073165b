"""Array creation from values and from shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ..dtypes import dtype_kind, float0, to_canonical_dtype
from ..ir.avals import make_aval, with_explicit_sharding
from ..ir.requested_dtypes import resolve_requested_dtype
from ..key_types import is_key
from ..lax.device_argument import (
    fill_on_device,
    place_on_device,
    sharding_like,
    strengthen_if_placed,
    with_device,
)
from ..operations.conversion import convert_element_type, to_dtype
from ..operations.operand_values import typed_scalar
from ..operations.out_shardings import call_with_sharding, with_out_sharding
from ..operations.random_keys import random_wrap
from ..operations.shapes import expand_dims
from ..trace.operand_coercion import PYTHON_SCALARS, aval_from_attributes, unwrap_operand
from ..trace.source import compose_message, here
from ..trace.tracer import TracerBase
from ..trace.values import aval_of, invalid_operand_error, is_value
from ..xla.arrays.key_array import KeyArray
from ..xla.arrays.transfers import put_on_device
from ..xla.devices.array_patching import is_xlascope_array
from ..xla.devices.backend import ArrayImpl
from . import joining, shaping
from .axes import whole_number
from .promotion import as_dtype, common_dtype, integer_overflow_error


@with_out_sharding
def array(
    object: Any,
    dtype: Any = None,
    copy: bool | None = True,
    order: str | None = "K",
    ndmin: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Return an array with the values of a number, an array, or nested lists; a copy unless ``copy`` is False.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.array([[1, 2], [3, 4.5]]))
    [[1.  2. ]
     [3.  4.5]]
    """
    requested = None if dtype is None else resolve_requested_dtype(dtype)
    if order is not None and (not isinstance(order, str) or order not in ("K", "A", "C", "F")):
        kind = ValueError if isinstance(order, str) else TypeError
        raise kind(f"order is 'K', 'A', 'C', 'F' or None (there is one order here), got {order!r}")
    result = _convert(object, requested, copy=bool(copy))
    missing = whole_number(ndmin, "ndmin") - len(result.shape)
    return place_on_device(expand_dims(result, tuple(range(missing))) if missing > 0 else result, device)


@with_out_sharding
def asarray(
    a: Any, dtype: Any = None, order: str | None = None, *, copy: bool | None = None, device: Any = None
) -> Any:
    """Return an array like :func:`array`, but without copying an array of the right dtype."""
    return array(a, dtype, copy=bool(copy), order=order, device=device)


def _convert(x: Any, dtype: np.dtype[Any] | None, *, copy: bool) -> Any:
    """Return a number, an array, nested lists or an array-like object as an array or tracer.

    ``dtype`` None stands for the dtype of the values; ``copy`` says whether an array of the right dtype is
    copied.
    """
    if isinstance(x, TracerBase):
        return x if dtype is None else convert_element_type(x, dtype)
    if is_xlascope_array(x):
        if dtype is not None and (x.dtype != dtype or x.weak_type):
            return convert_element_type(x, dtype)
        return _copy_array(x) if copy else x
    if x.__class__ is KeyArray:
        if dtype not in (None, x.dtype):
            raise TypeError(f"{x.aval.str_short()} cannot be converted to {dtype}: random.key_data has the words")
        return x.__copy__() if copy else x
    if isinstance(x, (list, tuple, range)):
        return _array_from_list(x, dtype)
    if not is_value(x):
        if getattr(x, "__jax_array__", None) is not None:
            return _convert(unwrap_operand(x), dtype, copy=copy)
        x = _read_with_numpy(x)
    aval = aval_of(x)
    if aval.dtype == float0:
        return _float0_array(x, dtype)
    if x.__class__ in (float, complex) and dtype is not None:
        x = _cast_python_number(x, dtype)
    return put_on_device(x, aval if dtype is None else make_aval(aval.shape, dtype))


def _float0_array(x: Any, dtype: np.dtype[Any] | None) -> Any:
    """Return a NumPy array of float0, a dtype without values.

    Raises TypeError if ``dtype``, the requested dtype or None, is another one.
    """
    if dtype not in (None, float0):
        raise TypeError(f"an array of float0 holds no values, so it has none as {dtype}; write zeros(shape, {dtype})")
    return np.array(x)


def _cast_python_number(x: float | complex, dtype: np.dtype[Any]) -> Any:
    """Return a Python number converted to int for an integer ``dtype``, otherwise unchanged.

    Raises TypeError for a complex number and a real dtype, ValueError for NaN and OverflowError for infinity with
    an integer dtype.
    """
    kind = dtype_kind(dtype)
    if isinstance(x, complex) and kind in "iuf":
        raise TypeError(f"the complex number {x} is none of {dtype.name}{here()}: take its real part, or abs of it")
    if kind not in "iu":
        return x
    if not math.isfinite(x.real):
        kind_of_error = ValueError if math.isnan(x.real) else OverflowError
        raise kind_of_error(f"{x} is no number of {dtype.name}{here()}: choose a floating-point dtype")
    return int(x.real)


def _read_with_numpy(x: Any) -> Any:
    """Return the NumPy array of an object with ``__array__`` or a numeric buffer; raise TypeError for others."""
    if not hasattr(x, "__array__"):
        try:
            memoryview(x)
        except TypeError:
            raise invalid_operand_error(x) from None
        if isinstance(x, bytes):
            raise invalid_operand_error(x)
    return np.asarray(x)


def _copy_array(x: Any) -> Any:
    return put_on_device(np.asarray(x), x.aval, x.device if x._committed else None)


def _array_from_list(x: Sequence[Any], dtype: np.dtype[Any] | None) -> Any:
    x = _resolve_array_likes(x)
    leaves = list(_leaves(x))
    if not any(isinstance(leaf, (TracerBase, KeyArray)) for leaf in leaves):
        return _array_from_values(x, leaves, dtype)
    avals = [aval_of(leaf) for leaf in leaves]
    if dtype is None and not any(is_key(aval.dtype) for aval in avals):
        dtype = common_dtype(avals)[0]
    return joining.stack([_convert_element(part, dtype) for part in x], dtype=dtype)


def _convert_element(x: Any, dtype: np.dtype[Any] | None) -> Any:
    """Convert an element of a list that holds tracers, to ``dtype`` unless that is None.

    The element is a number, an array, or a nested list. Python numbers stay numbers: as arrays they would become
    arguments of the program.
    """
    if x.__class__ in PYTHON_SCALARS:
        return (
            x
            if dtype is None
            else _require_in_range(_cast_python_number(x, dtype) if x.__class__ in (float, complex) else x, dtype)
        )
    if isinstance(x, (list, tuple)) and x and all(leaf.__class__ in PYTHON_SCALARS for leaf in _leaves(x)):
        return joining.stack([_convert_element(part, dtype) for part in x], dtype=dtype)
    return _convert(x, dtype, copy=False)


def _require_in_range(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return a Python number; raise OverflowError for an int that does not fit an integer ``dtype``."""
    if x.__class__ is int and dtype_kind(dtype) in "iu":
        limits: Any = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
        if not limits.min <= x <= limits.max:
            raise integer_overflow_error(x, dtype)
    return x


def _array_from_values(x: Sequence[Any], leaves: list[Any], dtype: np.dtype[Any] | None) -> Any:
    """Return an array of nested lists of concrete values.

    ``leaves`` are the elements of ``x`` in a flat list; ``dtype`` None stands for their promoted dtype. Raises
    ValueError for rows of different lengths, OverflowError for numbers that do not fit an integer dtype.
    """
    if dtype is None:
        dtype = common_dtype([aval_of(leaf) for leaf in leaves])[0] if leaves else to_canonical_dtype(float)
    try:
        value = np.array(x if not any(isinstance(leaf, ArrayImpl) for leaf in leaves) else _to_numpy(x))
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        problem = f"the rows of these lists have different lengths. {str(error).partition('. ')[2]}"
        fix = "All rows need one length: pad them, keep a list of arrays, or join them and keep where each begins."
        raise ValueError(compose_message(problem, fix)) from None
    if value.dtype.kind == "O":  # numbers that NumPy has no common type for: of ml_dtypes, or wider than 64 bits
        for leaf in leaves:
            aval_of(leaf)
        value = np.array(x, dtype)
    if dtype == float0:
        return _float0_array(value, dtype)
    if value.dtype.kind == "c" and dtype_kind(dtype) == "f" and value.size:
        _cast_python_number(value.flat[0].item(), dtype)
    if dtype_kind(dtype) in "iu" and any(isinstance(leaf, (int, float, complex, np.number)) for leaf in leaves):
        _require_values_in_range(value, dtype)
    return put_on_device(value, make_aval(value.shape, dtype))


def _require_values_in_range(value: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> None:
    if value.dtype == dtype or not value.size:
        return
    if value.dtype.kind in "fc":
        for number in (value.min().item(), value.max().item()):  # NaN, if there is one
            _cast_python_number(number, dtype)
        value = np.trunc(value)
    limits: Any = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    lower, upper = limits.min, limits.max
    for bound in (int(value.min()), int(value.max())):
        if not lower <= bound <= upper:
            raise integer_overflow_error(bound, dtype)


def _resolve_array_likes(x: Any) -> Any:
    """Replace the objects with ``__array__`` or ``__jax_array__`` in nested lists by arrays."""
    if isinstance(x, (list, tuple, range)):
        return [_resolve_array_likes(part) for part in x]
    return x if is_value(x) else np.asarray(x) if hasattr(x, "__array__") else unwrap_operand(x)


def _leaves(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        for part in x:
            yield from _leaves(part)
    else:
        yield x


def _to_numpy(x: Any) -> Any:
    return [_to_numpy(part) for part in x] if isinstance(x, (list, tuple)) else np.asarray(x)


def _cast_unless_none(x: Any, dtype: np.dtype[Any] | None) -> Any:
    return x if dtype is None else convert_element_type(x, dtype)


def copy(a: Any, order: str | None = None) -> Any:
    """Return a copy of an array."""
    return array(a, copy=True, order=order)


@with_device
def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """Return the elements in another dtype (None: the default float).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.astype(jnp.array([1.7, -1.7]), int))
    [ 1 -1]
    """
    return convert_element_type(x, float if dtype is None else dtype)


# From a shape -------------------------------------------------------------------------------------------------------


def as_shape(shape: Any) -> tuple[int, ...]:
    """Return a shape from an integer or a sequence of integers.

    Raises TypeError for anything else, such as traced or negative sizes.
    """
    if isinstance(shape, (int, np.integer)):
        shape = (shape,)
    elif isinstance(shape, TracerBase) and not shape.shape:
        shape = (shape.__index__(),)
    try:
        sizes = tuple(size.__index__() for size in (shape if isinstance(shape, Sequence) else np.atleast_1d(shape)))
    except AttributeError:
        raise TypeError(f"a shape is made of integers, got {shape!r}") from None
    if any(size < 0 for size in sizes):
        raise TypeError(f"a shape has no negative sizes, got {sizes}")
    return sizes


def _fill(shape: Any, value: float, dtype: Any, device: Any = None) -> Any:
    kind: Any = resolve_requested_dtype(float if dtype is None else dtype)
    if is_key(kind):
        words = _fill((*as_shape(shape), kind.words), value, np.uint32)
        return place_on_device(random_wrap(words, kind.implementation), device)
    return fill_on_device(typed_scalar(value, kind), as_shape(shape), device)


@with_out_sharding
def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """Return an array of zeros, committed to ``device`` if that is given: a device or a sharding.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.zeros((2, 2), int))
    [[0 0]
     [0 0]]
    """
    if dtype == float0:
        return np.zeros(as_shape(shape), float0)
    return _fill(shape, 0, dtype, device)


@with_out_sharding
def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """Return an array of ones, committed to ``device`` if that is given: a device or a sharding."""
    return _fill(shape, 1, dtype, device)


empty = zeros


@with_out_sharding
def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """Return an array filled with ``fill_value``, which is broadcast to ``shape``.

    It is committed to ``device`` if that is given: a device or a sharding.
    """
    sizes = as_shape(shape)
    value = fill_value if dtype is None else as_dtype(fill_value, resolve_requested_dtype(dtype))
    if isinstance(fill_value, (list, tuple)):
        raise invalid_operand_error(fill_value)
    if aval_of(value).shape:
        return place_on_device(shaping.broadcast_to(value, sizes), device)
    return fill_on_device(strengthen_if_placed(value, device), sizes, device)


@with_out_sharding
def zeros_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Return zeros with the shape and dtype of ``a``."""
    return full_like(a, 0, dtype, shape, device=device)


@with_out_sharding
def ones_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Return ones with the shape and dtype of ``a``."""
    return full_like(a, 1, dtype, shape, device=device)


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Return zeros with the shape and dtype of ``prototype``: uninitialized memory is never exposed."""
    return zeros_like(prototype, dtype, shape, device=device)


@with_out_sharding
def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Return an array filled with one value, with the shape and dtype of ``a`` (or of a ShapeDtypeStruct).

    It lies where ``a`` lies if ``a`` is committed to one device, or with the same shape to several.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(jnp.full_like(xs.ShapeDtypeStruct((3,), jnp.float32), 2))
    [2. 2. 2.]
    """
    aval = aval_from_attributes(a) or aval_of(a)
    sizes = aval.shape if shape is None else as_shape(shape)
    explicit = getattr(getattr(a, "aval", None), "explicit", None)
    if explicit is not None and sizes == aval.shape and device is None:
        return call_with_sharding(
            "full_like", explicit, full_like, (with_explicit_sharding(aval, None), fill_value, dtype)
        )
    is_explicitly_placed = device is not None
    if not is_explicitly_placed:
        device = sharding_like(a, sizes)
    if dtype is not None:
        return full(sizes, fill_value, dtype, device=device)
    if aval.dtype == float0:
        return np.zeros(sizes, float0)
    if is_key(aval.dtype) and fill_value.__class__ in (int, float):
        return _fill(sizes, fill_value, aval.dtype, device)
    value = as_dtype(fill_value, aval.dtype, aval.weak_type)
    value_aval = aval_of(value)
    if value_aval.shape or not aval.weak_type or is_explicitly_placed:
        return full(sizes, value, device=device)
    return fill_on_device(value if value_aval.weak_type else to_dtype(value, aval.dtype, True), sizes, device)
