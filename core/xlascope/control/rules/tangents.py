"""Tangents and cotangents as users' rules get them and give them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import float0, is_differentiable
from ...ir.avals import ShapedArray, strengthened
from ...ir.markers import ZERO
from ...operations.shapes import zeros_of
from ...trace.values import aval_of


class SymbolicZero:
    """The tangent or cotangent of something that does not move, for rules that ask for it (``symbolic_zeros=True``)."""

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
        """The zero tangent of a value."""
        return SymbolicZero(tangent_aval(aval_of(value)))

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval.str_short()})"


def tangent_aval(aval: ShapedArray) -> ShapedArray:
    """The type of a tangent: that of the value; float0 for a value that cannot move."""
    return strengthened(aval) if is_differentiable(aval.dtype) else ShapedArray(aval.shape, float0)


def shown(tangent: Any, aval: ShapedArray, symbolic: bool) -> Any:
    """A tangent or cotangent as a user's rule gets it: zeros, or a :class:`SymbolicZero`, where nothing moves."""
    if tangent is not ZERO:
        return tangent
    if symbolic:
        return SymbolicZero(tangent_aval(aval))
    return zeros_of(strengthened(aval)) if is_differentiable(aval.dtype) else np.zeros(aval.shape, float0)


def is_zero(x: Any) -> bool:
    """Whether a user's rule gave back that nothing moves."""
    return x is None or isinstance(x, SymbolicZero) or getattr(x, "dtype", None) == float0


def zero_from_primal(value: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangent of a value: an array (of float0 for an integer), or a ``SymbolicZero``."""
    return shown(ZERO, aval_of(value), symbolic_zeros)
