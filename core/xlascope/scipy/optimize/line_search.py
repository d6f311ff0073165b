"""How far to go along a direction: a step that meets the strong Wolfe conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ... import numpy as jnp
from ...control.flow.loops import while_loop

#: What a step has to gain of what the slope promises, and how much of the slope may be left (J. Nocedal and S. J.
#: Wright, Numerical Optimization, 2006, chapter 3).
GAIN, LEFT = 1e-4, 0.9


class Point(NamedTuple):
    """A step, and the function there: its value, its slope along the direction, its gradient."""

    step: Any
    value: Any
    slope: Any
    gradient: Any


class Found(NamedTuple):
    """Where a search ended, whether it found a step, and how often it evaluated the function."""

    point: Point
    failed: Any
    count: Any


def _choose(condition: Any, x: Point, y: Point) -> Point:
    return Point(*(jnp.where(condition, a, b) for a, b in zip(x, y, strict=True)))


def search(
    function: Callable[[Any], tuple[Any, Any]], x: Any, direction: Any, value: Any, gradient: Any, start: Any, most: int
) -> Found:
    """A step along a direction, by at most that many evaluations of ``function``, which gives value and gradient.

    The interval from ``low``, where the function falls, to ``high``, where it has risen, holds such a step. It is
    halved by the least value of a cubic through both ends, kept off the ends, and doubled as long as it has no end.
    """

    def at(step: Any) -> Point:
        found, slope_of = function(x + step * direction)
        return Point(step, found, jnp.vdot(slope_of, direction), slope_of)

    first = Point(jnp.zeros_like(value), value, jnp.vdot(gradient, direction), gradient)

    def go_on(state: Any) -> Any:
        _, _, _, _, done, count = state
        return ~done & (count < most)

    def step(state: Any) -> Any:
        low, high, closed, trial, _, count = state
        point = at(trial)
        rose = ~(point.value <= value + GAIN * trial * first.slope) | (point.value > low.value) & (low.step > 0)
        flat = jnp.abs(point.slope) <= -LEFT * first.slope
        done = ~rose & flat
        ends = rose | (point.slope >= 0)
        high = _choose(ends & ~done, point, high)
        low = _choose(~ends | done, point, low)
        closed = closed | ends
        return low, high, closed, jnp.where(closed, _between(low, high), 2 * trial), done, count + 1

    no = jnp.zeros((), bool)
    low, _, _, _, done, count = while_loop(go_on, step, (first, first, no, start, no, 0))
    gained = low.step > 0  # not all that was asked for, but lower than before
    return Found(low, ~done & ~gained, count)


def _between(low: Point, high: Point) -> Any:
    """The least place of the cubic with the values and slopes of both ends; else the middle."""
    width = high.step - low.step
    safe = jnp.where(width == 0, 1, width)
    bend = low.slope + high.slope - 3 * (high.value - low.value) / safe
    inside = bend * bend - low.slope * high.slope
    root = jnp.sqrt(jnp.maximum(inside, 0))
    below = high.slope - low.slope + 2 * root
    part = 1 - (high.slope + root - bend) / jnp.where(below == 0, 1, below)
    part = jnp.where((inside >= 0) & (below != 0) & jnp.isfinite(part), part, 0.5)
    return low.step + jnp.clip(part, 0.1, 0.9) * width
