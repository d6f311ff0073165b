"""Matrix factorizations of stacks, with SciPy's arguments and results."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as jnp
from ...lax import linalg as of_lax
from ...numpy.jit_wrapped import jit_wrapped
from ...numpy.matrices import eye_in_dtype
from ...operations.complex_numbers import complex_dtype
from ...operations.conversion import to_dtype
from ...operations.linalg.matrices import adjoint, conjugate
from ...operations.linalg.row_permutations import exchange_rows, invert_permutation
from ...trace.source import here
from ..arguments import from_lists, promote_dtypes_inexact, require_one_of, require_square


def require_matrices(name: str, a: Any) -> Any:
    """Return ``a`` as a floating-point or complex array; raise ValueError for fewer than two axes.

    ``name`` is the function's name, for the message.
    """
    (a,) = promote_dtypes_inexact(a)
    if a.ndim < 2:
        raise ValueError(f"{name} takes matrices, of at least two axes, got shape {a.shape}{here()}")
    return a


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the Cholesky factor of Hermitian matrices of shape ``(…, n, n)``.

    It is the upper triangular U with ``Uᴴ @ U = a``, or with ``lower`` the lower triangular L with ``L @ Lᴴ =
    a``; only that triangle of ``a`` is read. A matrix that is not positive definite gives NaN. ``overwrite_a``
    and ``check_finite`` have no effect. Raises ValueError for matrices that are not square.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]])))
    [[2. 1.]
     [0. 2.]]
    """
    return _cholesky(from_lists(a), lower=bool(lower))


@jit_wrapped("lower")
def _cholesky(a: Any, lower: bool) -> Any:
    (a,) = promote_dtypes_inexact(a)
    require_square("cholesky", a)
    return (
        of_lax.cholesky(a, symmetrize_input=False)
        if lower
        else adjoint(of_lax.cholesky(adjoint(a), symmetrize_input=False))
    )


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """Return the result of :func:`cholesky` and ``lower``: the first argument of :func:`cho_solve`.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> factor, lower = sl.cho_factor(jnp.array([[4.0]]))
    >>> print(factor, lower)
    [[2.]] False
    """
    return cholesky(a, lower=lower), lower


def lu(a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the LU factorization, ``a = P @ L @ U``, of matrices of shape ``(…, m, n)``.

    Returns the permutation P, ``(…, m, m)``, L, ``(…, m, k)``, with a unit diagonal, and U, ``(…, k, n)``, with k
    = min(m, n); with ``permute_l``, P @ L and U. Raises ValueError for arrays of fewer than two axes.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> p, l, u = sl.lu(jnp.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> print(l, u)
    [[1.   0.  ]
     [0.25 1.  ]] [[4. 4.]
     [0. 1.]]
    """
    return _lu(from_lists(a), permuted=bool(permute_l))


@jit_wrapped("permuted")
def _lu(a: Any, permuted: bool) -> Any:
    a = require_matrices("lu", a)
    factors, _, order = of_lax.lu(a)
    (*_, m, n) = a.shape
    k = min(m, n)
    lower = jnp.tril(factors[..., :, :k], -1) + eye_in_dtype(m, a.dtype, columns=k)
    upper = jnp.triu(factors[..., :k, :])
    if permuted:
        return exchange_rows(lower, invert_permutation(order)), upper
    p = to_dtype(order[..., None, :] == jnp.arange(m, dtype=order.dtype)[:, None], np.empty((), a.dtype).real.dtype)
    return p, lower, upper


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """Return the LU factorization of matrices of shape ``(…, m, n)`` in the form that :func:`lu_solve` takes.

    Returns both factors in one array of that shape, and the pivots (row exchanges) as int32, ``(…, min(m, n))``.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> factors, exchanges = sl.lu_factor(jnp.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> print(exchanges)
    [1 1]
    """
    return _lu_factor(from_lists(a))


@jit_wrapped()
def _lu_factor(a: Any) -> tuple[Any, Any]:
    factors, exchanges, _ = of_lax.lu(require_matrices("lu_factor", a))
    return factors, exchanges


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """Return the QR factorization, ``a = Q @ R``, of matrices of shape ``(…, m, n)``, as a tuple.

    ``mode`` "full" gives a square Q, ``(…, m, m)``, "economic" one of min(m, n) columns, "r" only R. With
    ``pivoting`` the column permutation is returned last, int32 ``(…, n)``: ``a[:, order] = Q @ R``. The other
    arguments have no effect. Raises ValueError for another mode.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> q, r = sl.qr(jnp.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> print(jnp.abs(r).round(3))
    [[5.  2.2]
     [0.  0.4]]
    """
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"Unsupported QR decomposition mode {mode!r}; there are 'full', 'economic' and 'r'{here()}")
    result = _qr(from_lists(a), full=mode != "economic", pivoting=bool(pivoting))
    return result[1:] if mode == "r" else result


@jit_wrapped("full", "pivoting")
def _qr(a: Any, full: bool, pivoting: bool) -> Any:
    return tuple(of_lax.qr(require_matrices("qr", a), pivoting=pivoting, full_matrices=full))


def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> Any:
    """Return the product of ``c`` with the Q of the factorization ``a = Q @ R``, and R.

    ``a`` has shape ``(…, m, n)``; with k = min(m, n), ``c`` has shape ``(…, p, m)`` for ``mode`` "right", which
    gives ``c @ Q``, and ``(…, k, p)`` for "left", which gives ``Q @ c``; vectors stay vectors. ``conjugate`` uses
    the conjugate of Q. With ``pivoting`` the column permutation is returned last. Raises ValueError for another
    mode.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> product, r = sl.qr_multiply(jnp.array([[3.0], [4.0]]), jnp.array([3.0, 4.0]))
    >>> print(jnp.abs(product))
    [5.]
    """
    require_one_of("mode of qr_multiply", mode, "right", "left")
    return _qr_multiply(
        from_lists(a), from_lists(c), right=mode == "right", pivoting=bool(pivoting), conjugating=bool(conjugate)
    )


@jit_wrapped("right", "pivoting", "conjugating")
def _qr_multiply(a: Any, c: Any, right: bool, pivoting: bool, conjugating: bool) -> Any:
    a, c = promote_dtypes_inexact(a, c)
    q, *trailing = of_lax.qr(require_matrices("qr_multiply", a), pivoting=pivoting, full_matrices=False)
    q = conjugate(q) if conjugating else q
    if not c.ndim:
        raise ValueError(f"qr_multiply takes vectors and matrices c, got a number{here()}")
    product = jnp.matmul(c, q, precision="highest") if right else jnp.matmul(q, c, precision="highest")
    return (product, *trailing)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Return the singular value decomposition, ``a = U @ diag(s) @ Vh``, of matrices of shape ``(…, m, n)``.

    Returns the tuple (U, s, Vh), or without ``compute_uv`` only the singular values, in descending order. See
    :func:`xlascope.numpy.linalg.svd`. The last three arguments have no effect.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.svd(jnp.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False))
    [4. 3.]
    """
    result = jnp.linalg.svd(from_lists(a), full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(result) if compute_uv else result


def schur(a: Any, output: str = "real") -> tuple[Any, Any]:
    """Return the Schur form, ``a = Z @ T @ Zᴴ``, of matrices of shape ``(…, n, n)``, as (T, Z).

    ``output`` "complex" makes T triangular; with "real" a real matrix has a real, quasi-triangular T, with a 2 x
    2 block for each pair of complex eigenvalues. It is not differentiable. Raises ValueError for another
    ``output``.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> t, z = sl.schur(jnp.array([[1.0, 2.0], [0.0, 3.0]]))
    >>> print(t)
    [[1. 2.]
     [0. 3.]]
    """
    require_one_of("output of schur", output, "real", "complex")
    return _schur(a, real=output == "real")


@jit_wrapped("real")
def _schur(a: Any, real: bool) -> tuple[Any, Any]:
    a = require_matrices("schur", a)
    require_square("schur", a)
    t, z = of_lax.schur(a if real else to_dtype(a, complex_dtype(a.dtype)))
    return t, z


def hessenberg(a: Any, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the Hessenberg form H of matrices, ``a = Q @ H @ Qᴴ``, shape ``(…, n, n)``.

    H is zero below the first subdiagonal. With ``calc_q`` the result is (H, Q). It is not differentiable. Raises
    ValueError for matrices that are not square.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.hessenberg(jnp.array([[1.0, 2.0], [3.0, 4.0]])))
    [[1. 2.]
     [3. 4.]]
    """
    result = _hessenberg(a, with_q=bool(calc_q))
    return result if calc_q else result[0]


@jit_wrapped("with_q")
def _hessenberg(a: Any, with_q: bool) -> Any:
    a = require_matrices("hessenberg", a)
    n = require_square("hessenberg", a)
    if not n:
        return (a, a)
    packed, taus = of_lax.hessenberg(a)
    form = jnp.triu(packed, -1)
    if not with_q:
        return (form,)
    reflectors = of_lax.householder_product(packed[..., 1:, : n - 1], taus) if n > 1 else packed[..., 1:, 1:]
    q = jnp.pad(reflectors, [*[(0, 0)] * (a.ndim - 2), (1, 0), (1, 0)])
    return form, q.at[..., 0, 0].set(1)
