"""Elementwise rounding to integers, and checks for finite values; constant almost everywhere."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.avals import ShapedArray, shaped
from ..ir.sources import user_line, where_text
from ..trace.bind import bind1, bind_inexact
from .families import Flat


class Floor(Flat, name="floor"):
    """The largest integer not above x."""

    hlo = "stablehlo.floor"
    kinds = "f"


def floor(x: Any) -> Any:
    """Return the largest integer not above ``x``."""
    return bind_inexact(Floor.instance, x)


class Ceil(Flat, name="ceil"):
    """The smallest integer not below x."""

    hlo = "stablehlo.ceil"
    kinds = "f"


def ceil(x: Any) -> Any:
    """Return the smallest integer not below ``x``."""
    return bind_inexact(Ceil.instance, x)


class RoundingMethod(enum.IntEnum):
    """Rounding of halves."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class Round(Flat, name="round"):
    """The nearest integer; halves go away from zero (rounding_method 0) or to even (1)."""

    rounding_method: int

    hlo = "stablehlo.round_nearest_even"
    kinds = "f"

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        away = "stablehlo.round_nearest_afz"
        return builder.emit(self.hlo if self.rounding_method else away, operands)  # type: ignore[no-any-return]


def round(x: Any, rounding_method: int = 0) -> Any:
    """Round to the nearest integer, halves away from zero (0) or to even (1), elementwise.

    Raises ValueError for other methods.
    """
    return bind1(Round(_method(rounding_method)), x)


def _method(method: Any) -> int:
    try:
        return int(RoundingMethod(method))
    except (ValueError, TypeError):
        raise ValueError(
            "rounding_method of round is lax.RoundingMethod.AWAY_FROM_ZERO (0) or TO_NEAREST_EVEN (1), got "
            f"{method!r}{where_text(user_line())}"
        ) from None


class IsFinite(Flat, name="is_finite"):
    """Test for values that are neither infinite nor NaN."""

    hlo = "stablehlo.is_finite"
    kinds = "f"

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = super().abstract_eval(operands)
        return [shaped(x.shape, np.dtype("bool"))]


def is_finite(x: Any) -> Any:
    """Return whether ``x`` is neither infinite nor NaN, elementwise."""
    return bind1(IsFinite.instance, x)
