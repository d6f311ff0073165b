"""Conversion of tangents and cotangents to and from the form that users' rules take and return."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import float0, is_differentiable
from ...ir.avals import ShapedArray, strip_weak_type
from ...ir.markers import ZERO
from ...operations.shapes import zeros_of
from ...trace.values import aval_of


class SymbolicZero:
    """Zero tangent or cotangent of type ``aval``, for rules that request such objects (``symbolic_zeros=True``)."""

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
    """Return the type of a value's tangent: that of the value, or float0 if its dtype is not differentiable."""
    return strip_weak_type(aval) if is_differentiable(aval.dtype) else ShapedArray(aval.shape, float0)


def to_rule_tangent(tangent: Any, aval: ShapedArray, symbolic: bool) -> Any:
    """Return a tangent or cotangent in the form in which a user's rule takes it.

    ZERO becomes a :class:`SymbolicZero` if ``symbolic``, else an array of zeros (of float0 if ``aval``, the type of
    its value, is not differentiable).
    """
    if tangent is not ZERO:
        return tangent
    if symbolic:
        return SymbolicZero(tangent_aval(aval))
    return zeros_of(strip_weak_type(aval)) if is_differentiable(aval.dtype) else np.zeros(aval.shape, float0)


def is_zero(x: Any) -> bool:
    """Return whether a rule returned a zero tangent: None, a :class:`SymbolicZero`, or an array of float0."""
    return x is None or isinstance(x, SymbolicZero) or getattr(x, "dtype", None) == float0


def zero_from_primal(value: Any, symbolic_zeros: bool = False) -> Any:
    """Return the zero tangent of a value: an array (of float0 for an integer), or a ``SymbolicZero``."""
    return to_rule_tangent(ZERO, aval_of(value), symbolic_zeros)
