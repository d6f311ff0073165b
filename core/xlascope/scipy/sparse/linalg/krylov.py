"""Conjugate gradients, and their stabilized form for systems that are not symmetric."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

from .... import numpy as jnp
from .... import tree
from ....control.flow.loops import while_loop
from ....control.rules.linear_solve import custom_linear_solve
from ....operations.barriers import stop_gradient
from ....trace.source import here
from ....trace.values import aval_of
from ...arguments import floats_of_any_shape


def dot(x: Any, y: Any) -> Any:
    """The inner product of two trees of arrays, the first conjugated."""
    products = [jnp.vdot(a, b, precision="highest") for a, b in zip(tree.leaves(x), tree.leaves(y), strict=True)]
    return reduce(operator.add, products)


def real_dot(x: Any, y: Any) -> Any:
    """The real part of the inner product."""
    return jnp.real(dot(x, y))


def plus(x: Any, factor: Any, y: Any) -> Any:
    """``x + factor y`` of trees, in the types of ``x``."""
    return tree.map(lambda a, b: a + (factor * b).astype(a.dtype), x, y)


def minus(x: Any, y: Any) -> Any:
    """``x - y`` of trees."""
    return tree.map(lambda a, b: a - b, x, y)


def same(x: Any) -> Any:
    """No preconditioner."""
    return x


class System:
    """The arguments that the solvers share, checked: ``A`` as a function, ``b`` and ``x0`` as trees of floats."""

    def __init__(self, name: str, A: Any, b: Any, x0: Any, maxiter: int | None, M: Any) -> None:
        self.b, self.structure = _tree_of_floats(name, "b", b)
        if x0 is None:
            self.x0 = tree.map(jnp.zeros_like, self.b)
        else:
            self.x0, structure = _tree_of_floats(name, "x0", x0)
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
        self.x0 = tree.map(lambda x, y: x.astype(jnp.result_type(x.dtype, y.dtype)), self.x0, self.b)
        self.size = sum(aval_of(x).size for x in tree.leaves(self.b))
        self.maxiter = 10 * self.size if maxiter is None else maxiter
        self.matvec = _as_function(name, "A", A)
        self.precondition = same if M is None else _as_function(name, "M", M)


def _tree_of_floats(name: str, what: str, given: Any) -> tuple[Any, Any]:
    leaves, structure = tree.flatten(given)
    if not leaves:
        raise ValueError(f"{name} takes arrays as {what}, got {given!r}{here()}")
    return structure.unflatten([floats_of_any_shape(x)[0] for x in leaves]), structure


def _as_function(name: str, what: str, given: Any) -> Callable[[Any], Any]:
    if callable(given):
        return given  # type: ignore[no-any-return]
    shape = aval_of(given).shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"{what} of {name} is a function or a square matrix, got an array of shape {shape}{here()}")
    return lambda x: jnp.matmul(given, x, precision="highest")


def solved(system: System, run: Callable[..., Any], symmetric: bool) -> Any:
    """The solution, with the derivative of every solution: ``run`` solves for a function, a right side and a start."""
    start = stop_gradient_of(system.x0)

    def solve(matvec: Callable[[Any], Any], b: Any) -> Any:
        return run(matvec, b, start, system.precondition)

    def transpose_solve(vecmat: Callable[[Any], Any], b: Any) -> Any:
        return run(vecmat, b, tree.map(jnp.zeros_like, b), system.precondition)

    return custom_linear_solve(system.matvec, system.b, solve, transpose_solve, symmetric=symmetric)


def stop_gradient_of(x: Any) -> Any:
    """A tree of constants."""
    return tree.map(stop_gradient, x)


def cg(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """The x with ``A(x) = b``, for a linear function that is Hermitian and positive definite, by conjugate gradients.

    ``A`` is a function of trees of arrays like ``b``, or a matrix; ``x0`` is where to start (zeros). It ends when the
    residual is at most ``max(tol * norm(b), atol)``, or after ``maxiter`` steps (ten times the number of unknowns).
    ``M`` is an approximate inverse of ``A``. Returns (x, None). Its derivative solves such a system again. Raises
    ValueError for trees or shapes that do not fit. (M. R. Hestenes and E. Stiefel, J. Res. Nat. Bur. Stand. 49, 1952.)

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy.sparse.linalg import cg
    >>> x, _ = cg(lambda x: jnp.array([2.0, 4.0]) * x, jnp.array([2.0, 2.0]))
    >>> print(x.round(3))
    [1.  0.5]
    """
    system = System("cg", A, b, x0, maxiter, M)

    def run(matvec: Callable[[Any], Any], right: Any, start: Any, precondition: Callable[[Any], Any]) -> Any:
        bound = jnp.maximum(jnp.square(tol) * real_dot(right, right), jnp.square(atol))
        residual = minus(right, matvec(start))
        direction = precondition(residual)
        gamma = real_dot(residual, direction)

        def far(state: Any) -> Any:
            _, r, gamma, _, k = state
            size = gamma if precondition is same else real_dot(r, r)
            return (size > bound) & (k < system.maxiter)

        def step(state: Any) -> Any:
            x, r, gamma, p, k = state
            moved = matvec(p)
            alpha = gamma / real_dot(p, moved)
            x, r = plus(x, alpha, p), plus(r, -alpha, moved)
            z = precondition(r)
            after = real_dot(r, z)
            return x, r, after, plus(z, after / gamma, p), k + 1

        return while_loop(far, step, (start, residual, gamma, direction, 0))[0]

    return solved(system, run, symmetric=True), None


def bicgstab(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """The x with ``A(x) = b``, for any linear function, by stabilized biconjugate gradients.

    Arguments and result are those of :func:`cg`. (H. A. van der Vorst, SIAM J. Sci. Stat. Comput. 13, 1992.)

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy.sparse.linalg import bicgstab
    >>> x, _ = bicgstab(jnp.array([[2.0, 1.0], [0.0, 4.0]]), jnp.array([3.0, 4.0]))
    >>> print(x.round(3))
    [1. 1.]
    """
    system = System("bicgstab", A, b, x0, maxiter, M)

    def run(matvec: Callable[[Any], Any], right: Any, start: Any, precondition: Callable[[Any], Any]) -> Any:
        bound = jnp.maximum(jnp.square(tol) * real_dot(right, right), jnp.square(atol))
        first = minus(right, matvec(start))
        one = jnp.ones_like(dot(first, first))

        def far(state: Any) -> Any:
            _, r, *_, k = state
            return (real_dot(r, r) > bound) & (k < system.maxiter) & (k >= 0)

        def step(state: Any) -> Any:
            x, r, alpha, omega, rho, p, q, k = state
            after = dot(first, r)
            p = plus(r, after / rho * alpha / omega, plus(p, -omega, q))
            turned = precondition(p)
            q = matvec(turned)
            alpha = after / dot(first, q)
            s = plus(r, -alpha, q)
            early = real_dot(s, s) < bound
            of_s = precondition(s)
            t = matvec(of_s)
            omega = dot(t, s) / dot(t, t)
            half = plus(x, alpha, turned)
            x = tree.map(lambda a, c: jnp.where(early, a, c), half, plus(half, omega, of_s))
            r = tree.map(lambda a, c: jnp.where(early, a, c), s, plus(s, -omega, t))
            broken = (omega == 0) | (alpha == 0)
            k = jnp.where(broken & ~early, -11, k + 1)
            k = jnp.where(after == 0, -10, k)
            return x, r, alpha, omega, after, p, q, k

        return while_loop(far, step, (start, first, one, one, one, first, first, jnp.asarray(0)))[0]

    return solved(system, run, symmetric=False), None
