"""Systems of linear equations, and Sylvester equations."""

from __future__ import annotations

from typing import Any

from ... import numpy as jnp
from ...control.flow.fori_loop import fori_loop
from ...control.rules.linear_solve import custom_linear_solve
from ...dtypes import dtype_kind
from ...lax import linalg as of_lax
from ...numpy.jit_wrapped import jit_wrapped
from ...numpy.matrices import eye_in_dtype, identity_like
from ...operations.barriers import stop_gradient
from ...operations.complex_numbers import complex_dtype
from ...operations.conversion import to_dtype
from ...operations.linalg.matrices import adjoint, conjugate, transpose_matrices
from ...trace.source import here
from ..arguments import from_lists, machine_epsilon, promote_dtypes_inexact, require_one_of, require_square
from .factorizations import cholesky


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the determinants of square matrices, shape ``(…, n, n)``; see :func:`xlascope.numpy.linalg.det`.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.det(jnp.array([[2.0, 0.0], [0.0, 4.0]])))
    8.0
    """
    return jnp.linalg.det(a)


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the inverses of square matrices, shape ``(…, n, n)``; see :func:`xlascope.numpy.linalg.inv`.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]])))
    [[0.5  0.  ]
     [0.   0.25]]
    """
    return jnp.linalg.inv(a)


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Any:
    """Return the solution x of ``a @ x = b`` for square matrices ``a``, shape ``(…, n, n)``.

    ``b`` has shape ``(…, n)``, with one axis fewer than the matrices, or ``(…, n, k)``. ``assume_a`` describes the
    matrices: "gen" (general), "sym", "her", or "pos", positive definite, which reads the triangle selected by ``lower``
    and uses a Cholesky factorization. A singular matrix gives infinities or NaN. The other arguments have no effect.
    Raises ValueError for incompatible shapes.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.solve(jnp.array([[4.0, 0.0], [0.0, 16.0]]), jnp.array([4.0, 8.0]), assume_a="pos"))
    [1.  0.5]
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(f"assume_a is one of 'gen', 'sym', 'her' and 'pos', got {assume_a!r}{here()}")
    return _solve_positive_definite(a, b, lower=bool(lower)) if assume_a == "pos" else jnp.linalg.solve(a, b)


@jit_wrapped("lower")
def _solve_positive_definite(a: Any, b: Any, lower: bool) -> Any:
    a, b = promote_dtypes_inexact(a, b)
    require_square("solve", a)
    triangle = jnp.tril(a, -1) if lower else jnp.triu(a, 1)
    full = triangle + adjoint(triangle) + a * identity_like(a)
    factor = cholesky(stop_gradient(full), lower=True)

    def solve_a(_: Any, y: Any) -> Any:
        return _solve_by_cholesky(factor, y, True)

    def solve_transpose(_: Any, y: Any) -> Any:
        return conjugate(_solve_by_cholesky(factor, conjugate(y), True))

    columns, is_vector = _as_columns("solve", full, b)
    result = custom_linear_solve(lambda x: jnp.matmul(full, x, precision="highest"), columns, solve_a, solve_transpose)
    return result[..., 0] if is_vector else result


def _as_columns(name: str, a: Any, b: Any) -> tuple[Any, bool]:
    """Return the right side ``b`` as matrices, and whether it was a stack of vectors.

    The matrices have the leading axes of ``a``, or those that both broadcast to. Raises ValueError for incompatible
    shapes; ``name`` is the function's name, for the message.
    """
    n = require_square(name, a)
    is_vector = b.ndim in (1, a.ndim - 1)
    columns = b[..., None] if is_vector else b
    if columns.ndim < 2 or columns.shape[-2] != n:
        raise ValueError(
            f"{name} takes a right side of shape (..., n) or (..., n, k) for matrices of n rows, got shapes {a.shape} "
            f"and {b.shape}{here()}"
        )
    batch_shape = jnp.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
    return jnp.broadcast_to(columns, (*batch_shape, *columns.shape[-2:])), is_vector


def _solve_by_cholesky(factor: Any, b: Any, lower: bool) -> Any:
    factor = jnp.broadcast_to(factor, (*b.shape[:-2], *factor.shape[-2:]))
    for second_pass in (False, True):
        trans = second_pass == lower
        b = of_lax.triangular_solve(factor, b, left_side=True, lower=lower, transpose_a=trans, conjugate_a=trans)
    return b


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Return the solution x of ``a @ x = b``, given the result of :func:`cho_factor` for ``a``.

    ``b`` has shape ``(…, n)``, with one axis fewer than the matrices, or ``(…, n, k)``. Raises ValueError for
    incompatible shapes.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.cho_solve(sl.cho_factor(jnp.array([[4.0, 2.0], [2.0, 5.0]])), jnp.array([6.0, 7.0])))
    [1. 1.]
    """
    c, lower = _unpack_pair("cho_solve", "cho_factor", c_and_lower)
    return _cho_solve(from_lists(c), from_lists(b), lower=bool(lower))


def _unpack_pair(consumer: str, producer: str, value: Any) -> tuple[Any, Any]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(
            f"{consumer} takes what {producer} gives, a tuple of two, got {value!r} of type {type(value).__name__}"
        )
    return value[0], value[1]


@jit_wrapped("lower")
def _cho_solve(c: Any, b: Any, lower: bool) -> Any:
    c, b = promote_dtypes_inexact(c, b)
    columns, is_vector = _as_columns("cho_solve", c, b)
    solution = _solve_by_cholesky(c, columns, lower)
    return solution[..., 0] if is_vector else solution


def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Return the solution x of ``a @ x = b``, given the result of :func:`lu_factor` for ``a``.

    ``trans`` 1 solves with the transpose of ``a``, 2 with its adjoint. ``b`` has shape ``(…, n)``, with one axis fewer
    than the matrices, or ``(…, n, k)``. Raises ValueError for another ``trans`` and for incompatible shapes.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.lu_solve(sl.lu_factor(jnp.array([[1.0, 2.0], [4.0, 4.0]])), jnp.array([3.0, 8.0])))
    [1. 1.]
    """
    factors, exchanges = _unpack_pair("lu_solve", "lu_factor", lu_and_piv)
    require_one_of("trans of lu_solve", trans, 0, 1, 2)
    return _lu_solve(from_lists(factors), from_lists(exchanges), from_lists(b), trans=int(trans))


@jit_wrapped("trans")
def _lu_solve(factors: Any, exchanges: Any, b: Any, trans: int) -> Any:
    factors, b = promote_dtypes_inexact(factors, b)
    columns, is_vector = _as_columns("lu_solve", factors, b)
    n, batch_shape = factors.shape[-1], columns.shape[:-2]
    order = of_lax.lu_pivots_to_permutation(exchanges, n)
    order = jnp.broadcast_to(order, (*batch_shape, n))[..., None]
    factors = jnp.broadcast_to(factors, (*batch_shape, n, n))

    def solve_factor(y: Any, lower: bool) -> Any:
        return of_lax.triangular_solve(
            factors, y, left_side=True, lower=lower, unit_diagonal=lower, transpose_a=trans > 0, conjugate_a=trans == 2
        )

    if trans:
        solution = solve_factor(solve_factor(columns, False), True)
        solution = jnp.take_along_axis(solution, jnp.argsort(order, -2), -2)
    else:
        solution = solve_factor(solve_factor(jnp.take_along_axis(columns, order, -2), True), False)
    return solution[..., 0] if is_vector else solution


def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Any:
    """Return the solution x of ``a @ x = b`` for triangular matrices ``a``, shape ``(…, n, n)``.

    Only the triangle selected by ``lower`` is read. ``b`` has shape ``(…, n)``, with one axis fewer than the matrices,
    or ``(…, n, k)``. ``trans`` 1 or "T" solves with the transpose of ``a``, 2 or "C" with its adjoint.
    ``unit_diagonal`` assumes a diagonal of ones. Raises ValueError for another ``trans`` and for incompatible shapes.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.solve_triangular(jnp.array([[2.0, 0.0], [1.0, 4.0]]), jnp.array([2.0, 9.0]), lower=True))
    [1. 2.]
    """
    trans_code = require_one_of("trans of solve_triangular", trans, 0, 1, 2, "N", "T", "C")
    trans_code = {"N": 0, "T": 1, "C": 2}.get(trans_code, trans_code)
    return _solve_triangular(
        from_lists(a), from_lists(b), trans=int(trans_code), lower=bool(lower), unit=bool(unit_diagonal)
    )


@jit_wrapped("trans", "lower", "unit")
def _solve_triangular(a: Any, b: Any, trans: int, lower: bool, unit: bool) -> Any:
    a, b = promote_dtypes_inexact(a, b)
    columns, is_vector = _as_columns("solve_triangular", a, b)
    a = jnp.broadcast_to(a, (*columns.shape[:-2], *a.shape[-2:]))
    solution = of_lax.triangular_solve(
        a, columns, left_side=True, lower=lower, transpose_a=trans > 0, conjugate_a=trans == 2, unit_diagonal=unit
    )
    return solution[..., 0] if is_vector else solution


def solve_sylvester(A: Any, B: Any, C: Any, *, method: str = "schur", tol: float = 1e-8) -> Any:
    """Return the solution X of ``A @ X + X @ B = C``.

    ``A`` has shape ``(…, m, m)``, ``B`` ``(…, n, n)`` and ``C`` ``(…, m, n)``. X is computed by the Schur forms
    of ``A`` and ``B`` (R. H. Bartels and G. W. Stewart, CACM 15, 1972), or with ``method`` "eigen" by their
    eigenvectors, which is faster and less accurate. Where an eigenvalue of ``A`` and one of ``B`` sum to less
    than ``tol``, or than rounding errors, the result is NaN. Its derivative solves another such equation. Raises
    ValueError for incompatible shapes and another method.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.solve_sylvester(jnp.array([[1.0]]), jnp.array([[3.0]]), jnp.array([[8.0]])))
    [[2.]]
    """
    require_one_of("method of solve_sylvester", method, "schur", "eigen")
    return _sylvester(A, B, C, tol, schur=method == "schur")


@jit_wrapped("schur")
def _sylvester(a: Any, b: Any, c: Any, tol: Any, schur: bool) -> Any:
    a, b, c = promote_dtypes_inexact(a, b, c)
    m, n = require_square("solve_sylvester", a), require_square("solve_sylvester", b)
    if c.ndim < 2 or c.shape[-2:] != (m, n):
        raise ValueError(
            f"solve_sylvester takes C with the rows of A and the columns of B, got shapes {a.shape}, {b.shape} and "
            f"{c.shape}{here()}"
        )
    batch_shape = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2], c.shape[:-2])
    a, b, c = (jnp.broadcast_to(x, (*batch_shape, *x.shape[-2:])) for x in (a, b, c))
    a_constant, b_constant = stop_gradient(a), stop_gradient(b)
    solver = _sylvester_by_schur if schur else _sylvester_by_eigenvectors

    def solve_direct(_: Any, y: Any) -> Any:
        return solver(a_constant, b_constant, y, tol)

    def solve_transpose(_: Any, y: Any) -> Any:
        return solver(transpose_matrices(a_constant), transpose_matrices(b_constant), y, tol)

    def product(x: Any) -> Any:
        return jnp.matmul(a, x, precision="highest") + jnp.matmul(x, b, precision="highest")

    return custom_linear_solve(product, c, solve_direct, solve_transpose)


def _to_complex(x: Any) -> Any:
    return x if dtype_kind(x.dtype) == "c" else to_dtype(x, complex_dtype(x.dtype))


def _match_realness(x: Any, y: Any) -> Any:
    return x if dtype_kind(y.dtype) == "c" else jnp.real(x)


def _matmul_chain(*xs: Any) -> Any:
    product = xs[0]
    for x in xs[1:]:
        product = jnp.matmul(product, x, precision="highest")
    return product


def _sylvester_by_schur(a: Any, b: Any, c: Any, tol: Any) -> Any:
    # With A = U R Uᴴ and B = V S Vᴴ, Y = Uᴴ X V has R Y + Y S = Uᴴ C V: column after column a triangular system.
    (r, u), (s, v) = (of_lax.schur(_to_complex(x)) for x in (a, b))
    f = _matmul_chain(adjoint(u), _to_complex(c), v)
    eye = eye_in_dtype(a.shape[-1], r.dtype)

    def solve_column(j: Any, y: Any) -> Any:
        right_side = (
            jnp.take(f, j, -1) - _matmul_chain(y, jnp.take(s, j, -1)[..., None])[..., 0]
        )  # columns from j on are zero
        system = r + jnp.take(jnp.take(s, j, -1), j, -1)[..., None, None] * eye
        return y.at[..., :, j].set(of_lax.triangular_solve(system, right_side[..., None], left_side=True)[..., 0])

    y = fori_loop(0, b.shape[-1], solve_column, jnp.zeros_like(f)) if f.size else f
    sums = jnp.diagonal(r, axis1=-2, axis2=-1)[..., :, None] + jnp.diagonal(s, axis1=-2, axis2=-1)[..., None, :]
    return _match_realness(_nan_if_singular(_matmul_chain(u, y, adjoint(v)), sums, tol), c)


def _sylvester_by_eigenvectors(a: Any, b: Any, c: Any, tol: Any) -> Any:
    (la, u), (lb, v) = (jnp.linalg.eig(x) for x in (a, b))
    sums = la[..., :, None] + lb[..., None, :]
    f = _matmul_chain(jnp.linalg.solve(u, _matmul_chain(_to_complex(c), v)))
    solution = transpose_matrices(
        jnp.linalg.solve(transpose_matrices(v), transpose_matrices(_matmul_chain(u, f / sums)))
    )
    return _match_realness(_nan_if_singular(solution, sums, tol), c)


def _nan_if_singular(x: Any, sums: Any, tol: Any) -> Any:
    rounding = 8 * machine_epsilon(sums.dtype) * jnp.max(jnp.abs(sums), axis=(-2, -1), keepdims=True, initial=0.0)
    small = jnp.any(jnp.abs(sums) < jnp.maximum(tol, rounding), axis=(-2, -1), keepdims=True)
    return jnp.where(small, jnp.nan, x)
