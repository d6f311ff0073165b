"""Minimization of functions of a vector, by quasi-Newton methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ... import numpy as jnp
from ...api import value_and_grad
from ...control.flow.loop_api import while_loop
from ...numpy.matrices import eye_in_dtype
from ...operations.conversion import to_dtype
from ...trace.source import here
from ..arguments import promote_dtypes_inexact
from .lbfgs import minimize_lbfgs
from .line_search import wolfe_line_search
from .status_codes import CONVERGED, gradient_norm, select_status

_LBFGS = "l-bfgs-experimental-do-not-rely-on-this"


class OptimizeResults(NamedTuple):
    """Result of a minimization.

    ``x`` is the final point, ``fun`` and ``jac`` are value and gradient there, ``hess_inv`` is an estimate of the
    inverse Hessian (or None); ``success`` says whether it converged; ``status`` is 0 then, 1 after the maximum
    number of iterations, 3 if the line search failed, 5 after the maximum number of evaluations. ``nfev``,
    ``njev`` and ``nit`` count evaluations of the function, of its gradient, and iterations.
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
    """Return a local minimum of the scalar function ``fun(x, *args)``, starting from the vector ``x0``.

    ``method`` is "BFGS" (options ``norm``, ``maxiter``, ``gtol``, ``line_search_maxiter``), or
    "l-bfgs-experimental-do-not-rely-on-this" (``maxiter``, ``norm``, ``maxcor``, ``ftol``, ``gtol``, ``maxfun``,
    ``maxgrad``, ``maxls``); ``tol`` is the default of ``gtol``, the gradient norm at which it stops. It can be
    compiled, batched, and differentiated in forward mode. Raises TypeError for ``args`` that are not a tuple and
    unknown options, ValueError for another method. (Nocedal and Wright, Numerical Optimization, 2006, chapters 6
    and 7.)

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
    (start,) = promote_dtypes_inexact(x0)
    if start.ndim != 1:
        raise ValueError(f"minimize starts at a vector, got shape {start.shape}{here()}")
    if tol is not None:
        settings.setdefault("gtol", tol)

    dtypes = []  # result dtype of fun, which may be wider than x; the search runs in the dtype of x

    def function(x: Any) -> Any:
        value = fun(x, *args)
        if not jnp.issubdtype(jnp.result_type(value), jnp.floating):
            return value
        dtypes.append(jnp.result_type(value))
        return jnp.asarray(value).astype(start.dtype)

    if method.lower() == "bfgs":
        result = _bfgs(function, start, **settings)
        return result._replace(fun=to_dtype(result.fun, dtypes[0]))
    if method.lower() == _LBFGS:
        result = OptimizeResults(*minimize_lbfgs(function, start, **settings))
        return result._replace(fun=to_dtype(result.fun, dtypes[0]))
    raise ValueError(f"Method {method} not recognized: minimize has 'BFGS' and {_LBFGS!r}{here()}")


def _bfgs(
    function: Callable[[Any], Any],
    start: Any,
    norm: float = jnp.inf,
    maxiter: int | None = None,
    gtol: float = 1e-5,
    line_search_maxiter: int = 10,
) -> OptimizeResults:
    max_iterations = start.size * 200 if maxiter is None else maxiter
    both = value_and_grad(function)
    value, gradient = both(start)
    eye = eye_in_dtype(start.size, start.dtype)

    def should_continue(state: Any) -> Any:
        _, _, gradient, _, failed, iterations, _ = state
        return (gradient_norm(gradient, norm) >= gtol) & ~failed & (iterations < max_iterations)

    def step(state: Any) -> Any:
        x, value, gradient, inverse, _, iterations, count = state
        direction = -_matmul(inverse, gradient)
        first = jnp.where(iterations == 0, jnp.minimum(1, 1 / jnp.maximum(jnp.sum(jnp.abs(gradient)), 1e-30)), 1.0)
        result = wolfe_line_search(
            both, x, direction, value, gradient, to_dtype(first, value.dtype), max(line_search_maxiter, 1) * 3
        )
        displacement = result.point.step * direction
        gradient_change = result.point.gradient - gradient
        curvature = jnp.vdot(displacement, gradient_change)
        usable = curvature > 0
        rho = 1 / jnp.where(usable, curvature, 1)
        update_factor = eye - rho * displacement[:, None] * gradient_change
        updated = _matmul(_matmul(update_factor, inverse), update_factor.T) + rho * displacement[:, None] * displacement
        inverse = jnp.where(usable, updated, inverse)
        return (
            x + displacement,
            result.point.value,
            result.point.gradient,
            inverse,
            result.failed,
            iterations + 1,
            (count + result.count),
        )

    false = jnp.zeros((), bool)
    x, value, gradient, inverse, failed, iterations, count = while_loop(
        should_continue, step, (start, value, gradient, eye, false, 0, 1)
    )
    status = select_status(gradient_norm(gradient, norm) < gtol, failed, iterations >= max_iterations)
    return OptimizeResults(x, status == CONVERGED, status, value, gradient, inverse, count, count, iterations)


def _matmul(x: Any, y: Any) -> Any:
    return jnp.matmul(x, y, precision="highest")
