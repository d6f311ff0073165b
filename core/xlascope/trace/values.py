"""What may be an operand: arrays, tracers, NumPy arrays, Python scalars; and their types."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import canonical
from ..errors import see
from ..ir.avals import ShapedArray, shaped
from ..ir.jaxpr import Literal, Var
from ..xla.backend import ArrayImpl
from .source import user_line, where_text
from .tracer import Tracer, leaked_error

_PYTHON_SCALARS = (bool, int, float, complex)


#: The types of NumPy scalars that are the same whatever the settings say.
_SCALAR_AVALS = {
    kind: shaped((), np.dtype(kind))
    for kind in (np.bool_, np.int8, np.int16, np.int32, np.uint8, np.uint32, np.float32)
}


def aval_of(x: Any) -> ShapedArray:
    """The abstract value of an operand; raises TypeError when it is no array, scalar or tracer.

    >>> aval_of(2.0)
    ShapedArray(float32[], weak_type=True)
    """
    known = _SCALAR_AVALS.get(x.__class__)
    if known is not None:
        return known
    try:
        aval: ShapedArray = x.aval
    except AttributeError:
        return _aval_of_other(x)
    if x.__class__ is Var:
        raise leaked_error(x)
    return aval


def _aval_of_other(x: Any) -> ShapedArray:
    if isinstance(x, (np.ndarray, np.generic)):
        if x.dtype.kind in "OUSM":
            raise not_an_array(x)
        return shaped(x.shape, canonical(x.dtype))
    for scalar in _PYTHON_SCALARS:
        if isinstance(x, scalar):
            return shaped((), canonical(scalar), scalar is not bool)
    if hasattr(x, "__jax_array__"):
        return aval_of(x.__jax_array__())
    raise not_an_array(x)


def not_an_array(x: Any, what: str = "a value") -> TypeError:
    """The error for something that cannot be an operand; for what was a tracer once, that it has ended."""
    if x.__class__ is Var:
        return leaked_error(x)
    kind = type(x).__name__ if not isinstance(x, np.ndarray) else f"numpy array of dtype {x.dtype}"
    text = repr(x)
    shown = text if len(text) <= 60 else text[:57] + "..."
    fix = (
        "Convert lists with xlascope.numpy.array(...)."
        if isinstance(x, (list, tuple))
        else (
            "Arrays, NumPy arrays and Python numbers are. Pass other values as static arguments "
            "(jit(f, static_argnums=...)) or close over them."
        )
    )
    where, more = where_text(user_line()), see("not-an-array")
    return TypeError(f"{what} of type {kind} is not a valid array{where}: {shown}. {fix}{more}")


def is_value(x: Any) -> bool:
    """Whether something can be an operand as it is."""
    return isinstance(x, (ArrayImpl, Tracer, np.ndarray, np.generic, bool, int, float, complex))


def scalar_literal(x: Any, aval: ShapedArray) -> Literal:
    """A literal for a scalar, with the value converted to the type."""
    return Literal(np.asarray(x).astype(aval.dtype)[()], aval)
