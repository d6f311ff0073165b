"""L-BFGS: the BFGS method with a history of recent steps instead of a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import numpy as jnp
from ...api import value_and_grad
from ...control.flow.fori_loop import fori_loop
from ...control.flow.loop_api import while_loop
from ...ir.avals import make_aval
from ...operations.conversion import to_dtype
from ...operations.shapes import zeros_of
from .line_search import wolfe_line_search
from .status_codes import CONVERGED, gradient_norm, select_status


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
    """Minimize a function from the vector ``start`` on; return the fields of an :class:`OptimizeResults`.

    The other arguments are the options of :func:`minimize`. (D. C. Liu and J. Nocedal, "On the limited memory BFGS
    method for large scale optimization", Mathematical Programming 45, 1989.)
    """
    n = start.size
    max_iterations = n * 200 if maxiter is None else maxiter
    max_evaluations = min(limit for limit in (maxfun, maxgrad, max_iterations * (maxls + 1)) if limit is not None)
    both = value_and_grad(function)
    value, gradient = both(start)
    empty = zeros_of(make_aval((maxcor, n), start.dtype))

    def should_continue(state: Any) -> Any:
        _, _, gradient, *_, done, failed, iterations, count = state
        within_limits = (iterations < max_iterations) & (count < max_evaluations)
        return (gradient_norm(gradient, norm) >= gtol) & ~done & ~failed & within_limits

    def step(state: Any) -> Any:
        x, value, gradient, steps, changes, weights, scale, _, _, iterations, count = state
        direction = -_apply_inverse_hessian(gradient, steps, changes, weights, scale)
        first = jnp.where(iterations == 0, jnp.minimum(1, 1 / jnp.maximum(jnp.sum(jnp.abs(gradient)), 1e-30)), 1.0)
        result = wolfe_line_search(both, x, direction, value, gradient, to_dtype(first, value.dtype), maxls)
        displacement, gradient_change = result.point.step * direction, result.point.gradient - gradient
        curvature = jnp.vdot(displacement, gradient_change)
        usable = curvature > 0

        def push_history(history: Any, latest: Any) -> Any:
            return jnp.where(usable, jnp.concatenate([history[1:], latest[None]], 0), history)

        decrease = value - result.point.value
        size = jnp.maximum(jnp.maximum(jnp.abs(value), jnp.abs(result.point.value)), 1)
        return (
            x + displacement,
            result.point.value,
            result.point.gradient,
            push_history(steps, displacement),
            push_history(changes, gradient_change),
            push_history(weights, 1 / jnp.where(usable, curvature, 1)),
            jnp.where(usable, curvature / jnp.maximum(jnp.vdot(gradient_change, gradient_change), 1e-37), scale),
            (decrease <= ftol * size) & ~result.failed,
            result.failed,
            iterations + 1,
            count + result.count,
        )

    false = jnp.zeros((), bool)
    initial_scale = jnp.ones((), start.dtype)
    x, value, gradient, *_, done, failed, iterations, count = while_loop(
        should_continue,
        step,
        (
            start,
            value,
            gradient,
            empty,
            empty,
            zeros_of(make_aval((maxcor,), start.dtype)),
            initial_scale,
            false,
            false,
            0,
            1,
        ),
    )
    converged = (gradient_norm(gradient, norm) < gtol) | done
    status = select_status(converged, failed, True)
    return x, status == CONVERGED, status, value, gradient, None, count, count, iterations


def _apply_inverse_hessian(gradient: Any, steps: Any, changes: Any, weights: Any, scale: Any) -> Any:
    """Return the gradient times the estimate of the inverse Hessian, by the two-loop recursion.

    ``steps``, ``changes`` and ``weights`` are the history, the latest entry last: displacements, changes of the
    gradient, and the inverses of their inner products. ``scale`` times the identity is the initial estimate.
    """
    count = steps.shape[0]

    def backward_pass(i: Any, carry: Any) -> Any:
        q, coefficients = carry
        k = count - 1 - i
        coefficient = jnp.take(weights, k) * jnp.vdot(jnp.take(steps, k, 0), q)
        return q - coefficient * jnp.take(changes, k, 0), coefficients.at[k].set(coefficient)

    def forward_pass(k: Any, q: Any) -> Any:
        correction = jnp.take(weights, k) * jnp.vdot(jnp.take(changes, k, 0), q)
        return q + (jnp.take(coefficients, k) - correction) * jnp.take(steps, k, 0)

    q, coefficients = fori_loop(0, count, backward_pass, (gradient, jnp.zeros_like(weights)))
    return fori_loop(0, count, forward_pass, scale * q)
