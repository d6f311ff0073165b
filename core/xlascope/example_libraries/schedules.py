"""Schedules of an optimizer's step size; part of :mod:`.optimizers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import numpy as jnp

#: From the number of a step to its size.
Schedule = Callable[[Any], Any]


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """Return a schedule, a function from a step's number to its size, for a number or such a function.

    Raises TypeError for anything else.
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule  # type: ignore[no-any-return]
    if jnp.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(f"a step size is a number or a function of the step's number, got {type(scalar_or_schedule)}")


def constant(step_size: Any) -> Schedule:
    """Return a schedule with a constant step size."""
    return lambda step: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """Return the schedule ``step_size * decay_rate ** (step / decay_steps)``."""
    return lambda step: step_size * decay_rate ** (step / decay_steps)


def inverse_time_decay(step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False) -> Schedule:
    """Return the schedule ``step_size / (1 + decay_rate * step / decay_steps)``.

    With ``staircase`` the quotient ``step / decay_steps`` is rounded down.
    """
    if staircase:
        return lambda step: step_size / (1 + decay_rate * jnp.floor(step / decay_steps))
    return lambda step: step_size / (1 + decay_rate * step / decay_steps)


def polynomial_decay(step_size: Any, decay_steps: Any, final_step_size: Any, power: Any = 1.0) -> Schedule:
    """Return a schedule that decays from ``step_size`` to ``final_step_size`` in ``decay_steps`` steps.

    The difference from the final size is multiplied by ``(1 - step / decay_steps) ** power``.
    """

    def size(step: Any) -> Any:
        remaining = (1 - jnp.minimum(step, decay_steps) / decay_steps) ** power
        return remaining * (step_size - final_step_size) + final_step_size

    return size


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """Return a schedule of constant ``values``, separated by the step numbers ``boundaries``.

    There is one value more than boundaries; ``values[i]`` holds up to and including step ``boundaries[i]``. Raises
    ValueError if the shapes do not fit.
    """
    boundaries, values = jnp.array(boundaries), jnp.array(values)
    if boundaries.ndim != 1 or values.shape != (boundaries.shape[0] + 1,):
        raise ValueError(f"boundaries of shape {boundaries.shape} do not fit values of shape {values.shape}")
    return lambda step: values[jnp.sum(step > boundaries)]
