"""Structured matrices that are built from vectors, in stacks: Toeplitz, Hankel, companion matrices and others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as jnp
from ...ir.avals import make_aval
from ...numpy.axes import whole_number
from ...numpy.jit_wrapped import jit_wrapped
from ...numpy.promotion import promote_dtypes
from ...operations.shapes import zeros_of
from ...trace.operand_coercion import to_array
from ...trace.source import here
from ...trace.values import exact_array
from ..arguments import promote_dtypes_inexact, require_one_of, to_strong_type


@jit_wrapped()
def block_diag(*arrs: Any) -> Any:
    """Return a block diagonal matrix.

    ``arrs`` are matrices, vectors (taken as rows) and scalars; the result has all their rows and columns, in
    their promoted dtype. Without arguments it has the shape (1, 0). Raises ValueError for arrays of more axes.

    >>> import xlascope.scipy.linalg as sl
    >>> print(sl.block_diag(1.0, 2.0))
    [[1. 0.]
     [0. 2.]]
    """
    blocks = [jnp.atleast_2d(to_strong_type(x)) for x in promote_dtypes(arrs)] if arrs else [jnp.zeros((1, 0))]
    for block in blocks:
        if block.ndim > 2:
            raise ValueError(f"block_diag takes arrays of at most two axes, got shape {block.shape}{here()}")
    width = sum(block.shape[1] for block in blocks)
    rows, start = [], 0
    for block in blocks:
        rows.append(jnp.pad(block, ((0, 0), (start, width - start - block.shape[1]))))
        start += block.shape[1]
    return jnp.concatenate(rows, 0)


def _as_vectors(x: Any) -> Any:
    return jnp.atleast_1d(to_strong_type(x))


def _broadcast_leading_axes(*xs: Any) -> list[Any]:
    """Return stacks of vectors with their leading axes broadcast against each other."""
    batch_shape = jnp.broadcast_shapes(*(x.shape[:-1] for x in xs))
    return [jnp.broadcast_to(x, (*batch_shape, x.shape[-1])) for x in xs]


def _gather_elements(v: Any, indices: np.ndarray[Any, Any]) -> Any:
    """Return the elements of vectors at static indices, an array whose shape replaces the last axis of ``v``."""
    if not indices.size:
        return zeros_of(make_aval((*v.shape[:-1], *indices.shape), v.dtype))
    return jnp.take(v, indices, -1, mode="clip")


@jit_wrapped()
def toeplitz(c: Any, r: Any = None) -> Any:
    """Return matrices with equal elements along each diagonal, from their first columns and first rows.

    ``c`` has shape ``(…, n)``, ``r`` ``(…, m)``, whose first element is ignored; the default is the conjugate of
    ``c``. The result has shape ``(…, n, m)``. A scalar is read as a vector.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.toeplitz(jnp.array([1, 2, 3]), jnp.array([1, 4, 5])))
    [[1 4 5]
     [2 1 4]
     [3 2 1]]
    """
    columns, rows = map(_as_vectors, promote_dtypes((c, c if r is None else r)))
    columns, rows = _broadcast_leading_axes(columns, jnp.conj(rows) if r is None else rows)
    n, m = columns.shape[-1], rows.shape[-1]
    diagonals = jnp.concatenate([jnp.flip(columns, -1), rows[..., 1:]], -1)
    return _gather_elements(diagonals, n - 1 - np.arange(n)[:, None] + np.arange(m))


@jit_wrapped()
def hankel(c: Any, r: Any = None) -> Any:
    """Return matrices with equal elements along each antidiagonal, from their first columns and last rows.

    ``c`` has shape ``(…, n)``, ``r`` ``(…, m)``, whose first element is ignored; the default is zeros. The result
    has shape ``(…, n, m)``.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.hankel(jnp.array([1, 2, 3])))
    [[1 2 3]
     [2 3 0]
     [3 0 0]]
    """
    columns, rows = map(_as_vectors, promote_dtypes((c, c if r is None else r)))
    columns, rows = _broadcast_leading_axes(columns, jnp.zeros_like(rows) if r is None else rows)
    antidiagonals = jnp.concatenate([columns, rows[..., 1:]], -1)
    return _gather_elements(antidiagonals, np.arange(columns.shape[-1])[:, None] + np.arange(rows.shape[-1]))


@jit_wrapped()
def circulant(c: Any) -> Any:
    """Return circulant matrices with first columns ``c``, shape ``(…, n)``: element (i, j) is c[i - j].

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.circulant(jnp.array([1, 2, 3])))
    [[1 3 2]
     [2 1 3]
     [3 2 1]]
    """
    columns = jnp.atleast_1d(to_array(c))
    n = columns.shape[-1]
    return _gather_elements(columns, (np.arange(n)[:, None] - np.arange(n)) % max(n, 1))


@jit_wrapped("n", "mode")
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """Return the matrices A with ``A @ v = convolve(a, v, mode)`` for vectors ``v`` of ``n`` elements.

    ``a`` has shape ``(…, m)``; the result has n columns and m + n - 1 rows ("full"), max(m, n) rows ("same"), or
    the rows of full overlap ("valid"). Raises ValueError for no elements, and for another mode.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.convolution_matrix(jnp.array([1, 2]), 2))
    [[1 0]
     [2 1]
     [0 2]]
    """
    columns, width = _as_vectors(a), whole_number(n, "n of convolution_matrix")
    require_one_of("mode of convolution_matrix", mode, "full", "same", "valid")
    m = columns.shape[-1]
    if width < 1 or not m:
        raise ValueError(f"convolution_matrix takes elements, and n of at least 1, got shape {columns.shape}, n={n}")
    overlap = min(m, width) - 1
    first = {"full": 0, "same": overlap // 2, "valid": overlap}[mode]
    last = {"full": 0, "same": overlap - overlap // 2, "valid": overlap}[mode]
    indices = np.arange(first, m + width - 1 - last)[:, None] - np.arange(width)
    inside = (indices >= 0) & (indices < m)
    return jnp.where(inside, _gather_elements(columns, np.clip(indices, 0, m - 1)), 0)


def _require_coefficients(name: str, a: Any, least: int) -> Any:
    (a,) = promote_dtypes_inexact(a)
    a = jnp.atleast_1d(a)
    if a.shape[-1] < least:
        raise ValueError(f"{name} takes at least {least} coefficients along the last axis, got shape {a.shape}{here()}")
    return a


@jit_wrapped()
def companion(a: Any) -> Any:
    """Return the companion matrices of polynomials with coefficients ``a``, shape ``(…, n)``, highest first.

    The first row is ``-a[1:] / a[0]``, and the subdiagonal holds ones. A leading coefficient 0 gives infinities
    or NaN. Raises ValueError for fewer than two coefficients.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.companion(jnp.array([1.0, -3.0, 2.0])))
    [[ 3. -2.]
     [ 1.  0.]]
    """
    a = _require_coefficients("companion", a, 2)
    first = -a[..., 1:] / a[..., :1]
    return _build_with_first_row(first, jnp.ones_like(a[..., 2:]))


def _build_with_first_row(first: Any, below: Any) -> Any:
    """Return matrices with a given first row and subdiagonal, and zeros elsewhere."""
    first, below = _broadcast_leading_axes(first, below)
    n = first.shape[-1]
    lower_rows = jnp.where(np.eye(n - 1, n, dtype=bool), below[..., :, None], 0)
    return jnp.concatenate([first[..., None, :], lower_rows], -2)


@jit_wrapped()
def leslie(f: Any, s: Any) -> Any:
    """Return Leslie matrices of a population model.

    The fecundities ``f``, shape ``(…, n)``, are the first row, the survival coefficients ``s``, ``(…, n - 1)``,
    the subdiagonal. Raises ValueError for other sizes.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.leslie(jnp.array([0.1, 2.0]), jnp.array([0.5])))
    [[0.1 2. ]
     [0.5 0. ]]
    """
    first, below = (jnp.asarray(x) for x in promote_dtypes((f, s)))
    if not first.ndim or not below.ndim or first.shape[-1] != below.shape[-1] + 1 or first.shape[-1] < 2:
        raise ValueError(
            f"leslie takes n coefficients f, at least 2, and n - 1 coefficients s, got shapes {first.shape} and "
            f"{below.shape}{here()}"
        )
    return _build_with_first_row(first, below)


@jit_wrapped()
def fiedler(a: Any) -> Any:
    """Return the matrices of all distances |a[i] - a[j]|, for vectors ``a`` of shape ``(…, n)``.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.fiedler(jnp.array([1, 4, 6])))
    [[0 3 5]
     [3 0 2]
     [5 2 0]]
    """
    a = jnp.atleast_1d(to_array(a))
    return jnp.abs(a[..., :, None] - a[..., None, :])


@jit_wrapped()
def fiedler_companion(a: Any) -> Any:
    """Return the pentadiagonal companion matrices of polynomials with coefficients ``a``, shape ``(…, n)``.

    Their eigenvalues are the zeros of the polynomials. A leading coefficient 0 gives infinities or NaN. Raises
    ValueError for no coefficients. (M. Fiedler, "A note on companion matrices", Linear Algebra and its
    Applications 372, 2003.)

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.fiedler_companion(jnp.array([1.0, -16.0, 86.0, -176.0, 105.0])))
    [[  16.  -86.    1.    0.]
     [   1.    0.    0.    0.]
     [   0.  176.    0. -105.]
     [   0.    1.    0.    0.]]
    """
    a = _require_coefficients("fiedler_companion", a, 1)
    n = a.shape[-1] - 1
    coefficient_indices, ones = np.zeros((n, n), np.int32), np.zeros((n, n), np.float32)
    for i in range(n):
        if i % 2:  # an odd row has a one, two columns to the left or in column 0
            ones[i, max(i - 2, 0)] = 1
        else:  # an even row has two coefficients, and a one two columns to the right
            if i:
                coefficient_indices[i, i - 1] = i + 1
            if i + 1 < n:
                coefficient_indices[i, i + 1] = i + 2
            if i + 2 < n:
                ones[i, i + 2] = 1
    if n:
        coefficient_indices[0, 0] = 1
    scaled = a / a[..., :1]
    return jnp.where(
        coefficient_indices > 0, -_gather_elements(scaled, coefficient_indices), exact_array(ones, a.dtype)
    )
