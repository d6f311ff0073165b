"""Elementwise rounding to integers, and checks for finite values; constant almost everywhere."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.avals import ShapedArray, make_aval
from ..ir.user_frames import user_line, where_text
from ..trace.bind import bind1, bind_inexact
from .elementwise import PiecewiseConstant


class Floor(PiecewiseConstant, name="floor"):
    """Elementwise floor, the largest integer not above x."""

    hlo = "stablehlo.floor"
    kinds = "f"


def floor(x: Any) -> Any:
    """Return the largest integer not above ``x``, elementwise."""
    return bind_inexact(Floor.instance, x)


class Ceil(PiecewiseConstant, name="ceil"):
    """Elementwise ceiling, the smallest integer not below x."""

    hlo = "stablehlo.ceil"
    kinds = "f"


def ceil(x: Any) -> Any:
    """Return the smallest integer not below ``x``, elementwise."""
    return bind_inexact(Ceil.instance, x)


class RoundingMethod(enum.IntEnum):
    """Rounding of numbers halfway between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class Round(PiecewiseConstant, name="round"):
    """Elementwise rounding to the nearest integer.

    Halves go away from zero (``rounding_method`` 0) or to even (1).
    """

    rounding_method: int

    hlo = "stablehlo.round_nearest_even"
    kinds = "f"

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        away = "stablehlo.round_nearest_afz"
        return builder.emit(self.hlo if self.rounding_method else away, operands)  # type: ignore[no-any-return]


def round(x: Any, rounding_method: int = 0) -> Any:
    """Round to the nearest integer, elementwise; halves go away from zero (0) or to even (1).

    Raises ValueError for other methods.
    """
    return bind1(Round(_parse_rounding_method(rounding_method)), x)


def _parse_rounding_method(method: Any) -> int:
    try:
        return int(RoundingMethod(method))
    except (ValueError, TypeError):
        raise ValueError(
            "rounding_method of round is lax.RoundingMethod.AWAY_FROM_ZERO (0) or TO_NEAREST_EVEN (1), got "
            f"{method!r}{where_text(user_line())}"
        ) from None


class IsFinite(PiecewiseConstant, name="is_finite"):
    """Elementwise test for values that are neither infinite nor NaN."""

    hlo = "stablehlo.is_finite"
    kinds = "f"

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = super().abstract_eval(operands)
        return [make_aval(x.shape, np.dtype("bool"))]


def is_finite(x: Any) -> Any:
    """Return whether ``x`` is neither infinite nor NaN, elementwise."""
    return bind1(IsFinite.instance, x)
