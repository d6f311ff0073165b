"""Factorizations of matrices, in stacks, with SciPy's arguments and results."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as jnp
from ...lax import linalg as of_lax
from ...numpy.together import together
from ...operations.complex_numbers import complex_dtype
from ...operations.linalg.matrices import adjoint, conjugate
from ...trace.source import here
from ..arguments import floats_of_any_shape, one_of, square


def matrices(name: str, a: Any) -> Any:
    """Matrices with a floating-point or complex dtype; raises ValueError for what has less than two axes."""
    (a,) = floats_of_any_shape(a)
    if a.ndim < 2:
        raise ValueError(f"{name} takes matrices, of at least two axes, got shape {a.shape}{here()}")
    return a


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The upper triangular U with ``Uᴴ @ U = a``, or with ``lower`` the L with ``L @ Lᴴ = a``, shape ``(…, n, n)``.

    ``a`` is Hermitian; the triangle of the result counts. A matrix that is not positive definite gives NaN.
    ``overwrite_a`` and ``check_finite`` are SciPy's, and change nothing. Raises ValueError for matrices that are not
    square.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]])))
    [[2. 1.]
     [0. 2.]]
    """
    return _cholesky(a, lower=bool(lower))


@together("lower")
def _cholesky(a: Any, lower: bool) -> Any:
    (a,) = floats_of_any_shape(a)
    square("cholesky", a)
    return (
        of_lax.cholesky(a, symmetrize_input=False)
        if lower
        else adjoint(of_lax.cholesky(adjoint(a), symmetrize_input=False))
    )


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """What :func:`cholesky` gives, and ``lower``: the first argument of :func:`cho_solve`.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> factor, lower = sl.cho_factor(jnp.array([[4.0]]))
    >>> print(factor, lower)
    [[2.]] False
    """
    return cholesky(a, lower=lower), lower


def lu(a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The LU factorization, ``a = P @ L @ U``, of matrices of shape ``(…, m, n)``.

    Returns P, a permutation, ``(…, m, m)``, L, ``(…, m, k)``, with ones on its diagonal, and U, ``(…, k, n)``, with k =
    min(m, n); with ``permute_l`` P @ L and U. Raises ValueError for arrays without rows and columns.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> p, l, u = sl.lu(jnp.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> print(l, u)
    [[1.   0.  ]
     [0.25 1.  ]] [[4. 4.]
     [0. 1.]]
    """
    return _lu(a, permuted=bool(permute_l))


@together("permuted")
def _lu(a: Any, permuted: bool) -> Any:
    a = matrices("lu", a)
    factors, _, order = of_lax.lu(a)
    (*_, m, n) = a.shape
    k = min(m, n)
    left = jnp.tril(factors[..., :, :k], -1) + jnp.eye(m, k, dtype=a.dtype)
    right = jnp.triu(factors[..., :k, :])
    p = (order[..., None, :] == jnp.arange(m, dtype=order.dtype)[:, None]).astype(np.empty((), a.dtype).real.dtype)
    return (jnp.matmul(p, left, precision="highest"), right) if permuted else (p, left, right)


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """The LU factorization as :func:`lu_solve` takes it, of matrices of shape ``(…, m, n)``.

    Returns both factors in one array of that shape, and the row exchanges as int32, ``(…, min(m, n))``.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> factors, exchanges = sl.lu_factor(jnp.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> print(exchanges)
    [1 1]
    """
    return _lu_factor(a)


@together()
def _lu_factor(a: Any) -> tuple[Any, Any]:
    factors, exchanges, _ = of_lax.lu(matrices("lu_factor", a))
    return factors, exchanges


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """The QR factorization, ``a = Q @ R``, of matrices of shape ``(…, m, n)``, as a tuple.

    ``mode`` "full" gives a square Q, ``(…, m, m)``, "economic" one of min(m, n) columns, "r" R alone. With ``pivoting``
    the order of columns comes last, int32 ``(…, n)``: ``a[:, order] = Q @ R``. The other arguments change nothing.
    Raises ValueError for another mode.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> q, r = sl.qr(jnp.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> print(jnp.abs(r).round(3))
    [[5.  2.2]
     [0.  0.4]]
    """
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"Unsupported QR decomposition mode {mode!r}; there are 'full', 'economic' and 'r'{here()}")
    found = _qr(a, full=mode != "economic", pivoting=bool(pivoting))
    return found[1:] if mode == "r" else found


@together("full", "pivoting")
def _qr(a: Any, full: bool, pivoting: bool) -> Any:
    return tuple(of_lax.qr(matrices("qr", a), pivoting=pivoting, full_matrices=full))


def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> Any:
    """The product of ``c`` with the Q of the factorization ``a = Q @ R``, and R.

    ``a`` has shape ``(…, m, n)``; with k = min(m, n), ``c`` has shape ``(…, p, m)`` for ``mode`` "right", which gives
    ``c @ Q``, and ``(…, k, p)`` for "left", which gives ``Q @ c``; vectors stay vectors. ``conjugate`` takes the
    conjugate of Q. With ``pivoting`` the order of columns comes last. Raises ValueError for another mode.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> product, r = sl.qr_multiply(jnp.array([[3.0], [4.0]]), jnp.array([3.0, 4.0]))
    >>> print(jnp.abs(product))
    [5.]
    """
    one_of("mode of qr_multiply", mode, "right", "left")
    return _qr_multiply(a, c, right=mode == "right", pivoting=bool(pivoting), conjugating=bool(conjugate))


@together("right", "pivoting", "conjugating")
def _qr_multiply(a: Any, c: Any, right: bool, pivoting: bool, conjugating: bool) -> Any:
    a, c = floats_of_any_shape(a, c)
    q, *rest = of_lax.qr(matrices("qr_multiply", a), pivoting=pivoting, full_matrices=False)
    q = conjugate(q) if conjugating else q
    if not c.ndim:
        raise ValueError(f"qr_multiply takes vectors and matrices c, got a number{here()}")
    found = jnp.matmul(c, q, precision="highest") if right else jnp.matmul(q, c, precision="highest")
    return (found, *rest)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """The singular value decomposition, ``a = U @ diag(s) @ Vh``, of matrices of shape ``(…, m, n)``.

    Returns the tuple (U, s, Vh), or without ``compute_uv`` the values s alone, falling. See
    :func:`xlascope.numpy.linalg.svd`. The last three arguments change nothing.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.svd(jnp.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False))
    [4. 3.]
    """
    found = jnp.linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(found) if compute_uv else found


def schur(a: Any, output: str = "real") -> tuple[Any, Any]:
    """The Schur form, ``a = Z @ T @ Zᴴ``, of matrices of shape ``(…, n, n)``, as (T, Z).

    ``output`` "complex" makes T triangular; with "real" a real matrix has a real T, with two rows for each pair of
    complex eigenvalues. It has no derivative. Raises ValueError for another ``output``.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> t, z = sl.schur(jnp.array([[1.0, 2.0], [0.0, 3.0]]))
    >>> print(t)
    [[1. 2.]
     [0. 3.]]
    """
    one_of("output of schur", output, "real", "complex")
    return _schur(a, real=output == "real")


@together("real")
def _schur(a: Any, real: bool) -> tuple[Any, Any]:
    a = matrices("schur", a)
    square("schur", a)
    t, z = of_lax.schur(a if real else a.astype(complex_dtype(a.dtype)))
    return t, z


def hessenberg(a: Any, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The Hessenberg form H of matrices, ``a = Q @ H @ Qᴴ``, shape ``(…, n, n)``: zero below the diagonal under the
    main one. With ``calc_q`` (H, Q). It has no derivative. Raises ValueError for matrices that are not square.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.hessenberg(jnp.array([[1.0, 2.0], [3.0, 4.0]])))
    [[1. 2.]
     [3. 4.]]
    """
    found = _hessenberg(a, with_q=bool(calc_q))
    return found if calc_q else found[0]


@together("with_q")
def _hessenberg(a: Any, with_q: bool) -> Any:
    a = matrices("hessenberg", a)
    n = square("hessenberg", a)
    if not n:
        return (a, a)
    made, taus = of_lax.hessenberg(a)
    form = jnp.triu(made, -1)
    if not with_q:
        return (form,)
    rest = of_lax.householder_product(made[..., 1:, : n - 1], taus) if n > 1 else made[..., 1:, 1:]
    q = jnp.pad(rest, [*[(0, 0)] * (a.ndim - 2), (1, 0), (1, 0)])
    return form, q.at[..., 0, 0].set(1)
