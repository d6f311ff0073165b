"""Operands that meet: one dtype (Python scalars give way), and ranks that fit.

The paths that every operator takes come first and do no work: equal types, and a Python scalar beside an array whose kind
holds it. The lattice itself is :func:`xlascope.dtypes.promote`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..dtypes import canonical, is_floating
from ..ir.avals import ShapedArray, shaped
from ..ir.jaxpr import Literal
from ..operations import shapes
from ..operations.elementwise import convert_element_type
from ..operations.values import typed_scalar
from ..trace.jaxpr_trace import JaxprTrace
from ..trace.state import STATE
from ..trace.values import aval_of

#: For each Python scalar type, the kinds of dtypes that hold its values.
_HOLDERS = {bool: "biufcV", int: "iufcV", float: "fcV", complex: "c"}
_RANGE = 4096

_literals: dict[tuple[Any, type, np.dtype[Any]], Literal] = {}


def pair(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands of one dtype whose shapes an elementwise operation takes.

    >>> pair(np.int32(1), 2.5)
    (Array(1., dtype=float32, weak_type=True), 2.5)
    """
    try:
        if y.__class__ in _HOLDERS:
            if x.dtype.kind in _HOLDERS[y.__class__]:
                return x, scalar_beside(y, x.dtype)
        elif x.__class__ in _HOLDERS:
            if y.dtype.kind in _HOLDERS[x.__class__]:
                return scalar_beside(x, y.dtype), y
        elif x.aval is y.aval:
            return x, y
    except AttributeError:  # a Python scalar, a NumPy array, or no array at all
        pass
    first, second = fitted((x, y))
    return first, second


def scalar_beside(value: Any, dtype: np.dtype[Any]) -> Any:
    """A Python scalar as an operand beside one of that dtype, which holds its kind; in a jaxpr, a literal."""
    if STATE.trace.__class__ is JaxprTrace and value != 0:  # 0.0 and -0.0 are equal keys and different values
        key = (value, value.__class__, dtype)
        found = _literals.get(key)
        if found is None:
            if len(_literals) > _RANGE:
                _literals.clear()
            found = _literals[key] = _literal(value, dtype)
        return found
    if STATE.trace.__class__ is JaxprTrace:
        return _literal(value, dtype)
    return _typed(value, dtype)


def _literal(value: Any, dtype: np.dtype[Any]) -> Literal:
    dtype = canonical(dtype)
    return Literal(_checked(value, dtype), shaped((), dtype, dtype.kind != "b"))


def _typed(value: Any, dtype: np.dtype[Any]) -> Any:
    """A Python scalar whose own type is ``dtype`` stays one (and weak); others become NumPy scalars of it."""
    dtype = canonical(dtype)
    kind = dtypes.scalar_type(dtype)
    if canonical(kind) != dtype:
        return _checked(value, dtype)
    return kind(value) if value.__class__ is not int or dtype.kind not in "iu" else _within(value, dtype)


def _checked(value: Any, dtype: np.dtype[Any]) -> Any:
    if value.__class__ is int and dtype.kind in "iu":
        _within(value, dtype)
    return typed_scalar(value, dtype)


def _within(value: int, dtype: np.dtype[Any]) -> int:
    """Values as wide as the default integers wrap around in narrower ones; wider values raise OverflowError."""
    if value.bit_length() >= 8 * canonical(int).itemsize:
        np.array(value, dtype)
    return value


def fitted(operands: tuple[Any, ...]) -> list[Any]:
    """Operands converted to the dtype in which they meet, the lower ranks given leading axes."""
    avals = [aval_of(x) for x in operands]
    return fit_ranks(to_common_dtype(operands, avals), avals)


def common_dtype(avals: list[ShapedArray]) -> tuple[np.dtype[Any], bool]:
    """The dtype in which operands of those types meet, and whether it is weak."""
    return dtypes.promote(tuple((a.dtype, a.weak_type) for a in avals))


def to_common_dtype(operands: tuple[Any, ...] | list[Any], avals: list[ShapedArray] | None = None) -> list[Any]:
    """Operands converted to the dtype in which they meet."""
    avals = [aval_of(x) for x in operands] if avals is None else avals
    dtype, weak = common_dtype(avals)
    return [as_dtype(x, dtype, weak) for x in operands]


def as_dtype(x: Any, dtype: np.dtype[Any], weak: bool = False) -> Any:
    """An operand converted to a dtype; it stays weak when it was and ``weak`` says so. Scalars are converted at once."""
    if x.__class__ in _HOLDERS:
        kind = dtypes.scalar_type(dtype)
        if kind is not complex and x.__class__ is complex:
            return typed_scalar(x.real, dtype)
        return kind(x) if weak and canonical(kind) == dtype else _checked(x, dtype)
    aval = aval_of(x)
    if aval.dtype == dtype:
        return x if aval.weak_type <= weak or not hasattr(x, "aval") else convert_element_type(x, dtype)
    if isinstance(x, np.generic):
        return convert_element_type(x, dtype, True) if weak else x.astype(dtype)
    return convert_element_type(x, dtype, weak)


def fit_ranks(operands: list[Any], avals: list[ShapedArray]) -> list[Any]:
    """Operands with leading axes of size 1 where their rank is lower than the highest but not zero."""
    ranks = [len(a.shape) for a in avals]
    highest = max(ranks)
    return [
        x if rank in (0, highest) else shapes.expand_dims(x, tuple(range(highest - rank)))
        for x, rank in zip(operands, ranks, strict=True)
    ]


def inexact(x: Any) -> Any:
    """An operand with a floating-point or complex dtype: integers and truth values become floats."""
    if x.__class__ in _HOLDERS:
        return x if x.__class__ in (float, complex) else float(x)
    aval = aval_of(x)
    return x if _is_inexact(aval.dtype) else as_dtype(x, canonical(float), aval.weak_type)


def inexact_pair(x: Any, y: Any) -> tuple[Any, Any]:
    """Like :func:`pair`, with integers and truth values made floats."""
    if y.__class__ in (int, bool):
        return pair(inexact(x), float(y))
    if x.__class__ in (int, bool):
        return pair(float(x), inexact(y))
    x, y = pair(x, y)
    return inexact(x), inexact(y)


def _is_inexact(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "fc" or is_floating(dtype)


def to_inexact(dtype: Any) -> np.dtype[Any]:
    """The floating-point or complex dtype for results computed from a dtype."""
    dtype = canonical(dtype)
    return dtype if _is_inexact(dtype) else canonical(float)
