"""Line search for a step that satisfies the strong Wolfe conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ... import numpy as jnp
from ...control.flow.loop_api import while_loop

#: Constants of the strong Wolfe conditions: the required fraction of the decrease that the slope predicts, and the
#: largest remaining fraction of the slope (J. Nocedal and S. J. Wright, Numerical Optimization, 2006, chapter 3).
SUFFICIENT_DECREASE, CURVATURE_FRACTION = 1e-4, 0.9


class LineSearchPoint(NamedTuple):
    """Step length along the direction, with the function's value, slope along the direction and gradient there."""

    step: Any
    value: Any
    slope: Any
    gradient: Any


class LineSearchResult(NamedTuple):
    """Final point of a line search, whether it failed to decrease the value, and the number of evaluations."""

    point: LineSearchPoint
    failed: Any
    count: Any


def _select_point(condition: Any, x: LineSearchPoint, y: LineSearchPoint) -> LineSearchPoint:
    return LineSearchPoint(*(jnp.where(condition, a, b) for a, b in zip(x, y, strict=True)))


def wolfe_line_search(
    function: Callable[[Any], tuple[Any, Any]], x: Any, direction: Any, value: Any, gradient: Any, start: Any, most: int
) -> LineSearchResult:
    """Find a step along a direction with at most ``most`` evaluations of ``function``.

    ``function`` returns value and gradient; ``value`` and ``gradient`` are those at the starting point ``x``, and
    ``start`` is the first step to try. The interval from ``low``, where the function decreases, to ``high``, where it
    has increased, contains a step that satisfies the conditions. The next trial is the minimum of a cubic through both
    ends, kept away from them; while the interval has no upper end, the step is doubled.
    """

    def evaluate(step: Any) -> LineSearchPoint:
        new_value, new_gradient = function(x + step * direction)
        return LineSearchPoint(step, new_value, jnp.vdot(new_gradient, direction), new_gradient)

    first = LineSearchPoint(jnp.zeros_like(value), value, jnp.vdot(gradient, direction), gradient)

    def should_continue(state: Any) -> Any:
        _, _, _, _, done, count = state
        return ~done & (count < most)

    def step(state: Any) -> Any:
        low, high, bracketed, trial, _, count = state
        point = evaluate(trial)
        overshot = ~(point.value <= value + SUFFICIENT_DECREASE * trial * first.slope) | (point.value > low.value) & (
            low.step > 0
        )
        slope_is_small = jnp.abs(point.slope) <= -CURVATURE_FRACTION * first.slope
        done = ~overshot & slope_is_small
        closes_interval = overshot | (point.slope >= 0)
        high = _select_point(closes_interval & ~done, point, high)
        low = _select_point(~closes_interval | done, point, low)
        bracketed = bracketed | closes_interval
        return low, high, bracketed, jnp.where(bracketed, _interpolate_cubic(low, high), 2 * trial), done, count + 1

    false = jnp.zeros((), bool)
    low, _, _, _, done, count = while_loop(should_continue, step, (first, first, false, start, false, 0))
    decreased = low.step > 0  # the Wolfe conditions may fail, but the value decreased
    return LineSearchResult(low, ~done & ~decreased, count)


def _interpolate_cubic(low: LineSearchPoint, high: LineSearchPoint) -> Any:
    """Return the minimizer of the cubic with the values and slopes of both ends, or the midpoint if there is none.

    It is moved into the middle 80% of the interval.
    """
    width = high.step - low.step
    safe_width = jnp.where(width == 0, 1, width)
    bend = low.slope + high.slope - 3 * (high.value - low.value) / safe_width
    discriminant = bend * bend - low.slope * high.slope
    root = jnp.sqrt(jnp.maximum(discriminant, 0))
    denominator = high.slope - low.slope + 2 * root
    fraction = 1 - (high.slope + root - bend) / jnp.where(denominator == 0, 1, denominator)
    fraction = jnp.where((discriminant >= 0) & (denominator != 0) & jnp.isfinite(fraction), fraction, 0.5)
    return low.step + jnp.clip(fraction, 0.1, 0.9) * width
