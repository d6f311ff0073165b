"""BFGS that remembers the last steps in place of a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import numpy as jnp
from ...api import value_and_grad
from ...control.flow.fori_loop import fori_loop
from ...control.flow.loops import while_loop
from .line_search import search
from .outcomes import CONVERGED, norm_of, status_of


def minimize_lbfgs(
    function: Callable[[Any], Any],
    start: Any,
    maxiter: int | None = None,
    norm: float = jnp.inf,
    maxcor: int = 10,
    ftol: float = 2.220446049250313e-09,
    gtol: float = 1e-05,
    maxfun: int | None = None,
    maxgrad: int | None = None,
    maxls: int = 20,
) -> tuple[Any, ...]:
    """The fields of a result; the options are those of :func:`minimize`.

    (D. C. Liu and J. Nocedal, "On the limited memory BFGS method for large scale optimization", Mathematical
    Programming 45, 1989.)
    """
    n = start.size
    most = n * 200 if maxiter is None else maxiter
    most_evaluations = min(each for each in (maxfun, maxgrad, most * (maxls + 1)) if each is not None)
    both = value_and_grad(function)
    value, gradient = both(start)
    empty = jnp.zeros((maxcor, n), start.dtype)

    def go_on(state: Any) -> Any:
        _, _, gradient, *_, done, failed, iterations, count = state
        more = (iterations < most) & (count < most_evaluations)
        return (norm_of(gradient, norm) >= gtol) & ~done & ~failed & more

    def step(state: Any) -> Any:
        x, value, gradient, steps, changes, weights, scale, _, _, iterations, count = state
        direction = -_turned(gradient, steps, changes, weights, scale)
        first = jnp.where(iterations == 0, jnp.minimum(1, 1 / jnp.maximum(jnp.sum(jnp.abs(gradient)), 1e-30)), 1.0)
        found = search(both, x, direction, value, gradient, first.astype(value.dtype), maxls)
        moved, change = found.point.step * direction, found.point.gradient - gradient
        curved = jnp.vdot(moved, change)
        usable = curved > 0

        def kept(history: Any, latest: Any) -> Any:
            return jnp.where(usable, jnp.concatenate([history[1:], latest[None]], 0), history)

        lower = value - found.point.value
        size = jnp.maximum(jnp.maximum(jnp.abs(value), jnp.abs(found.point.value)), 1)
        return (
            x + moved,
            found.point.value,
            found.point.gradient,
            kept(steps, moved),
            kept(changes, change),
            kept(weights, 1 / jnp.where(usable, curved, 1)),
            jnp.where(usable, curved / jnp.maximum(jnp.vdot(change, change), 1e-37), scale),
            (lower <= ftol * size) & ~found.failed,
            found.failed,
            iterations + 1,
            count + found.count,
        )

    no = jnp.zeros((), bool)
    one = jnp.ones((), start.dtype)
    x, value, gradient, *_, done, failed, iterations, count = while_loop(
        go_on,
        step,
        (start, value, gradient, empty, empty, jnp.zeros((maxcor,), start.dtype), one, no, no, 0, 1),
    )
    converged = (norm_of(gradient, norm) < gtol) | done
    status = status_of(converged, failed, True)
    return x, status == CONVERGED, status, value, gradient, None, count, count, iterations


def _turned(gradient: Any, steps: Any, changes: Any, weights: Any, scale: Any) -> Any:
    """The gradient times the estimated inverse Hessian, by two passes over what is remembered, the latest last."""
    count = steps.shape[0]

    def back(i: Any, both: Any) -> Any:
        q, parts = both
        k = count - 1 - i
        part = jnp.take(weights, k) * jnp.vdot(jnp.take(steps, k, 0), q)
        return q - part * jnp.take(changes, k, 0), parts.at[k].set(part)

    def forth(k: Any, q: Any) -> Any:
        part = jnp.take(weights, k) * jnp.vdot(jnp.take(changes, k, 0), q)
        return q + (jnp.take(parts, k) - part) * jnp.take(steps, k, 0)

    q, parts = fori_loop(0, count, back, (gradient, jnp.zeros_like(weights)))
    return fori_loop(0, count, forth, scale * q)
