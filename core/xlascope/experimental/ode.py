"""Ordinary differential equations: the Dormand-Prince method with adaptive steps, and its adjoint.

J. R. Dormand, P. J. Prince: "A family of embedded Runge-Kutta formulae", Journal of Computational and Applied
Mathematics 6, 1980; values between steps after L. F. Shampine: "Some practical Runge-Kutta formulas", Mathematics of
Computation 46, 1986; the adjoint after R. T. Q. Chen et al.: "Neural ordinary differential equations", 2018,
appendix C.

>>> import xlascope.numpy as jnp
>>> y = odeint(lambda y, t: -y, jnp.array(1.0), jnp.array([0.0, 1.0]))
>>> print(f"{y[1]:.5f}")
0.36788
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import lax, tree_util
from .. import numpy as jnp
from ..api import vjp, vmap
from ..control.rules.closure_conversion import closure_convert
from ..control.rules.custom_vjp import custom_vjp
from ..flatten_util import ravel_pytree
from ..names import explain_missing as _explain_missing

__all__ = [
    "abs2", "fit_4th_order_polynomial", "initial_step_size", "interp_fit_dopri", "mean_error_ratio", "odeint",
    "optimal_step_size", "ravel_first_arg", "runge_kutta_step",
]  # fmt: skip

Dynamics = Callable[..., Any]

# The Butcher tableau: stage times and weights, the solution of order 5, and its difference from that of order 4.
_STAGE_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0, 0)
_STAGE_WEIGHTS = (
    (1 / 5, 0, 0, 0, 0, 0, 0),
    (3 / 40, 9 / 40, 0, 0, 0, 0, 0),
    (44 / 45, -56 / 15, 32 / 9, 0, 0, 0, 0),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0, 0),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0, 0),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0),
)
_SOLUTION_WEIGHTS = (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0)
_ERROR_WEIGHTS = (
    35 / 384 - 1951 / 21600, 0, 500 / 1113 - 22642 / 50085, 125 / 192 - 451 / 720, -2187 / 6784 - -12231 / 42400,
    11 / 84 - 649 / 6300, -1 / 60,
)  # fmt: skip
_MIDPOINT_WEIGHTS = (
    6025192743 / 30085553152 / 2, 0, 51252292925 / 65400821598 / 2, -2691868925 / 45128329728 / 2,
    187940372067 / 1594534317056 / 2, -1776094331 / 19743644256 / 2, 11237099 / 235043384 / 2,
)  # fmt: skip


def odeint(
    func: Dynamics,
    y0: Any,
    t: Any,
    *args: Any,
    rtol: Any = 1.4e-8,
    atol: Any = 1.4e-8,
    mxstep: Any = np.inf,
    hmax: Any = np.inf,
) -> Any:
    """Return the solution of dy/dt = ``func(y, t, *args)`` at the increasing times ``t``, starting from ``y0``.

    ``y0`` is a tree of arrays, the value at the first time; the result is a tree like it, with a leading axis for the
    times. Step sizes are chosen so that the estimated error stays within ``rtol`` and ``atol``; ``hmax`` is the
    largest step, ``mxstep`` the largest number of steps between two times. Derivatives with respect to ``y0``, ``t``,
    ``args`` and values that ``func`` closes over use reverse mode, which solves the adjoint equation backward and
    stores no steps. Raises TypeError for ``args`` that are no trees of arrays.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> def end(rate):
    ...     return odeint(lambda y, t, rate: -rate * y, 1.0, jnp.array([0.0, 1.0]), rate)[1]
    >>> print(f"{xs.grad(end)(1.0):.5f}")
    -0.36788
    """
    for leaf in tree_util.tree_leaves(args):
        if not isinstance(leaf, (bool, int, float, complex, np.generic, np.ndarray)) and not hasattr(leaf, "aval"):
            raise TypeError(f"the arguments of odeint are trees of arrays, but one has {leaf!r}; close over it in func")
    t = jnp.asarray(t)
    converted, hoisted = closure_convert(func, y0, t[0], *args)
    vector, back = ravel_pytree(y0)
    solution = _odeint(ravel_first_arg(converted, back), rtol, atol, mxstep, hmax, vector, t, *args, *hoisted)
    return vmap(back)(solution)


def ravel_first_arg(f: Dynamics, unravel: Callable[[Any], Any]) -> Dynamics:
    """Return ``f`` as a function that takes and returns a vector in place of a tree.

    ``unravel`` turns the vector into the tree that ``f`` takes first; other arguments are passed on.
    """

    @functools.wraps(f)
    def flat(y: Any, *args: Any) -> Any:
        return ravel_pytree(f(unravel(y), *args))[0]

    return flat


# One step -----------------------------------------------------------------------------------------------------------


def runge_kutta_step(func: Dynamics, y0: Any, f0: Any, t0: Any, dt: Any) -> tuple[Any, Any, Any, Any]:
    """Take one step of size ``dt`` from ``y0``, whose derivative is ``f0``, at time ``t0``.

    Returns the new value and its derivative, the error estimate, and the derivatives at the seven stages.
    """
    times, before = jnp.array(_STAGE_TIMES, dtype=f0.dtype), jnp.array(_STAGE_WEIGHTS, dtype=f0.dtype)

    def stage(i: Any, k: Any) -> Any:
        y = y0 + dt * jnp.dot(before[i - 1], k)
        return k.at[i].set(func(y, t0 + dt * times[i - 1]))

    k = jnp.zeros((7, f0.shape[0]), f0.dtype).at[0].set(f0)
    k = lax.fori_loop(1, 7, stage, k)
    solution, error = (jnp.array(c, dtype=f0.dtype) for c in (_SOLUTION_WEIGHTS, _ERROR_WEIGHTS))
    return dt * jnp.dot(solution, k) + y0, k[-1], dt * jnp.dot(error, k), k


def abs2(x: Any) -> Any:
    """Return the square of the absolute value, elementwise."""
    return x.real**2 + x.imag**2 if jnp.iscomplexobj(x) else x**2


def mean_error_ratio(error_estimate: Any, rtol: Any, atol: Any, y0: Any, y1: Any) -> Any:
    """Return the root mean square of the errors relative to the tolerated ones; a step is accepted up to 1.

    ``y0`` and ``y1`` are the values before and after the step.
    """
    tolerated = atol + rtol * jnp.maximum(jnp.abs(y0), jnp.abs(y1))
    return jnp.sqrt(jnp.mean(abs2(error_estimate / tolerated.astype(error_estimate.dtype))))


def optimal_step_size(
    last_step: Any,
    mean_error_ratio: Any,
    safety: Any = 0.9,
    ifactor: Any = 10.0,
    dfactor: Any = 0.2,
    order: Any = 5.0,
) -> Any:
    """Return the size of the next step after a step of size ``last_step`` with that error ratio.

    It is at most ``ifactor`` times and at least ``dfactor`` times the last. After an accepted step it is not shorter
    than the last.
    """
    min_factor = jnp.where(mean_error_ratio < 1, 1.0, dfactor)
    ideal_factor = mean_error_ratio ** (-1.0 / order) * safety
    factor = jnp.minimum(ifactor, jnp.maximum(ideal_factor, min_factor))
    return jnp.where(mean_error_ratio == 0, last_step * ifactor, last_step * factor)


def initial_step_size(fun: Dynamics, t0: Any, y0: Any, order: int, rtol: Any, atol: Any, f0: Any) -> Any:
    """Return the size of the first step from ``y0``, whose derivative is ``f0``, for a method of order ``order``.

    The algorithm is that of E. Hairer, S. P. Nørsett, G. Wanner, "Solving ordinary differential equations I", II.4.
    """
    dtype = y0.dtype
    scale = (atol + jnp.abs(y0) * rtol).astype(dtype)
    of_value, of_slope = jnp.linalg.norm(y0 / scale), jnp.linalg.norm(f0 / scale)
    trial = jnp.where((of_value < 1e-5) | (of_slope < 1e-5), 1e-6, 0.01 * of_value / of_slope)
    f1 = fun(y0 + trial.astype(dtype) * f0, t0 + trial)
    of_curve = jnp.linalg.norm((f1 - f0) / scale) / trial
    by_curve = jnp.where(
        (of_slope <= 1e-15) & (of_curve <= 1e-15),
        jnp.maximum(1e-6, trial * 1e-3),
        (0.01 / jnp.maximum(of_slope, of_curve)) ** (1.0 / (order + 1.0)),
    )
    return jnp.minimum(100.0 * trial, by_curve)


def fit_4th_order_polynomial(y0: Any, y1: Any, y_mid: Any, dy0: Any, dy1: Any, dt: Any) -> tuple[Any, ...]:
    """Return the coefficients, highest first, of the polynomial of order 4 through a step, on the interval [0, 1].

    It has the values ``y0``, ``y_mid``, ``y1`` at 0, 1/2, 1, and the derivatives ``dy0``, ``dy1`` with respect to
    time, for a step of size ``dt``.
    """
    a = -2.0 * dt * dy0 + 2.0 * dt * dy1 - 8.0 * y0 - 8.0 * y1 + 16.0 * y_mid
    b = 5.0 * dt * dy0 - 3.0 * dt * dy1 + 18.0 * y0 + 14.0 * y1 - 32.0 * y_mid
    c = -4.0 * dt * dy0 + dt * dy1 - 11.0 * y0 - 5.0 * y1 + 16.0 * y_mid
    return a, b, c, dt * dy0, y0


def interp_fit_dopri(y0: Any, y1: Any, k: Any, dt: Any) -> Any:
    """Return the coefficients, highest first, of the polynomial of order 4 through a step, on the interval [0, 1].

    ``k`` are the derivatives at the stages of the step, which :func:`runge_kutta_step` returns.
    """
    middle = y0 + dt * jnp.dot(jnp.array(_MIDPOINT_WEIGHTS, dtype=y0.dtype), k)
    return jnp.asarray(fit_4th_order_polynomial(y0, y1, middle, k[0], k[-1], dt))


# The solution, and its adjoint --------------------------------------------------------------------------------------


@functools.partial(custom_vjp, nondiff_argnums=(0, 1, 2, 3, 4))
def _odeint(func: Dynamics, rtol: Any, atol: Any, mxstep: Any, hmax: Any, y0: Any, ts: Any, *args: Any) -> Any:
    """Solve the equation for a vector ``y0``; return the values at the times ``ts`` along a leading axis."""

    def slope(y: Any, t: Any) -> Any:
        return func(y, t, *args)

    def to_time(carry: Any, target: Any) -> Any:
        def condition(state: Any) -> Any:
            count, _, _, t, dt, _, _ = state
            return (t < target) & (count < mxstep) & (dt > 0)

        def step(state: Any) -> Any:
            count, y, f, t, dt, _, _ = state
            new_y, new_f, error, k = runge_kutta_step(slope, y, f, t, dt)
            ratio = mean_error_ratio(error, rtol, atol, y, new_y)
            new_dt = jnp.clip(optimal_step_size(dt, ratio), 0.0, hmax)
            new = (new_y, new_f, t + dt, new_dt, t, interp_fit_dopri(y, new_y, k, dt))
            old = (y, f, t, new_dt, *state[5:])
            selected = (jnp.where(ratio <= 1.0, after, before) for after, before in zip(new, old, strict=True))
            return (count + 1, *selected)

        _, *after = lax.while_loop(condition, step, (0, *carry))
        _, _, t, _, last_t, polynomial = after
        where = (target - last_t) / (t - last_t)
        return tuple(after), jnp.polyval(polynomial, where.astype(polynomial.dtype))

    f0 = slope(y0, ts[0])
    dt = jnp.clip(initial_step_size(slope, ts[0], y0, 4, rtol, atol, f0), 0.0, hmax)
    start = (y0, f0, ts[0], dt.astype(ts.dtype), ts[0], jnp.array([y0] * 5))
    _, ys = lax.scan(to_time, start, ts[1:])
    return jnp.concatenate((y0[None], ys))


def _forward(func: Dynamics, rtol: Any, atol: Any, mxstep: Any, hmax: Any, y0: Any, ts: Any, *args: Any) -> Any:
    ys = _odeint(func, rtol, atol, mxstep, hmax, y0, ts, *args)
    return ys, (ys, ts, args)


def _backward(func: Dynamics, rtol: Any, atol: Any, mxstep: Any, hmax: Any, residuals: Any, cotangent: Any) -> Any:
    """Return the cotangents of y0, times and arguments: solve the adjoint equation backward from time to time."""
    ys, ts, args = residuals

    def adjoint(state: Any, t: Any, *args: Any) -> Any:
        """Return the derivative, backward in time, of the value and the cotangents of value, time and arguments."""
        y, y_bar, *_ = state
        y_dot, pullback = vjp(func, y, -t, *args)
        return (-y_dot, *pullback(y_bar))

    def to_time_before(carry: Any, i: Any) -> Any:
        y_bar, t0_bar, args_bar = carry
        t_bar = jnp.dot(func(ys[i], ts[i], *args), cotangent[i])
        state = (ys[i], y_bar, t0_bar - t_bar, args_bar)
        times = jnp.array([-ts[i], -ts[i - 1]])
        solved = odeint(
            lambda state, t, *args: _as_state(adjoint(state, t, *args)),
            state, times, *args, rtol=rtol, atol=atol, mxstep=mxstep, hmax=hmax,
        )  # fmt: skip
        _, y_bar, t0_bar, args_bar = tree_util.tree_map(lambda leaf: leaf[1], solved)
        return (y_bar + cotangent[i - 1], t0_bar, args_bar), t_bar

    start = (cotangent[-1], jnp.zeros((), ts.dtype), tree_util.tree_map(jnp.zeros_like, args))
    (y_bar, t0_bar, args_bar), reversed_bars = lax.scan(to_time_before, start, jnp.arange(len(ts) - 1, 0, -1))
    return y_bar, jnp.concatenate([t0_bar[None], reversed_bars[::-1]]), *args_bar


def _as_state(slopes: Any) -> Any:
    y_dot, y_bar, t_bar, *args_bar = slopes
    return y_dot, y_bar, t_bar, tuple(args_bar)


_odeint.defvjp(_forward, _backward)

_explain_missing(__name__)
