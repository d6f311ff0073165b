"""Eigenvalues of Hermitian matrices, and conversion of real Schur forms to complex ones."""

from __future__ import annotations

from typing import Any

from ... import numpy as jnp
from ...control.flow.fori_loop import fori_loop
from ...lax import linalg as of_lax
from ...numpy.axes import whole_number
from ...numpy.jit_wrapped import jit_wrapped
from ...numpy.matrices import eye_in_dtype, identity_like
from ...operations.complex_numbers import complex_dtype
from ...operations.conversion import to_dtype
from ...operations.linalg.matrices import adjoint
from ...trace.source import here
from ..arguments import from_lists, promote_dtypes_inexact, require_one_of, require_square


def eigh(
    a: Any,
    b: Any = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """Return the eigenvalues, in ascending order, and eigenvectors of Hermitian matrices, ``(…, n, n)``, as a tuple.

    With ``b``, Hermitian, positive definite and of the same shape, the generalized problem selected by ``type``
    is solved: 1 is ``a @ v = w * b @ v``, 2 ``a @ b @ v = w * v``, 3 ``b @ a @ v = w * v``; eigenvectors are
    normalized so that ``vᴴ @ b @ v`` is 1, for type 3 ``vᴴ @ b⁻¹ @ v`` (G. H. Golub and C. F. Van Loan, Matrix
    Computations, 8.7.2). A ``b`` that is not positive definite gives NaN. Only the triangle selected by ``lower``
    is read, as in SciPy; JAX averages both. With ``eigvals_only``, only the eigenvalues are returned. ``eigvals``
    is not supported (NotImplementedError); the other arguments have no effect. Raises ValueError for incompatible
    shapes and for another ``type``.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> a, b = jnp.array([[2.0, 0.0], [0.0, 1.0]]), jnp.array([[4.0, 0.0], [0.0, 1.0]])
    >>> print(sl.eigh(a, eigvals_only=True), sl.eigh(a, b, eigvals_only=True))
    [1. 2.] [0.5 1. ]
    """
    if type not in (1, 2, 3):
        raise ValueError(f"eigh solves problems of type 1, 2 or 3, got type={type!r}{here()}")
    if eigvals is not None:
        raise NotImplementedError(f"eigh finds all eigenvalues: eigvals has to be None, got {eigvals!r}{here()}")
    if b is None:
        values, vectors = jnp.linalg.eigh(from_lists(a), UPLO="L" if lower else "U", symmetrize_input=False)
    else:
        values, vectors = _eigh_generalized(from_lists(a), from_lists(b), lower=bool(lower), kind=int(type))
    return values if eigvals_only else (values, vectors)


@jit_wrapped("lower", "kind")
def _eigh_generalized(a: Any, b: Any, lower: bool, kind: int) -> tuple[Any, Any]:
    """Return eigenvalues and eigenvectors of a generalized problem, by reduction to a standard one.

    The reduction uses the Cholesky factor of ``b``; ``kind`` is the ``type`` of :func:`eigh`.
    """
    a, b = promote_dtypes_inexact(a, b)
    if require_square("eigh", a) != require_square("eigh", b):
        raise ValueError(f"eigh takes matrices of one size, got shapes {a.shape} and {b.shape}{here()}")
    batch_shape = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (jnp.broadcast_to(x if lower else adjoint(x), (*batch_shape, *x.shape[-2:])) for x in (a, b))
    below, on_diagonal = jnp.tril(a, -1), jnp.real(jnp.diagonal(a, axis1=-2, axis2=-1))
    a = below + adjoint(below) + on_diagonal[..., None] * identity_like(a)
    factor = of_lax.cholesky(b, symmetrize_input=False)
    if kind == 1:
        half_reduced = of_lax.triangular_solve(factor, a, left_side=True, lower=True)
        standard = adjoint(of_lax.triangular_solve(factor, adjoint(half_reduced), left_side=True, lower=True))
    else:
        half_reduced = jnp.matmul(adjoint(factor), a, precision="highest")
        standard = jnp.matmul(half_reduced, factor, precision="highest")
    values, vectors = jnp.linalg.eigh(standard)
    if kind == 3:
        return values, jnp.matmul(factor, vectors, precision="highest")
    return values, of_lax.triangular_solve(
        factor, vectors, left_side=True, lower=True, transpose_a=True, conjugate_a=True
    )


def eigh_tridiagonal(
    d: Any,
    e: Any,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: Any = None,
    tol: float | None = None,
    key: Any = None,
) -> Any:
    """Return the eigenvalues, in ascending order, and eigenvectors of a Hermitian tridiagonal matrix.

    ``d``, shape ``(n,)``, is the diagonal and ``e``, shape ``(n - 1,)``, the subdiagonal. ``select`` "a" selects
    all eigenvalues, "i" those with indices from ``select_range[0]`` to ``select_range[1]``, both included. With
    ``eigvals_only`` only the eigenvalues are returned, otherwise (values, vectors as columns). ``tol`` and
    ``key`` have no effect. Raises ValueError for incompatible shapes, NotImplementedError for "v".

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.eigh_tridiagonal(jnp.array([2.0, 3.0]), jnp.array([0.0]), eigvals_only=True))
    [2. 3.]
    """
    if select == "v":
        raise NotImplementedError(f"eigh_tridiagonal selects by numbers, 'i', or all, 'a'; not by values{here()}")
    require_one_of("select of eigh_tridiagonal", select, "a", "i")
    bounds = None
    if select == "i":
        if select_range is None or len(select_range) != 2:
            raise ValueError(f"eigh_tridiagonal with select='i' takes select_range=(first, last){here()}")
        bounds = tuple(whole_number(i, "select_range") for i in select_range)
    result = _eigh_tridiagonal(from_lists(d), from_lists(e), only=bool(eigvals_only), bounds=bounds)
    return result[0] if eigvals_only else result


@jit_wrapped("only", "bounds")
def _eigh_tridiagonal(d: Any, e: Any, only: bool, bounds: tuple[int, ...] | None) -> Any:
    d, e = promote_dtypes_inexact(d, e)
    if d.ndim != 1 or e.shape != (d.shape[0] - 1,):
        raise ValueError(f"eigh_tridiagonal takes n and n - 1 elements, got shapes {d.shape} and {e.shape}{here()}")
    # Both triangles: the values come from one of them, but the derivative of eigh takes the tangent of the whole.
    matrix = jnp.diag(d) + jnp.diag(e, -1) + jnp.diag(jnp.conj(e), 1)
    values, vectors = jnp.linalg.eigh(matrix, symmetrize_input=False)
    if bounds is not None:
        first, last = bounds[0], bounds[1] + 1
        if not 0 <= first < last <= d.shape[0]:
            raise ValueError(f"select_range lies within 0 to {d.shape[0] - 1}, first and last included, got {bounds}")
        values, vectors = values[first:last], vectors[:, first:last]
    return (values,) if only else (values, vectors)


def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """Return the complex Schur form of a real one: (T, Z), triangular and unitary, with the same ``Z @ T @ Zᴴ``.

    ``T`` and ``Z`` have shape ``(…, n, n)``. Each 2 x 2 block is triangularized by a rotation, from the last to
    the first. Raises ValueError for incompatible shapes.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> t, z = sl.rsf2csf(jnp.array([[1.0, 2.0], [-2.0, 1.0]]), jnp.eye(2))
    >>> print(jnp.diag(t).round(3))
    [1.+2.j 1.-2.j]
    """
    return _rsf2csf(from_lists(T), from_lists(Z))


@jit_wrapped()
def _rsf2csf(t: Any, z: Any) -> tuple[Any, Any]:
    t, z = promote_dtypes_inexact(t, z)
    n = require_square("rsf2csf", t)
    if require_square("rsf2csf", z) != n:
        raise ValueError(f"rsf2csf takes matrices of one size, got shapes {t.shape} and {z.shape}{here()}")
    batch_shape = jnp.broadcast_shapes(t.shape[:-2], z.shape[:-2])
    dtype = complex_dtype(t.dtype)
    t, z = (to_dtype(jnp.broadcast_to(x, (*batch_shape, n, n)), dtype) for x in (t, z))
    if n < 2:
        return t, z
    result: tuple[Any, Any] = fori_loop(1, n, lambda i, carry: _zero_subdiagonal(n - i, *carry), (t, z))
    return result


def _zero_subdiagonal(m: Any, t: Any, z: Any) -> tuple[Any, Any]:
    """Return ``t`` and ``z`` after a rotation of indices m - 1 and m that makes ``t[m, m - 1]`` zero."""
    rows = jnp.stack([m - 1, m])
    block = jnp.take(jnp.take(t, rows, -2), rows, -1)
    a, b, c, d = (block[..., i, j] for i in (0, 1) for j in (0, 1))
    half = (a - d) / 2
    eigenvalue_offset = half + jnp.sqrt(half * half + b * c)  # an eigenvalue minus d
    length = to_dtype(jnp.sqrt(jnp.abs(eigenvalue_offset) ** 2 + jnp.abs(c) ** 2), t.dtype)
    length = jnp.where(length == 0, 1, length)
    cosine, sine = eigenvalue_offset / length, c / length
    rotation = jnp.stack([jnp.stack([jnp.conj(cosine), sine], -1), jnp.stack([-sine, cosine], -1)], -2)
    is_triangular = c == 0
    rotation = jnp.where(is_triangular[..., None, None], eye_in_dtype(2, t.dtype), rotation)
    inverse_rotation = adjoint(rotation)
    t = t.at[..., rows, :].set(jnp.matmul(rotation, jnp.take(t, rows, -2), precision="highest"))
    t = t.at[..., :, rows].set(jnp.matmul(jnp.take(t, rows, -1), inverse_rotation, precision="highest"))
    z = z.at[..., :, rows].set(jnp.matmul(jnp.take(z, rows, -1), inverse_rotation, precision="highest"))
    return t.at[..., m, m - 1].set(0), z
