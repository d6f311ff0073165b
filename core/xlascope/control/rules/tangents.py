"""Conversion of tangents and cotangents to and from the form that users' rules take and return."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import float0, is_differentiable
from ...ir.avals import ShapedArray, strengthened
from ...ir.markers import ZERO
from ...operations.shapes import zeros_of
from ...trace.values import aval_of


class SymbolicZero:
    """Zero tangent or cotangent for rules that request it (``symbolic_zeros=True``)."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    @staticmethod
    def from_primal_value(value: Any) -> SymbolicZero:
        """Return the zero tangent of a value."""
        return SymbolicZero(tangent_aval(aval_of(value)))

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval.str_short()})"


def tangent_aval(aval: ShapedArray) -> ShapedArray:
    """Return the type of a value's tangent: that of the value, or float0 for a value without derivatives."""
    return strengthened(aval) if is_differentiable(aval.dtype) else ShapedArray(aval.shape, float0)


def shown(tangent: Any, aval: ShapedArray, symbolic: bool) -> Any:
    """Return a tangent or cotangent as a user's rule takes it: ZERO becomes an array or a :class:`SymbolicZero`."""
    if tangent is not ZERO:
        return tangent
    if symbolic:
        return SymbolicZero(tangent_aval(aval))
    return zeros_of(strengthened(aval)) if is_differentiable(aval.dtype) else np.zeros(aval.shape, float0)


def is_zero(x: Any) -> bool:
    """Return whether a tangent that a user's rule returned is zero."""
    return x is None or isinstance(x, SymbolicZero) or getattr(x, "dtype", None) == float0


def zero_from_primal(value: Any, symbolic_zeros: bool = False) -> Any:
    """Return the zero tangent of a value: an array (of float0 for an integer), or a ``SymbolicZero``."""
    return shown(ZERO, aval_of(value), symbolic_zeros)
