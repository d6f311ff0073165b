"""Continuation of Gauss's function 2F1 from x = 1/2 towards its singularity at 1, by its differential equation.

x (1 - x) y'' + (c - (a + b + 1) x) y' - a b y = 0 (DLMF 15.10.1) gives the Taylor series of y about any point
from y and y' there. About x the series converges for steps below 1 - x; each step covers half of that, so the
distance to 1 halves. Unlike connection formulas about 1, this needs no special case where a, b and c differ
by integers.
"""

from __future__ import annotations

from typing import Any

from ...control.special.factors import iterate_while
from ...numpy.logic import where
from ...operations.arithmetic import abs

#: Numbers larger than this are divided by it.
RESCALE_THRESHOLD = 2.0**60


def repeat_masked(start: tuple[Any, ...], step: Any) -> tuple[Any, ...]:
    """Repeat a step as long as any element is active; elements that are done keep their values.

    ``start`` is a mask of active elements and the initial values. ``step(k, active, *values)``, for k = 1, 2, …,
    returns the new mask and values. Returns the final mask and values.
    """

    def masked_step(k: Any, active: Any, *values: Any) -> tuple[Any, ...]:
        still_active, *new_values = step(k, active, *values)
        return still_active, *(where(active, new, old) for new, old in zip(new_values, values, strict=True))

    return iterate_while(start, masked_step)


def continue_2f1(
    a: Any, b: Any, c: Any, start: tuple[Any, Any], rescalings: Any, target_distance: Any, small: float
) -> tuple[tuple[Any, Any], Any]:
    """Return 2F1 and its slope at distance ``target_distance`` from 1, given those at 1/2 (``start``).

    The values are divided by 2^(60 ``rescalings``) to avoid overflow; the new count of rescalings is returned after the
    pair. ``small`` is the relative error that terms may leave.
    """

    def step(_: Any, active: Any, distance: Any, value: Any, slope: Any, rescalings: Any) -> tuple[Any, ...]:
        next_distance = where(target_distance > distance / 2, target_distance, distance / 2)
        value, slope = _taylor_step(
            (a, b, c), distance, (distance - next_distance) / distance, value, slope, active, small
        )
        big = abs(value) > RESCALE_THRESHOLD
        value, slope, rescalings = (
            where(big, value / RESCALE_THRESHOLD, value),
            where(big, slope / RESCALE_THRESHOLD, slope),
            where(big, rescalings + 1, rescalings),
        )
        return (next_distance > target_distance) & (value == value), next_distance, value, slope, rescalings

    distance = target_distance * 0 + 0.5
    _, _, value, slope, rescalings = repeat_masked((target_distance < distance, distance, *start, rescalings), step)
    return (value, slope), rescalings


def _taylor_step(
    parameters: tuple[Any, Any, Any], distance: Any, ratio: Any, value: Any, slope: Any, active: Any, small: float
) -> tuple[Any, Any]:
    """Return y and y' after a step of the fraction ``ratio`` of the distance to 1, by the Taylor series Σ w_k of y.

    ``parameters`` are a, b and c; ``value`` and ``slope`` are y and y' at 1 - ``distance``. Elements that are not
    ``active`` keep their values; ``small`` is the relative error that terms may leave. The terms satisfy

    (k + 1) (k + 2) x w_(k+2) =
        (k + a) (k + b) distance ratio² w_k - (k + 1) ((1 - 2x) k + c - (a + b + 1) x) ratio w_(k+1)
    """
    a, b, c = parameters
    x = 1 - distance
    width = distance * ratio

    def step(n: Any, active: Any, second_last: Any, last: Any, total: Any, slope_total: Any) -> tuple[Any, ...]:
        k = n - 1
        cross_term = (k + 1) * ((1 - 2 * x) * k + c - (a + b + 1) * x)
        new = ((k + a) * (k + b) * width * second_last - cross_term * last) * ratio / ((k + 1) * (k + 2) * x)
        total, slope_total = total + new, slope_total + (k + 2) * new
        ongoing = (abs(new) + abs(last) > small * abs(total)) | ((k + 2) * abs(new) > small * abs(slope_total))
        return active & ongoing & (new == new), last, new, total, slope_total

    first = slope * width
    active = active & (ratio > 0)
    _, _, _, total, slope_total = repeat_masked((active, value, first, value + first, first), step)
    safe = where(width > 0, width, 1.0)
    return total, where(active, slope_total / safe, slope)
