"""GMRES: the generalized minimal residual method."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from .... import numpy as jnp
from .... import tree
from ....control.flow.fori_loop import fori_loop
from ....control.flow.loop_api import while_loop
from ....dtypes import promote_dtypes
from ....ir.avals import make_aval
from ....lax import linalg as of_lax
from ....numpy.axes import whole_number
from ....operations.conversion import to_dtype
from ....operations.shapes import zeros_of
from ...arguments import machine_epsilon, require_one_of
from .krylov import LinearSystem, solve_with_gradient, tree_real_dot, tree_subtract


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, Any]:
    """Return (x, 0) with ``A(x) = b`` for any linear function, by minimal residuals in Krylov spaces.

    Each cycle builds a space of ``restart`` vectors, and the next starts from its result. Other arguments are
    those of :func:`xlascope.scipy.sparse.linalg.cg`; ``maxiter`` counts cycles. ``solve_method`` is "batched" or
    "incremental", and has no effect. Raises ValueError for another method and for incompatible trees. (Y. Saad
    and M. H. Schultz, SIAM J. Sci. Stat. Comput. 7, 1986.)

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy.sparse.linalg import gmres
    >>> x, _ = gmres(jnp.array([[2.0, 1.0], [0.0, 4.0]]), jnp.array([3.0, 4.0]))
    >>> print(x.round(3))
    [1. 1.]
    """
    require_one_of("solve_method of gmres", solve_method, "batched", "incremental")
    system = LinearSystem("gmres", A, b, x0, maxiter, M)
    size = min(whole_number(restart, "restart of gmres"), system.size)

    def iterate(matvec: Callable[[Any], Any], right: Any, start: Any, precondition: Callable[[Any], Any]) -> Any:
        bound = jnp.maximum(jnp.square(tol) * tree_real_dot(right, right), jnp.square(atol))
        _, unravel = _ravel_tree(right)

        def residual(x: Any) -> Any:
            return tree_subtract(right, matvec(x))

        def has_not_converged(state: Any) -> Any:
            x, k = state
            current_residual = residual(x)
            return (tree_real_dot(current_residual, current_residual) > bound) & (k < system.maxiter)

        def step(state: Any) -> Any:
            x, k = state
            delta = _minimize_residual(
                lambda v: _flatten_to_vector(precondition(matvec(unravel(v)))),
                _flatten_to_vector(precondition(residual(x))),
                size,
            )
            correction = unravel(delta)
            return _tree_add(x, correction), k + 1

        return while_loop(has_not_converged, step, (start, 0))[0]

    return solve_with_gradient(system, iterate, symmetric=False), jnp.asarray(0)


def _ravel_tree(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the arrays of a pytree as one vector, and the function that restores the pytree."""
    leaves, structure = tree.flatten(x)
    ends = list(itertools.accumulate(leaf.size for leaf in leaves))

    def unravel(flat: Any) -> Any:
        parts = [flat[end - leaf.size : end] for leaf, end in zip(leaves, ends, strict=True)]
        return structure.unflatten(
            [to_dtype(jnp.reshape(part, leaf.shape), leaf.dtype) for part, leaf in zip(parts, leaves, strict=True)]
        )

    dtype = promote_dtypes(tuple((leaf.dtype, False) for leaf in leaves))[0]
    return jnp.concatenate([to_dtype(jnp.ravel(leaf), dtype) for leaf in leaves]), unravel


def _flatten_to_vector(x: Any) -> Any:
    return _ravel_tree(x)[0]


def _tree_add(x: Any, y: Any) -> Any:
    flat, unravel = _ravel_tree(x)
    return unravel(flat + to_dtype(_flatten_to_vector(y), flat.dtype))


def _matmul(x: Any, y: Any) -> Any:
    return jnp.matmul(x, y, precision="highest")


def _minimize_residual(apply: Callable[[Any], Any], r: Any, size: int) -> Any:
    """Return the v in the span of r, A r, … that minimizes |r - A v|, by an orthonormal Arnoldi basis.

    ``apply`` multiplies a vector by A; ``size`` is the number of vectors in the span.
    """
    length = jnp.sqrt(jnp.real(jnp.vdot(r, r)))
    basis = zeros_of(make_aval((size + 1, r.shape[0]), r.dtype)).at[0].set(_normalize(r, length))
    hessenberg = zeros_of(make_aval((size + 1, size), r.dtype))

    def step(k: Any, carry: Any) -> Any:
        basis, hessenberg = carry
        v = apply(jnp.take(basis, k, 0))
        before = jnp.sqrt(jnp.real(jnp.vdot(v, v)))
        column = zeros_of(make_aval((size + 1,), r.dtype))
        for _ in range(2):  # twice, so that the basis stays orthogonal
            projections = _matmul(jnp.conj(basis), v)
            v, column = v - _matmul(projections, basis), column + projections
        after = jnp.sqrt(jnp.real(jnp.vdot(v, v)))
        after = jnp.where(after > 8 * machine_epsilon(r.dtype) * before, after, 0)  # Krylov space exhausted
        basis = basis.at[k + 1].set(_normalize(v, after))
        return basis, hessenberg.at[:, k].set(column.at[k + 1].set(to_dtype(after, r.dtype)))

    basis, hessenberg = fori_loop(0, size, step, (basis, hessenberg))
    residual_coordinates = zeros_of(make_aval((size + 1,), r.dtype)).at[0].set(to_dtype(length, r.dtype))
    q, triangle = of_lax.qr(hessenberg, full_matrices=False)
    # columns after the space was exhausted are zero: exclude them
    valid = jnp.abs(jnp.diagonal(triangle)) > machine_epsilon(r.dtype) * jnp.max(jnp.abs(triangle))
    triangle = jnp.where(valid[:, None] & valid, triangle, 0) + jnp.diag(to_dtype(jnp.where(valid, 0, 1), r.dtype))
    projected = jnp.where(valid, _matmul(jnp.conj(q).T, residual_coordinates), 0)
    coefficients = of_lax.triangular_solve(triangle, projected[:, None], left_side=True)[:, 0]
    return _matmul(coefficients, basis[:size])


def _normalize(v: Any, length: Any) -> Any:
    zero = length == 0
    return jnp.where(zero, 0, v / to_dtype(jnp.where(zero, 1, length), v.dtype))
