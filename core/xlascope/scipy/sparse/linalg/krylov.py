"""Conjugate gradients, and stabilized biconjugate gradients for systems that are not symmetric."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

from .... import numpy as jnp
from .... import tree
from ....control.flow.loop_api import while_loop
from ....control.rules.linear_solve import custom_linear_solve
from ....dtypes import promote_dtypes
from ....operations.barriers import stop_gradient
from ....operations.conversion import to_dtype
from ....trace.source import here
from ....trace.values import aval_of
from ...arguments import promote_dtypes_inexact


def tree_dot(x: Any, y: Any) -> Any:
    """Return the inner product of two pytrees of arrays; the first is conjugated."""
    products = [jnp.vdot(a, b, precision="highest") for a, b in zip(tree.leaves(x), tree.leaves(y), strict=True)]
    return reduce(operator.add, products)


def tree_real_dot(x: Any, y: Any) -> Any:
    """Return the real part of the inner product of two pytrees."""
    return jnp.real(tree_dot(x, y))


def tree_add_scaled(x: Any, factor: Any, y: Any) -> Any:
    """Return ``x + factor * y`` of pytrees, in the dtypes of ``x``."""
    return tree.map(lambda a, b: a + to_dtype(factor * b, a.dtype), x, y)


def tree_subtract(x: Any, y: Any) -> Any:
    """Return ``x - y`` of pytrees."""
    return tree.map(lambda a, b: a - b, x, y)


def identity_preconditioner(x: Any) -> Any:
    """Return ``x``: the identity preconditioner."""
    return x


class LinearSystem:
    """Checked arguments of an iterative solver: the system, the starting point and the preconditioner.

    ``matvec`` and ``precondition`` are functions of pytrees like ``b``; ``b`` and ``x0`` are pytrees of inexact arrays
    of the same structure and shapes, ``size`` is their number of elements, and ``maxiter`` defaults to ten times that.
    Raises ValueError for arguments that do not fit; ``name`` is the solver's name, for messages.
    """

    def __init__(self, name: str, A: Any, b: Any, x0: Any, maxiter: int | None, M: Any) -> None:
        self.b, self.structure = _as_inexact_tree(name, "b", b)
        if x0 is None:
            self.x0 = tree.map(jnp.zeros_like, self.b)
        else:
            self.x0, structure = _as_inexact_tree(name, "x0", x0)
            if structure != self.structure:
                raise ValueError(
                    f"x0 and b of {name} have to be trees alike: x0 is {structure}, b is {self.structure}{here()}"
                )
        shapes = [aval_of(x).shape for x in tree.leaves(self.b)]
        if shapes != [aval_of(x).shape for x in tree.leaves(self.x0)]:
            raise ValueError(
                f"arrays in x0 and b of {name} must have matching shapes, got "
                f"{[aval_of(x).shape for x in tree.leaves(self.x0)]} and {shapes}{here()}"
            )
        self.x0 = tree.map(
            lambda x, y: to_dtype(x, promote_dtypes(((x.dtype, False), (y.dtype, False)))[0]), self.x0, self.b
        )
        self.size = sum(aval_of(x).size for x in tree.leaves(self.b))
        self.maxiter = 10 * self.size if maxiter is None else maxiter
        self.matvec = _as_linear_function(name, "A", A)
        self.precondition = identity_preconditioner if M is None else _as_linear_function(name, "M", M)


def _as_inexact_tree(name: str, label: str, value: Any) -> tuple[Any, Any]:
    leaves, structure = tree.flatten(value)
    if not leaves:
        raise ValueError(f"{name} takes arrays as {label}, got {value!r}{here()}")
    return structure.unflatten([promote_dtypes_inexact(x)[0] for x in leaves]), structure


def _as_linear_function(name: str, label: str, value: Any) -> Callable[[Any], Any]:
    if callable(value):
        return value  # type: ignore[no-any-return]
    shape = aval_of(value).shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"{label} of {name} is a function or a square matrix, got an array of shape {shape}{here()}")
    return lambda x: jnp.matmul(value, x, precision="highest")


def solve_with_gradient(system: LinearSystem, iterate: Callable[..., Any], symmetric: bool) -> Any:
    """Return the solution of a system, differentiated implicitly as a linear solve.

    ``iterate(matvec, right, start, precondition)`` returns the solution of ``matvec(x) = right``. ``symmetric`` says
    that the system is its own transpose.
    """
    start = tree_stop_gradient(system.x0)

    def solve(matvec: Callable[[Any], Any], b: Any) -> Any:
        return iterate(matvec, b, start, system.precondition)

    def transpose_solve(vecmat: Callable[[Any], Any], b: Any) -> Any:
        return iterate(vecmat, b, tree.map(jnp.zeros_like, b), system.precondition)

    return custom_linear_solve(system.matvec, system.b, solve, transpose_solve, symmetric=symmetric)


def tree_stop_gradient(x: Any) -> Any:
    """Apply ``stop_gradient`` to all leaves of a pytree."""
    return tree.map(stop_gradient, x)


def cg(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """Return (x, None) with ``A(x) = b`` for a Hermitian positive definite linear function, by conjugate gradients.

    ``A`` is a function of pytrees of arrays like ``b``, or a matrix; ``x0`` is the starting point (zeros). It
    stops when the norm of the residual is at most ``max(tol * norm(b), atol)``, or after ``maxiter`` steps (ten
    times the number of unknowns). ``M`` is an approximate inverse of ``A``. Its derivative solves another such
    system. Raises ValueError for incompatible trees or shapes. (M. R. Hestenes and E. Stiefel, J. Res. Nat. Bur.
    Stand. 49, 1952.)

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy.sparse.linalg import cg
    >>> x, _ = cg(lambda x: jnp.array([2.0, 4.0]) * x, jnp.array([2.0, 2.0]))
    >>> print(x.round(3))
    [1.  0.5]
    """
    system = LinearSystem("cg", A, b, x0, maxiter, M)

    def iterate(matvec: Callable[[Any], Any], right: Any, start: Any, precondition: Callable[[Any], Any]) -> Any:
        bound = jnp.maximum(jnp.square(tol) * tree_real_dot(right, right), jnp.square(atol))
        residual = tree_subtract(right, matvec(start))
        direction = precondition(residual)
        gamma = tree_real_dot(residual, direction)

        def has_not_converged(state: Any) -> Any:
            _, r, gamma, _, k = state
            size = gamma if precondition is identity_preconditioner else tree_real_dot(r, r)
            return (size > bound) & (k < system.maxiter)

        def step(state: Any) -> Any:
            x, r, gamma, p, k = state
            a_p = matvec(p)
            alpha = gamma / tree_real_dot(p, a_p)
            x, r = tree_add_scaled(x, alpha, p), tree_add_scaled(r, -alpha, a_p)
            z = precondition(r)
            new_gamma = tree_real_dot(r, z)
            return x, r, new_gamma, tree_add_scaled(z, new_gamma / gamma, p), k + 1

        return while_loop(has_not_converged, step, (start, residual, gamma, direction, 0))[0]

    return solve_with_gradient(system, iterate, symmetric=True), None


def bicgstab(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """Return (x, None) with ``A(x) = b`` for any linear function, by stabilized biconjugate gradients.

    Arguments and result are those of :func:`cg`. (H. A. van der Vorst, SIAM J. Sci. Stat. Comput. 13, 1992.)

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy.sparse.linalg import bicgstab
    >>> x, _ = bicgstab(jnp.array([[2.0, 1.0], [0.0, 4.0]]), jnp.array([3.0, 4.0]))
    >>> print(x.round(3))
    [1. 1.]
    """
    system = LinearSystem("bicgstab", A, b, x0, maxiter, M)

    def iterate(matvec: Callable[[Any], Any], right: Any, start: Any, precondition: Callable[[Any], Any]) -> Any:
        bound = jnp.maximum(jnp.square(tol) * tree_real_dot(right, right), jnp.square(atol))
        r0 = tree_subtract(right, matvec(start))
        unit = jnp.ones_like(tree_dot(r0, r0))

        def has_not_converged(state: Any) -> Any:
            _, r, *_, k = state
            return (tree_real_dot(r, r) > bound) & (k < system.maxiter) & (k >= 0)

        def step(state: Any) -> Any:
            x, r, alpha, omega, rho, p, q, k = state
            new_rho = tree_dot(r0, r)
            p = tree_add_scaled(r, new_rho / rho * alpha / omega, tree_add_scaled(p, -omega, q))
            p_hat = precondition(p)
            q = matvec(p_hat)
            alpha = new_rho / tree_dot(r0, q)
            s = tree_add_scaled(r, -alpha, q)
            half_step_converged = tree_real_dot(s, s) < bound
            s_hat = precondition(s)
            t = matvec(s_hat)
            omega = tree_dot(t, s) / tree_dot(t, t)
            x_half = tree_add_scaled(x, alpha, p_hat)
            x = tree.map(
                lambda a, c: jnp.where(half_step_converged, a, c), x_half, tree_add_scaled(x_half, omega, s_hat)
            )
            r = tree.map(lambda a, c: jnp.where(half_step_converged, a, c), s, tree_add_scaled(s, -omega, t))
            breakdown = (omega == 0) | (alpha == 0)
            k = jnp.where(breakdown & ~half_step_converged, -11, k + 1)
            k = jnp.where(new_rho == 0, -10, k)
            return x, r, alpha, omega, new_rho, p, q, k

        return while_loop(has_not_converged, step, (start, r0, unit, unit, unit, r0, r0, jnp.asarray(0)))[0]

    return solve_with_gradient(system, iterate, symmetric=False), None
