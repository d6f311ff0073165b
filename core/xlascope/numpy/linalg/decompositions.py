"""Matrix factorizations, eigenvalues and singular values, with NumPy's arguments and results."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...operations.linalg import cholesky as of_cholesky
from ...operations.linalg import general_eigenvalues, hermitian_eigenvalues, householder, singular_values
from ...operations.linalg.matrices import adjoint, transpose_matrices
from ...operations.linalg.qr import qr as qr_of_stacks
from ...trace.source import here
from .. import sorting, ufuncs
from ..jit_wrapped import jit_wrapped
from ..promotion import promote_inexact
from ..shaping import expand_dims, shape_of
from ..taking import take_along_axis
from .solving import require_square


class EighResult(NamedTuple):
    """Result of :func:`eigh`: eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


class EigResult(NamedTuple):
    """Result of :func:`eig`: eigenvalues, and eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """Result of :func:`qr`: a matrix with orthonormal columns, and an upper triangular matrix."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """Result of :func:`svd`, ``U @ diag(S) @ Vh``.

    The columns of U are the left singular vectors, S are the singular values, and the rows of Vh are the
    conjugated right singular vectors.
    """

    U: Any
    S: Any
    Vh: Any


def _require_matrices(name: str, a: Any) -> None:
    if len(shape_of(a)) < 2:
        raise ValueError(f"linalg.{name} takes matrices, of at least two axes, got shape {shape_of(a)}{here()}")


@jit_wrapped("upper", "symmetrize_input")
def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """Return the lower triangular L with ``L @ Lᴴ = a`` (``upper``: U with ``Uᴴ @ U = a``), shape ``(…, n, n)``.

    ``symmetrize_input`` averages ``a`` with its adjoint first; without it only the lower triangle is used. A
    matrix that is not positive definite gives NaN. Raises ValueError for matrices that are not square.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]])))
    [[2. 0.]
     [1. 2.]]
    """
    require_square("cholesky", a)
    a = promote_inexact(a)
    factor = of_cholesky.cholesky(a, symmetrize_input=bool(symmetrize_input))
    return adjoint(factor) if upper else factor


def qr(a: Any, mode: str = "reduced") -> Any:
    """Return the QR factorization, ``a = Q @ R``, of matrices of shape ``(…, m, n)``.

    ``mode`` "reduced" gives Q, ``(…, m, k)`` with orthonormal columns, and R, ``(…, k, n)``, with k = min(m, n);
    "complete" the same with k = m; "r" R alone; "raw" LAPACK's Householder reflections, transposed, and their
    factors. Matrices of full rank have derivatives, with "complete" if m ≤ n. Raises ValueError for another mode,
    and for arrays without rows and columns.

    >>> import xlascope.numpy as jnp
    >>> q, r = jnp.linalg.qr(jnp.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> print(jnp.abs(r).round(3))
    [[5.  2.2]
     [0.  0.4]]
    """
    _require_matrices("qr", a)
    if mode not in ("reduced", "complete", "full", "r", "raw"):
        raise ValueError(f"Unsupported QR decomposition mode {mode!r}; there are 'reduced', 'complete', 'r' and 'raw'")
    if mode == "raw":
        return QRResult(*_raw_qr(a))
    q, r = _qr(a, full=mode in ("complete", "full"))
    return r if mode == "r" else QRResult(q, r)


@jit_wrapped()
def _raw_qr(a: Any) -> tuple[Any, Any]:
    reflectors, taus = householder.geqrf(promote_inexact(a))
    return transpose_matrices(reflectors), taus


@jit_wrapped("full")
def _qr(a: Any, full: bool) -> tuple[Any, Any]:
    q, r = qr_of_stacks(promote_inexact(a), full_matrices=full)
    return q, r


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """Return the singular value decomposition, ``a = U @ diag(S) @ Vh``, of matrices of shape ``(…, m, n)``.

    Returns U, ``(…, m, k)``, S in descending order, ``(…, min(m, n))``, and Vh, ``(…, k', n)``, with k = m and k'
    = n for ``full_matrices``, else min(m, n); S alone without ``compute_uv``. ``hermitian`` says that ``a`` is
    Hermitian, and uses a faster algorithm. A matrix with NaN gives NaN. Raises ValueError for arrays without rows
    and columns.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linalg.svd(jnp.array([[3.0, 0.0], [0.0, 4.0]])).S)
    [4. 3.]
    """
    _require_matrices("svd", a)
    if hermitian:
        require_square("svd with hermitian=True", a)
        if not compute_uv:
            return _hermitian_singular_values(a)
        return SVDResult(*_hermitian_svd(a))
    if not compute_uv:
        return _singular_values(a, subset=subset_by_index)
    return SVDResult(*_svd(a, full=bool(full_matrices), subset=subset_by_index))


@jit_wrapped("subset")
def _singular_values(a: Any, subset: Any) -> Any:
    return singular_values.svd(promote_inexact(a), full_matrices=False, compute_uv=False, subset_by_index=subset)


@jit_wrapped("full", "subset")
def _svd(a: Any, full: bool, subset: Any) -> tuple[Any, Any, Any]:
    u, s, vh = singular_values.svd(promote_inexact(a), full_matrices=full, subset_by_index=subset)
    return u, s, vh


@jit_wrapped()
def _hermitian_singular_values(a: Any) -> Any:
    _, w = hermitian_eigenvalues.eigh(promote_inexact(a))
    return sorting.sort(ufuncs.abs(w), descending=True)


@jit_wrapped()
def _hermitian_svd(a: Any) -> tuple[Any, Any, Any]:
    v, w = hermitian_eigenvalues.eigh(promote_inexact(a))
    order = sorting.argsort(ufuncs.abs(w), descending=True)
    u = take_along_axis(v, expand_dims(order, -2), -1)
    signs = ufuncs.sign(take_along_axis(w, order, -1))
    return u, take_along_axis(ufuncs.abs(w), order, -1), adjoint(ufuncs.multiply(u, expand_dims(signs, -2)))


def svdvals(x: Any, /) -> Any:
    """Return the singular values of matrices in descending order, shape ``(…, min(m, n))``.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linalg.svdvals(jnp.array([[3.0, 0.0], [0.0, 4.0]])))
    [4. 3.]
    """
    return svd(x, compute_uv=False)


def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Return the eigenvalues in ascending order, and the eigenvectors, of Hermitian matrices of shape ``(…, n, n)``.

    ``symmetrize_input`` averages ``a`` with its adjoint; without it only the triangle ``UPLO`` is used, "L"
    (None) or "U". Eigenvectors of equal eigenvalues have no derivatives. Raises ValueError for matrices that are
    not square, and for another ``UPLO``.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linalg.eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]])).eigenvalues)
    [1. 2.]
    """
    v, w = _eigh(a, lower=_is_lower(UPLO), symmetrize=bool(symmetrize_input))
    return EighResult(w, v)


def _is_lower(name: Any) -> bool:
    if name not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {name!r}")
    return bool(name != "U")


@jit_wrapped("lower", "symmetrize")
def _eigh(a: Any, lower: bool, symmetrize: bool) -> tuple[Any, Any]:
    require_square("eigh", a)
    return hermitian_eigenvalues.eigh(promote_inexact(a), lower=lower, symmetrize_input=symmetrize)


def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Any:
    """Return the eigenvalues of Hermitian matrices, in ascending order, shape ``(…, n)``; see :func:`eigh`.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linalg.eigvalsh(jnp.array([[2.0, 0.0], [0.0, 1.0]])))
    [1. 2.]
    """
    return eigh(a, UPLO, symmetrize_input).eigenvalues


def eig(a: Any) -> EigResult:
    """Return the eigenvalues, ``(…, n)``, and right eigenvectors, ``(…, n, n)``, of square matrices; both complex.

    Eigenvectors have no derivatives; :func:`eigvals` has. Raises ValueError for matrices that are not square.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linalg.eig(jnp.array([[2.0, 0.0], [0.0, 1.0]])).eigenvalues)
    [2.+0.j 1.+0.j]
    """
    return EigResult(*_eig(a))


@jit_wrapped()
def _eig(a: Any) -> tuple[Any, Any]:
    require_square("eig", a)
    w, v = general_eigenvalues.eig(promote_inexact(a), compute_left_eigenvectors=False)
    return w, v


@jit_wrapped()
def eigvals(a: Any) -> Any:
    """Return the eigenvalues of square matrices, complex, shape ``(…, n)``; raises ValueError for others.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linalg.eigvals(jnp.array([[2.0, 0.0], [0.0, 1.0]])))
    [2.+0.j 1.+0.j]
    """
    require_square("eigvals", a)
    (w,) = general_eigenvalues.eig(
        promote_inexact(a), compute_left_eigenvectors=False, compute_right_eigenvectors=False
    )
    return w
