"""Types of operands: directly for arrays and tracers, by coercion (``operand_coercion.py``) for all else."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import cast_on_host
from ..ir.avals import ShapedArray, make_aval
from ..ir.jaxpr import Literal, Var
from ..runtime.boot import enable_x64
from ..xla.arrays.transfers import integer_array, put_on_device
from .operand_coercion import (
    aval_of_foreign,
    aval_of_host_value,
    invalid_operand_error,
    invalid_result_error,
    is_value,
)
from .state import STATE
from .tracer import leaked_error

__all__ = [
    "aval_of",
    "exact_operand",
    "exact_result",
    "invalid_operand_error",
    "invalid_result_error",
    "is_value",
    "literal_operand",
    "scalar_literal",
]

#: NumPy scalars whose types do not depend on settings.
_NARROW_SCALARS = (np.bool_, np.int8, np.int16, np.int32, np.uint8, np.uint32, np.float32)
#: Their dtypes, in the machine's byte order.
_SETTING_INDEPENDENT_DTYPES = frozenset(map(np.dtype, _NARROW_SCALARS))
#: Types of scalars, by their class: without ``enable_x64``, and with it.
_SCALAR_AVALS = {kind: (make_aval((), np.dtype(kind)),) * 2 for kind in (bool, *_NARROW_SCALARS)} | {
    kind: (make_aval((), np.dtype(narrow), weak), make_aval((), np.dtype(wide), weak))
    for kind, narrow, wide, weak in (
        (int, "int32", "int64", True),
        (float, "float32", "float64", True),
        (complex, "complex64", "complex128", True),
        (np.int64, "int32", "int64", False),
        (np.float64, "float32", "float64", False),
    )
}
#: Classes of values whose types depend on ``enable_x64``.
_SETTING_DEPENDENT = frozenset({int, float, complex, np.int64, np.uint64, np.float64, np.complex128, np.ndarray})


def aval_of(x: Any) -> ShapedArray:
    """Return the abstract value of an operand; raise TypeError if it is not an array, scalar or tracer.

    >>> aval_of(2.0)
    ShapedArray(float32[], weak_type=True)
    """
    scalar_avals = _SCALAR_AVALS.get(x.__class__)
    if scalar_avals is not None:
        return scalar_avals[enable_x64.value]
    if x.__class__ is np.ndarray and x.dtype in _SETTING_INDEPENDENT_DTYPES:
        return make_aval(x.shape, x.dtype)
    try:
        aval: ShapedArray = x.aval
    except AttributeError:
        pass  # so that errors raised below are not chained to this one
    else:
        if x.__class__ is Var:
            raise leaked_error(x)
        return aval if aval.__class__ is ShapedArray else aval_of_foreign(x)
    return aval_of_host_value(x)


def scalar_literal(x: Any, aval: ShapedArray) -> Literal:
    """Return a literal of type ``aval`` for a scalar; raise OverflowError for an integer too wide for the type."""
    value = integer_array(x, aval.dtype) if x.__class__ is int else cast_on_host(x, aval.dtype)
    return Literal(value[()], aval)


# Constants whose types do not depend on settings ---------------------------------------------------------------------


def exact_operand(x: Any, aval: ShapedArray) -> Any:
    """Return a number or a NumPy value as an operand of type ``aval``, whatever ``enable_x64`` is.

    An array that is made where 64-bit types are enabled may be used where they are not. A constant beside it has to
    keep its type there: it becomes a literal while staging, otherwise an array.
    """
    if x.__class__ not in _SETTING_DEPENDENT or aval_of(x).dtype == aval.dtype:
        return x
    trace = STATE.trace
    is_literal = not aval.shape and trace is not None and trace.staging
    return scalar_literal(x, aval) if is_literal else put_on_device(x, aval)


def exact_array(values: Any, dtype: np.dtype[Any]) -> Any:
    """Return NumPy values as an operand of ``dtype``, that of another operand, whatever ``enable_x64`` is.

    >>> exact_array([1, 2], np.dtype("float64")).dtype
    dtype('float64')
    """
    converted = np.asarray(values).astype(dtype)
    return exact_operand(converted, make_aval(converted.shape, dtype))


def exact_result(x: Any, aval: ShapedArray) -> Any:
    """Return a number or a NumPy value as a result of type ``aval``, like :func:`exact_operand`, but no literal."""
    return x if x.__class__ not in _SETTING_DEPENDENT or aval_of(x).dtype == aval.dtype else put_on_device(x, aval)


def literal_operand(x: Literal) -> Any:
    """Return the value of a literal of a program as an operand, in the type that it has in the program."""
    return exact_operand(x.operand, x.aval)
