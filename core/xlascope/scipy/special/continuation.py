"""Gauss's function 2F1 from x = 1/2 on towards 1, where it has a pole or a branch point: by its differential equation.

x (1 - x) y'' + (c - (a + b + 1) x) y' - a b y = 0 (DLMF 15.10.1) gives the Taylor series of y about any point from y
and y' there. About x the series converges for steps below 1 - x; each one takes half of that, so what is left halves.
Whether a, b and c differ by whole numbers makes no difference, as it does where solutions about 1 are put together.
"""

from __future__ import annotations

from typing import Any

from ...control.special.factors import repeated
from ...numpy.logic import where
from ...operations.arithmetic import abs

#: What numbers are divided by once they are larger.
LARGE = 2.0**60


def kept(start: tuple[Any, ...], step: Any) -> tuple[Any, ...]:
    """``repeated``, in which what ended stays as it is."""

    def stays(k: Any, going: Any, *values: Any) -> tuple[Any, ...]:
        still, *made = step(k, going, *values)
        return still, *(where(going, new, old) for new, old in zip(made, values, strict=True))

    return repeated(start, stays)


def continued(
    a: Any, b: Any, c: Any, start: tuple[Any, Any], scaled: Any, wanted: Any, small: float
) -> tuple[tuple[Any, Any], Any]:
    """2F1 and its slope where ``wanted`` is left to 1, from those at 1/2: over 2^(60 scaled), as they were."""

    def step(_: Any, going: Any, left: Any, value: Any, slope: Any, scaled: Any) -> tuple[Any, ...]:
        after = where(wanted > left / 2, wanted, left / 2)
        value, slope = _moved((a, b, c), left, (left - after) / left, value, slope, going, small)
        big = abs(value) > LARGE
        value, slope, scaled = (
            where(big, value / LARGE, value),
            where(big, slope / LARGE, slope),
            where(big, scaled + 1, scaled),
        )
        return (after > wanted) & (value == value), after, value, slope, scaled

    left = wanted * 0 + 0.5
    _, _, value, slope, scaled = kept((wanted < left, left, *start, scaled), step)
    return (value, slope), scaled


def _moved(
    parameters: tuple[Any, Any, Any], left: Any, ratio: Any, value: Any, slope: Any, going: Any, small: float
) -> tuple[Any, Any]:
    """Y and y' after a step of that part of what is left, by the Taylor series Σ w_k of y.

    (k + 1) (k + 2) x w_(k+2) = (k + a) (k + b) left ratio² w_k - (k + 1) ((1 - 2x) k + c - (a + b + 1) x) ratio w_(k+1)
    """
    a, b, c = parameters
    x = 1 - left
    width = left * ratio

    def step(n: Any, going: Any, before: Any, last: Any, total: Any, moved: Any) -> tuple[Any, ...]:
        k = n - 1
        other = (k + 1) * ((1 - 2 * x) * k + c - (a + b + 1) * x)
        new = ((k + a) * (k + b) * width * before - other * last) * ratio / ((k + 1) * (k + 2) * x)
        total, moved = total + new, moved + (k + 2) * new
        more = (abs(new) + abs(last) > small * abs(total)) | ((k + 2) * abs(new) > small * abs(moved))
        return going & more & (new == new), last, new, total, moved

    first = slope * width
    going = going & (ratio > 0)
    _, _, _, total, moved = kept((going, value, first, value + first, first), step)
    safe = where(width > 0, width, 1.0)
    return total, where(going, moved / safe, slope)
