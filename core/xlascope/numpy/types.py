"""Questions about dtypes: which type results, what fits into what, how large, how precise."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from .. import dtypes
from ..dtypes import canonical, is_floating
from ..settings import setting
from ..trace.array import Array
from ..trace.values import aval_of

_PYTHON = (bool, int, float, complex)
ndarray = Array
finfo, iinfo = ml_dtypes.finfo, ml_dtypes.iinfo


def _typed(x: Any) -> tuple[np.dtype[Any], bool]:
    """The dtype of an array, scalar or dtype, and whether it gives way."""
    if isinstance(x, type) and x in _PYTHON:
        return canonical(x), x is not bool
    if isinstance(x, (str, type, np.dtype)):
        return canonical(x), False
    aval = aval_of(x)
    return aval.dtype, aval.weak_type


def result_type(*args: Any) -> np.dtype[Any]:
    """The dtype in which arrays, scalars and dtypes meet.

    >>> import xlascope.numpy as jnp
    >>> jnp.result_type(jnp.arange(3), 2.5), jnp.result_type("float16", 1.0)
    (dtype('float32'), dtype('float16'))
    """
    if not args:
        raise ValueError("result_type takes at least one argument")
    return dtypes.promote(tuple(_typed(x) for x in args))[0]


def promote_types(a: Any, b: Any) -> np.dtype[Any]:
    """The dtype in which values of two dtypes meet.

    >>> import xlascope.numpy as jnp
    >>> jnp.promote_types("int8", "uint8"), jnp.promote_types("float16", "bfloat16")
    (dtype('int16'), dtype('float32'))
    """
    operands = _typed(a), _typed(b)
    if all(np.dtype(x).itemsize < 8 for x in (a, b)):
        return dtypes.promote(operands)[0]
    with setting("enable_x64", True):  # the lattice as it is, also for types that arrays do not have now
        return dtypes.promote((_typed(a), _typed(b)))[0]


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether values of one dtype can be converted to another under NumPy's casting rules."""
    return np.can_cast(np.dtype(from_), np.dtype(to), casting=casting)  # type: ignore[arg-type]


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether a dtype is, or lies under, another in NumPy's hierarchy, in which bfloat16 counts as floating.

    >>> import xlascope.numpy as jnp
    >>> jnp.issubdtype(jnp.bfloat16, jnp.floating), jnp.issubdtype(jnp.int32, jnp.floating)
    (True, False)
    """
    if isinstance(arg1, type) and issubclass(arg1, np.generic) and not _is_concrete(arg1):
        return isinstance(arg2, type) and issubclass(arg2, np.generic) and issubclass(arg1, arg2)
    dtype = np.dtype(arg1)
    if isinstance(arg2, type) and issubclass(arg2, np.generic) and not _is_concrete(arg2):
        kind = np.floating if is_floating(dtype) and dtype.kind == "V" else dtype.type
        return issubclass(kind, arg2)
    return bool(dtype == np.dtype(arg2))


def _is_concrete(kind: type[np.generic]) -> bool:
    """Whether a scalar class of NumPy's hierarchy stands for one dtype."""
    abstract = (
        np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact, np.floating,
        np.complexfloating, np.flexible, np.character,
    )  # fmt: skip
    return kind not in abstract


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
    """Whether a dtype is of a kind: a dtype, a name of the array API ("integral", …), or one of several.

    >>> import xlascope.numpy as jnp
    >>> jnp.isdtype(jnp.float32, "real floating")
    True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return issubdtype(dtype, _KINDS[kind])
    return bool(np.dtype(dtype) == np.dtype(kind))


def shape(a: Any) -> tuple[int, ...]:
    """The shape."""
    return aval_of(a).shape


def ndim(a: Any) -> int:
    """The number of axes."""
    return aval_of(a).ndim


def size(a: Any, axis: int | None = None) -> int:
    """The number of elements, or the length of one axis."""
    aval = aval_of(a)
    return aval.size if axis is None else aval.shape[axis]


def isscalar(element: Any) -> bool:
    """Whether something is a number or an array without axes."""
    if np.isscalar(element):
        return True
    try:
        return not aval_of(element).shape
    except TypeError:
        return False
