"""Queries about dtypes: promotion, casting, size and precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from .. import dtypes
from ..dtypes import to_canonical_dtype
from ..ir.requested_dtypes import resolve_requested_dtype
from ..settings import setting
from ..trace.array import Array
from ..trace.values import aval_of, is_value
from .axes import axes_of, sizes_of
from .creation import asarray
from .shaping import shape_of

_PYTHON_SCALAR_TYPES = (bool, int, float, complex)
ndarray = Array
finfo, iinfo = ml_dtypes.finfo, ml_dtypes.iinfo
issubdtype = dtypes.issubdtype


def _dtype_and_weak_type(x: Any) -> tuple[np.dtype[Any], bool]:
    """Return the dtype of an array, a scalar, a dtype or a Python type, and whether it is weakly typed."""
    if isinstance(x, type) and x in _PYTHON_SCALAR_TYPES:
        return to_canonical_dtype(x), x is not bool
    if isinstance(x, (str, type, np.dtype)):
        return to_canonical_dtype(x), False
    if isinstance(getattr(x, "dtype", None), np.dtype) and not is_value(x):  # such as ShapeDtypeStruct
        return to_canonical_dtype(x.dtype), bool(getattr(x, "weak_type", False))
    aval = aval_of(x)
    return aval.dtype, aval.weak_type


def result_type(*args: Any) -> np.dtype[Any]:
    """Return the promoted dtype of arrays, scalars and dtypes.

    >>> import xlascope.numpy as jnp
    >>> jnp.result_type(jnp.arange(3), 2.5), jnp.result_type("float16", 1.0)
    (dtype('float32'), dtype('float16'))
    """
    if not args:
        raise ValueError("result_type takes at least one argument")
    for x in args:
        if isinstance(x, (str, np.dtype)) or (isinstance(x, type) and x not in _PYTHON_SCALAR_TYPES):
            resolve_requested_dtype(x)  # warns if the dtype is not available
    return dtypes.promote_dtypes(tuple(_dtype_and_weak_type(x) for x in args))[0]


def promote_types(a: Any, b: Any) -> np.dtype[Any]:
    """Return the promoted dtype of two dtypes.

    >>> import xlascope.numpy as jnp
    >>> jnp.promote_types("int8", "uint8"), jnp.promote_types("float16", "bfloat16")
    (dtype('int16'), dtype('float32'))
    """
    for x in (a, b):
        if isinstance(x, np.ndarray):
            raise TypeError(f"promote_types takes two dtypes, got an array, {x!r}; result_type takes arrays")
    operands = _dtype_and_weak_type(a), _dtype_and_weak_type(b)
    if all(np.dtype(x).itemsize < 8 for x in (a, b)):
        return dtypes.promote_dtypes(operands)[0]
    with setting("enable_x64", True):  # the full lattice, including 64-bit types that are disabled
        return dtypes.promote_dtypes((_dtype_and_weak_type(a), _dtype_and_weak_type(b)))[0]


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Return whether one dtype can be cast to another under NumPy's casting rules."""
    if from_ is None or isinstance(from_, (int, float, complex, tuple)):
        raise TypeError(f"can_cast takes from_ as a dtype or an array, got {from_!r} of type {type(from_).__name__}")
    source, target = _require_dtype("from_", from_), _require_dtype("to", to)
    if casting not in _CASTINGS:
        raise ValueError(f"casting of can_cast is one of {', '.join(map(repr, _CASTINGS))}, got {casting!r}")
    return np.can_cast(source, target, casting=casting)  # type: ignore[arg-type]


_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def _require_dtype(name: str, x: Any) -> np.dtype[Any]:
    try:
        return np.dtype(x)  # type: ignore[no-any-return]
    except TypeError:
        raise TypeError(f"can_cast takes {name} as a dtype, got {x!r} of type {type(x).__name__}") from None


_KINDS = {
    "bool": np.bool_,
    "signed integer": np.signedinteger,
    "unsigned integer": np.unsignedinteger,
    "integral": np.integer,
    "real floating": np.floating,
    "complex floating": np.complexfloating,
    "numeric": np.number,
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Return whether a dtype is of a kind: a dtype, a name of the array API ("integral", …), or a tuple of these.

    >>> import xlascope.numpy as jnp
    >>> jnp.isdtype(jnp.float32, "real floating")
    True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, entry) for entry in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return issubdtype(dtype, _KINDS[kind])
    try:
        return bool(np.dtype(dtype) == np.dtype(kind))
    except TypeError:
        raise ValueError(f"isdtype takes dtypes and kinds ({', '.join(_KINDS)}), got {dtype!r} and {kind!r}") from None


def shape(a: Any) -> tuple[int, ...]:
    """Return the shape, also of lists of numbers and of objects with a ``shape`` that are not arrays."""
    if isinstance(a, (list, tuple, range)):
        return shape_of(asarray(a))
    if isinstance(getattr(a, "shape", None), tuple) and not is_value(a):
        return sizes_of(a.shape)
    return shape_of(a)


def ndim(a: Any) -> int:
    """Return the number of axes."""
    return len(shape(a))


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """Return the number of elements, of all or along one or several axes.

    >>> import xlascope.numpy as jnp
    >>> jnp.size(jnp.ones((2, 3))), jnp.size(jnp.ones((2, 3)), 1)
    (6, 3)
    """
    sizes = shape(a)
    return math.prod(sizes if axis is None else (sizes[i] for i in axes_of(axis, len(sizes))))


def isscalar(element: Any) -> bool:
    """Return whether an object is a number or an array without axes."""
    if np.isscalar(element):
        return True
    try:
        return not aval_of(element).shape
    except TypeError:
        return False
