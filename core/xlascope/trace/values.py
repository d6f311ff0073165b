"""Types of operands: directly for arrays and tracers, by coercion (``operand_coercion.py``) for all else."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.avals import ShapedArray, make_aval
from ..ir.jaxpr import Literal, Var
from ..runtime.boot import enable_x64
from ..xla.arrays.transfers import integer_array
from .operand_coercion import (
    aval_of_foreign,
    aval_of_host_value,
    invalid_operand_error,
    invalid_result_error,
    is_value,
)
from .tracer import leaked_error

__all__ = ["aval_of", "invalid_operand_error", "invalid_result_error", "is_value", "scalar_literal"]

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
    value = integer_array(x, aval.dtype) if x.__class__ is int else np.asarray(x).astype(aval.dtype)
    return Literal(value[()], aval)
