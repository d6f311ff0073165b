"""The polar decomposition by QDWH."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..control.flow.loop_api import while_loop
from ..control.jit.arguments import JitOptions
from ..control.jit.jit_function import jit_function
from ..control.rules.custom_jvp import custom_jvp
from ..control.rules.tangents import to_rule_tangent
from ..ir.markers import ZERO
from ..operations.arithmetic import add, div, sub
from ..operations.bits import bitwise_and
from ..operations.comparisons import eq, gt, lt
from ..operations.conversion import convert_element_type, to_dtype
from ..operations.integer_arguments import whole_number
from ..operations.linalg import polar_decomposition
from ..operations.linalg.hermitian_eigenvalues import eigh
from ..operations.linalg.matrices import adjoint, as_columns, as_rows, product
from ..operations.linalg.matrix_stacks import require_matrices
from ..operations.operand_values import typed_scalar
from ..operations.selection import select
from ..operations.shapes import broadcast_in_dim, broadcasted_iota
from ..operations.tangent_arithmetic import neg
from ..trace.source import here
from ..trace.values import aval_of

_DEFAULT_MAX_ITERATIONS = 10


def qdwh(
    x: Any,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[Any, Any] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Compute the polar decomposition ``x = u @ h`` of a full-rank matrix by dynamically weighted Halley iteration.

    ``x`` has shape (m, n) with m ≥ n, and a floating-point or complex dtype of 32 bits or more. Returns u, of that
    shape, with orthonormal columns; h, Hermitian, of shape (n, n); the number of steps, at most ``max_iterations``
    (10); and whether the last two iterates differed by at most ``(5 eps) ** (1 / 3)``. ``eps``, a positive number, is
    that of the dtype if None. ``dynamic_shape`` (rows, columns), whole numbers or integer arrays, says how much of
    ``x`` counts; u and h are zero elsewhere, and there are no derivatives. ``is_hermitian`` changes nothing. The
    derivative is that of the decomposition, not of the steps. Raises ValueError for other shapes, for stacks (use
    vmap) and for an ``eps`` that is not positive; TypeError and NotImplementedError for other dtypes. (Y. Nakatsukasa,
    Z. Bai, F. Gygi, SIAM J. Matrix Anal. Appl. 31, 2010.)

    >>> from xlascope import lax, numpy as jnp
    >>> u, h, steps, converged = lax.linalg.qdwh(jnp.array([[0.0, -2.0], [3.0, 0.0]]))
    >>> print(u.round(3) + 0.0, converged)
    [[ 0. -1.]
     [ 1.  0.]] True
    """
    aval = aval_of(x)
    require_matrices("qdwh", aval)
    if len(aval.shape) != 2 or aval.shape[0] < aval.shape[1]:
        raise ValueError(
            f"qdwh takes a matrix of at least as many rows as columns, got shape {aval.shape}{here()}; of a wider one "
            "take the adjoint, and map stacks by vmap"
        )
    iterations = (
        _DEFAULT_MAX_ITERATIONS
        if max_iterations is None
        else max(whole_number(max_iterations, "max_iterations of qdwh"), 0)
    )
    epsilon = float(np.finfo(aval.dtype).eps) if eps is None else float(eps)
    if not epsilon > 0:
        raise ValueError(f"eps of qdwh is a positive number, got {eps!r}{here()}")
    return _jitted_qdwh()(x, dynamic_shape, iterations=iterations, epsilon=epsilon)  # type: ignore[no-any-return]


@functools.cache
def _jitted_qdwh() -> Any:
    return jit_function(_qdwh_of_part, JitOptions(static_argnames=("iterations", "epsilon")))


def _qdwh_of_part(x: Any, dynamic_shape: Any, iterations: int, epsilon: float) -> Any:
    if dynamic_shape is not None:
        x = _mask_outside(x, *dynamic_shape)
    return _polar_iteration(iterations, epsilon, dynamic_shape is not None, x)


_qdwh_of_part.__name__ = "qdwh"


def _mask_outside(x: Any, rows: Any, columns: Any) -> Any:
    """Return the matrix ``x`` with zeros outside of its first ``rows`` rows and ``columns`` columns."""
    shape = aval_of(x).shape
    numbers = [broadcasted_iota(np.int32, shape, axis) for axis in (0, 1)]
    inside = [lt(n, convert_element_type(count, np.int32)) for n, count in zip(numbers, (rows, columns), strict=True)]
    return select(bitwise_and(*inside), x, broadcast_in_dim(typed_scalar(0, aval_of(x).dtype), shape, ()))


@functools.partial(custom_jvp, nondiff_argnums=(0, 1, 2))
def _polar_iteration(iterations: int, epsilon: float, in_part: bool, x: Any) -> Any:
    """Compute the polar decomposition of ``x``: u, h, the number of steps, and whether they converged.

    ``iterations`` is the largest number of steps, and ``epsilon`` gives the tolerance. ``in_part`` says that ``x`` was
    masked for a dynamic shape, which excludes derivatives.
    """
    tolerance = (5.0 * epsilon) ** (1.0 / 3.0)

    def is_far(u: Any, before: Any) -> Any:
        return gt(polar_decomposition.frobenius_norm(sub(u, before)), tolerance)

    u, is_continuing = polar_decomposition.scale_to_unit_norm(x), True
    steps = polar_decomposition.step_weights(epsilon, iterations)
    for weights in steps:
        before, u = u, polar_decomposition.halley_step(u, weights)
        is_continuing = True if weights.needs_qr else is_far(u, before)

    def should_continue(state: Any) -> Any:
        count, _, is_continuing = state
        return bitwise_and(lt(count, iterations), is_continuing)

    def iterate(state: Any) -> Any:
        count, before, _ = state
        u = polar_decomposition.halley_step(before, polar_decomposition.LIMIT_WEIGHTS)
        return count + 1, u, is_far(u, before)

    count, u, is_continuing = while_loop(should_continue, iterate, (len(steps), u, is_continuing))
    u = polar_decomposition.newton_schulz_step(u)
    return u, polar_decomposition.positive_factor(u, x), count, eq(is_continuing, False)


@_polar_iteration.defjvp
def _polar_jvp(iterations: int, epsilon: float, in_part: bool, primals: Any, tangents: Any) -> Any:
    # x' = u' h + u h', where uᴴ u' is antihermitian and h' Hermitian: with h = V S Vᴴ and D = uᴴ x' this leaves
    # (D - Dᴴ)ᵢⱼ / (sᵢ + sⱼ) for uᴴ u' in the basis V. The part of x' outside of the column space of u changes u by
    # that part times h⁻¹.
    if in_part:
        raise NotImplementedError(f"qdwh with dynamic_shape has no derivative{here()}: give it the part itself")
    (x,), (t,) = primals, tangents
    results = _polar_iteration(iterations, epsilon, in_part, x)
    u, h = results[:2]
    v, s = eigh(h, symmetrize_input=False)
    projected = product(adjoint(u), t)
    rotation = product(product(adjoint(v), sub(projected, adjoint(projected))), v)
    s = to_dtype(s, aval_of(x).dtype)
    inside = div(rotation, add(as_columns(s), as_rows(s)))
    u_tangent = product(u, product(product(v, inside), adjoint(v)))
    if aval_of(x).shape[0] > aval_of(x).shape[1]:
        outside = product(add(t, neg(product(u, projected))), v)
        u_tangent = add(u_tangent, product(div(outside, as_rows(s)), adjoint(v)))
    h_tangent = polar_decomposition.hermitian_part(add(product(adjoint(u_tangent), x), projected))
    other_tangents = [to_rule_tangent(ZERO, aval_of(result), False) for result in results[2:]]
    return results, (u_tangent, h_tangent, *other_tangents)
