"""Array creation from values and from shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ..dtypes import canonical, float0, kind_of
from ..ir.avals import laid, shaped
from ..ir.requested_dtypes import requested_dtype
from ..key_types import is_key
from ..operations.conversion import convert_element_type
from ..operations.out_shardings import lying_so, out_sharded
from ..operations.random_keys import random_wrap
from ..operations.shapes import broadcast_in_dim, expand_dims
from ..operations.values import typed_scalar
from ..trace.gate import PYTHON_SCALARS, described, opened
from ..trace.source import compose_message, here
from ..trace.tracer import Tracer
from ..trace.values import aval_of, is_value, not_an_array
from ..xla.arrays.key_array import KeyArray
from ..xla.arrays.transfers import put
from ..xla.devices.backend import ArrayImpl
from ..xla.devices.faces import is_ours
from . import joining, shaping
from .axes import whole_number
from .promotion import as_dtype, common_dtype, too_wide


@out_sharded
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
    requested = None if dtype is None else requested_dtype(dtype)
    if order is not None and (not isinstance(order, str) or order not in ("K", "A", "C", "F")):
        kind = ValueError if isinstance(order, str) else TypeError
        raise kind(f"order is 'K', 'A', 'C', 'F' or None (there is one order here), got {order!r}")
    result = _converted(object, requested, copy=bool(copy))
    if device is not None and not isinstance(result, Tracer):
        result = put(result, result.aval, device)
    missing = whole_number(ndmin, "ndmin") - len(result.shape)
    return expand_dims(result, tuple(range(missing))) if missing > 0 else result


@out_sharded
def asarray(
    a: Any, dtype: Any = None, order: str | None = None, *, copy: bool | None = None, device: Any = None
) -> Any:
    """Return an array like :func:`array`, but without copying an array of the right dtype."""
    return array(a, dtype, copy=bool(copy), order=order, device=device)


def _converted(x: Any, dtype: np.dtype[Any] | None, *, copy: bool) -> Any:
    if isinstance(x, Tracer):
        return x if dtype is None else convert_element_type(x, dtype)
    if is_ours(x):
        if dtype is not None and (x.dtype != dtype or x.weak_type):
            return convert_element_type(x, dtype)
        return _copied(x) if copy else x
    if x.__class__ is KeyArray:
        if dtype not in (None, x.dtype):
            raise TypeError(f"{x.aval.str_short()} cannot be converted to {dtype}: random.key_data has the words")
        return x.__copy__() if copy else x
    if isinstance(x, (list, tuple, range)):
        return _from_list(x, dtype)
    if not is_value(x):
        if getattr(x, "__jax_array__", None) is not None:
            return _converted(opened(x), dtype, copy=copy)
        x = _read(x)
    aval = aval_of(x)
    if aval.dtype == float0:
        return _without_elements(x, dtype)
    if x.__class__ in (float, complex) and dtype is not None:
        x = _number(x, dtype)
    return put(x, aval if dtype is None else shaped(aval.shape, dtype))


def _without_elements(x: Any, dtype: np.dtype[Any] | None) -> Any:
    """Return an array of float0, which holds no values and stays a NumPy array; reject other dtypes."""
    if dtype not in (None, float0):
        raise TypeError(f"an array of float0 holds no values, so it has none as {dtype}; write zeros(shape, {dtype})")
    return np.array(x)


def _number(x: float | complex, dtype: np.dtype[Any]) -> Any:
    """Cast a Python number for an array of ``dtype``; raise Python's error if the dtype cannot represent it."""
    kind = kind_of(dtype)
    if isinstance(x, complex) and kind in "iuf":
        raise TypeError(f"the complex number {x} is none of {dtype.name}{here()}: take its real part, or abs of it")
    if kind not in "iu":
        return x
    if not math.isfinite(x.real):
        kind_of_error = ValueError if math.isnan(x.real) else OverflowError
        raise kind_of_error(f"{x} is no number of {dtype.name}{here()}: choose a floating-point dtype")
    return int(x.real)


def _read(x: Any) -> Any:
    """Return the NumPy array of an object with ``__array__`` or a numeric buffer; raise TypeError for others."""
    if not hasattr(x, "__array__"):
        try:
            memoryview(x)
        except TypeError:
            raise not_an_array(x) from None
        if isinstance(x, bytes):
            raise not_an_array(x)
    return np.asarray(x)


def _copied(x: Any) -> Any:
    return put(np.asarray(x), x.aval, x.device if x._committed else None)


def _from_list(x: Sequence[Any], dtype: np.dtype[Any] | None) -> Any:
    x = _opened(x)
    leaves = list(_leaves(x))
    if not any(isinstance(leaf, (Tracer, KeyArray)) for leaf in leaves):
        return _from_values(x, leaves, dtype)
    avals = [aval_of(leaf) for leaf in leaves]
    if dtype is None and not any(is_key(aval.dtype) for aval in avals):
        dtype = common_dtype(avals)[0]
    return joining.stack([_as_element(part, dtype) for part in x], dtype=dtype)


def _as_element(x: Any, dtype: np.dtype[Any] | None) -> Any:
    """Convert a part of a list that holds tracers.

    Python numbers stay numbers: arrays would become arguments of the program.
    """
    if x.__class__ in PYTHON_SCALARS:
        return x if dtype is None else _fitting(_number(x, dtype) if x.__class__ in (float, complex) else x, dtype)
    if isinstance(x, (list, tuple)) and x and all(leaf.__class__ in PYTHON_SCALARS for leaf in _leaves(x)):
        return joining.stack([_as_element(part, dtype) for part in x], dtype=dtype)
    return _converted(x, dtype, copy=False)


def _fitting(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return a Python number; raise OverflowError if it is an int out of range for an integer dtype."""
    if x.__class__ is int and kind_of(dtype) in "iu":
        limits: Any = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
        if not limits.min <= x <= limits.max:
            raise too_wide(x, dtype)
    return x


def _from_values(x: Sequence[Any], leaves: list[Any], dtype: np.dtype[Any] | None) -> Any:
    """Return an array of nested lists of concrete values, with the dtype of the promotion lattice."""
    if dtype is None:
        dtype = common_dtype([aval_of(leaf) for leaf in leaves])[0] if leaves else canonical(float)
    try:
        value = np.array(x if not any(isinstance(leaf, ArrayImpl) for leaf in leaves) else _to_numpy(x))
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        said = f"the rows of these lists have different lengths. {str(error).partition('. ')[2]}"
        fix = "Rows have one length: pad them, keep a list of arrays, or join them and keep where each begins."
        raise ValueError(compose_message(said, fix)) from None
    if value.dtype.kind == "O":  # numbers that NumPy has no common type for: of ml_dtypes, or wider than 64 bits
        for leaf in leaves:
            aval_of(leaf)
        value = np.array(x, dtype)
    if dtype == float0:
        return _without_elements(value, dtype)
    if value.dtype.kind == "c" and kind_of(dtype) == "f" and value.size:
        _number(value.flat[0].item(), dtype)
    if kind_of(dtype) in "iu" and any(isinstance(leaf, (int, float, complex, np.number)) for leaf in leaves):
        _require_fit(value, dtype)
    return put(value, shaped(value.shape, dtype))


def _require_fit(value: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> None:
    if value.dtype == dtype or not value.size:
        return
    if value.dtype.kind in "fc":
        for number in (value.min().item(), value.max().item()):  # NaN, if there is one
            _number(number, dtype)
        value = np.trunc(value)
    limits: Any = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    lower, upper = limits.min, limits.max
    for bound in (int(value.min()), int(value.max())):
        if not lower <= bound <= upper:
            raise too_wide(bound, dtype)


def _opened(x: Any) -> Any:
    """Replace array-like objects in nested lists by arrays."""
    if isinstance(x, (list, tuple, range)):
        return [_opened(part) for part in x]
    return x if is_value(x) else np.asarray(x) if hasattr(x, "__array__") else opened(x)


def _leaves(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        for part in x:
            yield from _leaves(part)
    else:
        yield x


def _to_numpy(x: Any) -> Any:
    return [_to_numpy(part) for part in x] if isinstance(x, (list, tuple)) else np.asarray(x)


def _as(x: Any, dtype: np.dtype[Any] | None) -> Any:
    return x if dtype is None else convert_element_type(x, dtype)


def copy(a: Any, order: str | None = None) -> Any:
    """Return a copy of an array."""
    return array(a, copy=True, order=order)


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """Return the elements in another dtype (None: the default float).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.astype(jnp.array([1.7, -1.7]), int))
    [ 1 -1]
    """
    return convert_element_type(x, float if dtype is None else dtype)


# From a shape -------------------------------------------------------------------------------------------------------


def as_shape(shape: Any) -> tuple[int, ...]:
    """Return a shape from an integer or a sequence of integers; raise TypeError for a traced shape."""
    if isinstance(shape, (int, np.integer)):
        return (int(shape),)
    if isinstance(shape, Tracer) and not shape.shape:
        return (shape.__index__(),)
    try:
        sizes = tuple(size.__index__() for size in (shape if isinstance(shape, Sequence) else np.atleast_1d(shape)))
    except AttributeError:
        raise TypeError(f"a shape is made of integers, got {shape!r}") from None
    if any(size < 0 for size in sizes):
        raise ValueError(f"a shape has no negative sizes, got {sizes}")
    return sizes


def _filled(shape: Any, value: float, dtype: Any) -> Any:
    kind: Any = requested_dtype(float if dtype is None else dtype)
    if is_key(kind):
        return random_wrap(_filled((*as_shape(shape), kind.words), value, np.uint32), kind.implementation)
    return broadcast_in_dim(typed_scalar(value, kind), as_shape(shape), ())


@out_sharded
def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """Return an array of zeros.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.zeros((2, 2), int))
    [[0 0]
     [0 0]]
    """
    return _filled(shape, 0, dtype)


@out_sharded
def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """Return an array of ones."""
    return _filled(shape, 1, dtype)


empty = zeros


@out_sharded
def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """Return an array filled with ``fill_value``, which is broadcast to ``shape``."""
    sizes = as_shape(shape)
    value = fill_value if dtype is None else as_dtype(fill_value, requested_dtype(dtype))
    if isinstance(fill_value, (list, tuple)):
        raise not_an_array(fill_value)
    return shaping.broadcast_to(value, sizes) if aval_of(value).shape else broadcast_in_dim(value, sizes, ())


@out_sharded
def zeros_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Return zeros with the shape and dtype of ``a``."""
    return full_like(a, 0, dtype, shape)


@out_sharded
def ones_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Return ones with the shape and dtype of ``a``."""
    return full_like(a, 1, dtype, shape)


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Return zeros with the shape and dtype of ``prototype``: uninitialized memory is never exposed."""
    return zeros_like(prototype, dtype, shape, device=device)


@out_sharded
def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Return an array filled with one value, with the shape and dtype of ``a`` (or of a ShapeDtypeStruct).

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(jnp.full_like(xs.ShapeDtypeStruct((3,), jnp.float32), 2))
    [2. 2. 2.]
    """
    aval = described(a) or aval_of(a)
    sizes = aval.shape if shape is None else shape
    explicit = getattr(getattr(a, "aval", None), "explicit", None)
    if explicit is not None and sizes == aval.shape:
        return lying_so("full_like", explicit, full_like, (laid(aval, None), fill_value, dtype))
    if dtype is not None:
        return full(sizes, fill_value, dtype)
    if is_key(aval.dtype) and fill_value.__class__ is int:
        return _filled(sizes, fill_value, aval.dtype)
    value = as_dtype(fill_value, aval.dtype, aval.weak_type)
    value_aval = aval_of(value)
    weak = aval.weak_type and not value_aval.weak_type and not value_aval.shape
    return full(sizes, convert_element_type(value, aval.dtype, True) if weak else value)
