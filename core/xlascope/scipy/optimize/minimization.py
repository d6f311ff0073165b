"""Minima of functions of a vector, by quasi-Newton methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ... import numpy as jnp
from ...api import value_and_grad
from ...control.flow.loops import while_loop
from ...trace.source import here
from ..arguments import floats_of_any_shape
from .limited_memory import minimize_lbfgs
from .line_search import search
from .outcomes import CONVERGED, norm_of, status_of

_LBFGS = "l-bfgs-experimental-do-not-rely-on-this"


class OptimizeResults(NamedTuple):
    """What a minimization found.

    ``x`` is where it ended, ``fun`` and ``jac`` value and gradient there, ``hess_inv`` an estimate of the inverse
    Hessian (or None); ``success`` says whether it converged; ``status`` is 0 then, 1 after the most iterations, 3 where
    no step was lower, 5 after the most evaluations. ``nfev``, ``njev`` and ``nit`` count evaluations of the function,
    of its gradient, and iterations.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """A local minimum of ``fun(x, *args)``, a number, from the vector ``x0``.

    ``method`` is "BFGS" (options ``norm``, ``maxiter``, ``gtol``, ``line_search_maxiter``), or
    "l-bfgs-experimental-do-not-rely-on-this" (``maxiter``, ``norm``, ``maxcor``, ``ftol``, ``gtol``, ``maxfun``,
    ``maxgrad``, ``maxls``); ``tol`` is the default of ``gtol``, at which norm of the gradient it ends. It can be
    compiled and batched, and differentiated forward. Raises TypeError for ``args`` that are no tuple and unknown
    options, ValueError for another method. (Nocedal and Wright, Numerical Optimization, 2006, chapters 6 and 7.)

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy.optimize import minimize
    >>> found = minimize(lambda x: ((x - jnp.array([1.0, 2.0])) ** 2).sum(), jnp.zeros(2), method="BFGS")
    >>> print(found.x.round(3), found.success)
    [1. 2.] True
    """
    if not isinstance(args, tuple):
        raise TypeError(f"args of minimize is a tuple of what fun takes beside x, got {args!r}{here()}")
    if not callable(fun):
        raise TypeError(f"fun of minimize is a function, got {fun!r}{here()}")
    settings = dict(options or {})
    (start,) = floats_of_any_shape(x0)
    if start.ndim != 1:
        raise ValueError(f"minimize starts at a vector, got shape {start.shape}{here()}")
    if tol is not None:
        settings.setdefault("gtol", tol)

    dtypes = []  # of fun, which may hold numbers wider than x: the search goes on in the dtype of x

    def function(x: Any) -> Any:
        value = fun(x, *args)
        if not jnp.issubdtype(jnp.result_type(value), jnp.floating):
            return value
        dtypes.append(jnp.result_type(value))
        return jnp.asarray(value).astype(start.dtype)

    if method.lower() == "bfgs":
        found = _bfgs(function, start, **settings)
        return found._replace(fun=found.fun.astype(dtypes[0]))
    if method.lower() == _LBFGS:
        found = OptimizeResults(*minimize_lbfgs(function, start, **settings))
        return found._replace(fun=found.fun.astype(dtypes[0]))
    raise ValueError(f"Method {method} not recognized: minimize has 'BFGS' and {_LBFGS!r}{here()}")


def _bfgs(
    function: Callable[[Any], Any],
    start: Any,
    norm: float = jnp.inf,
    maxiter: int | None = None,
    gtol: float = 1e-5,
    line_search_maxiter: int = 10,
) -> OptimizeResults:
    most = start.size * 200 if maxiter is None else maxiter
    both = value_and_grad(function)
    value, gradient = both(start)
    eye = jnp.eye(start.size, dtype=start.dtype)

    def go_on(state: Any) -> Any:
        _, _, gradient, _, failed, iterations, _ = state
        return (norm_of(gradient, norm) >= gtol) & ~failed & (iterations < most)

    def step(state: Any) -> Any:
        x, value, gradient, inverse, _, iterations, count = state
        direction = -_times(inverse, gradient)
        first = jnp.where(iterations == 0, jnp.minimum(1, 1 / jnp.maximum(jnp.sum(jnp.abs(gradient)), 1e-30)), 1.0)
        found = search(both, x, direction, value, gradient, first.astype(value.dtype), max(line_search_maxiter, 1) * 3)
        moved = found.point.step * direction
        change = found.point.gradient - gradient
        curved = jnp.vdot(moved, change)
        usable = curved > 0
        rho = 1 / jnp.where(usable, curved, 1)
        left = eye - rho * moved[:, None] * change
        updated = _times(_times(left, inverse), left.T) + rho * moved[:, None] * moved
        inverse = jnp.where(usable, updated, inverse)
        return (
            x + moved,
            found.point.value,
            found.point.gradient,
            inverse,
            found.failed,
            iterations + 1,
            (count + found.count),
        )

    no = jnp.zeros((), bool)
    x, value, gradient, inverse, failed, iterations, count = while_loop(
        go_on, step, (start, value, gradient, eye, no, 0, 1)
    )
    status = status_of(norm_of(gradient, norm) < gtol, failed, iterations >= most)
    return OptimizeResults(x, status == CONVERGED, status, value, gradient, inverse, count, count, iterations)


def _times(x: Any, y: Any) -> Any:
    return jnp.matmul(x, y, precision="highest")
