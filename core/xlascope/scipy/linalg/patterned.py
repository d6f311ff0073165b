"""Matrices whose elements follow from vectors: Toeplitz, Hankel, companions and others, in stacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as jnp
from ...numpy.axes import whole_number
from ...numpy.promotion import to_common_dtype
from ...numpy.together import together
from ...trace.gate import array_of
from ...trace.source import here
from ..arguments import floats_of_any_shape, one_of, strong


@together()
def block_diag(*arrs: Any) -> Any:
    """A matrix with others along its diagonal, and zeros beside them.

    ``arrs`` are matrices, vectors (taken as rows) and numbers; the result has all their rows and columns, in the dtype
    where they meet. Of none it has the shape (1, 0). Raises ValueError for arrays of more axes.

    >>> import xlascope.scipy.linalg as sl
    >>> print(sl.block_diag(1.0, 2.0))
    [[1. 0.]
     [0. 2.]]
    """
    blocks = [jnp.atleast_2d(strong(x)) for x in to_common_dtype(arrs)] if arrs else [jnp.zeros((1, 0))]
    for block in blocks:
        if block.ndim > 2:
            raise ValueError(f"block_diag takes arrays of at most two axes, got shape {block.shape}{here()}")
    width = sum(block.shape[1] for block in blocks)
    rows, start = [], 0
    for block in blocks:
        rows.append(jnp.pad(block, ((0, 0), (start, width - start - block.shape[1]))))
        start += block.shape[1]
    return jnp.concatenate(rows, 0)


def _vectors(x: Any) -> Any:
    return jnp.atleast_1d(strong(x))


def _leads(*xs: Any) -> list[Any]:
    """Stacks of vectors with the same leading axes."""
    lead = jnp.broadcast_shapes(*(x.shape[:-1] for x in xs))
    return [jnp.broadcast_to(x, (*lead, x.shape[-1])) for x in xs]


def _picked(v: Any, places: np.ndarray[Any, Any]) -> Any:
    """The elements of vectors in those places, as matrices of their shape."""
    if not places.size:
        return jnp.zeros((*v.shape[:-1], *places.shape), v.dtype)
    return jnp.take(v, places, -1, mode="clip")


@together()
def toeplitz(c: Any, r: Any = None) -> Any:
    """Matrices with equal elements along each diagonal, by their first columns and first rows.

    ``c`` has shape ``(…, n)``, ``r`` ``(…, m)``, of which the first element does not count; without it, it is the
    conjugate of ``c``. The result has shape ``(…, n, m)``. A number counts as a vector.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.toeplitz(jnp.array([1, 2, 3]), jnp.array([1, 4, 5])))
    [[1 4 5]
     [2 1 4]
     [3 2 1]]
    """
    columns, rows = map(_vectors, to_common_dtype((c, c if r is None else r)))
    columns, rows = _leads(columns, jnp.conj(rows) if r is None else rows)
    n, m = columns.shape[-1], rows.shape[-1]
    along = jnp.concatenate([jnp.flip(columns, -1), rows[..., 1:]], -1)
    return _picked(along, n - 1 - np.arange(n)[:, None] + np.arange(m))


@together()
def hankel(c: Any, r: Any = None) -> Any:
    """Matrices with equal elements along each antidiagonal, by their first columns and last rows.

    ``c`` has shape ``(…, n)``, ``r`` ``(…, m)``, of which the first element does not count; without it, it is zeros.
    The result has shape ``(…, n, m)``.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.hankel(jnp.array([1, 2, 3])))
    [[1 2 3]
     [2 3 0]
     [3 0 0]]
    """
    columns, rows = map(_vectors, to_common_dtype((c, c if r is None else r)))
    columns, rows = _leads(columns, jnp.zeros_like(rows) if r is None else rows)
    along = jnp.concatenate([columns, rows[..., 1:]], -1)
    return _picked(along, np.arange(columns.shape[-1])[:, None] + np.arange(rows.shape[-1]))


@together()
def circulant(c: Any) -> Any:
    """Matrices whose columns are the first one, ``c``, shape ``(…, n)``, moved around: element (i, j) is c[i - j].

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.circulant(jnp.array([1, 2, 3])))
    [[1 3 2]
     [2 1 3]
     [3 2 1]]
    """
    columns = jnp.atleast_1d(array_of(c))
    n = columns.shape[-1]
    return _picked(columns, (np.arange(n)[:, None] - np.arange(n)) % max(n, 1))


@together("n", "mode")
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """The matrices A with ``A @ v = convolve(a, v, mode)`` for vectors ``v`` of ``n`` elements.

    ``a`` has shape ``(…, m)``; the result has n columns and m + n - 1 rows ("full"), the larger of m and n ("same"), or
    those in which both meet whole ("valid"). Raises ValueError for no elements, and for another mode.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.convolution_matrix(jnp.array([1, 2]), 2))
    [[1 0]
     [2 1]
     [0 2]]
    """
    columns, width = _vectors(a), whole_number(n, "n of convolution_matrix")
    one_of("mode of convolution_matrix", mode, "full", "same", "valid")
    m = columns.shape[-1]
    if width < 1 or not m:
        raise ValueError(f"convolution_matrix takes elements, and n of at least 1, got shape {columns.shape}, n={n}")
    cut = min(m, width) - 1
    first = {"full": 0, "same": cut // 2, "valid": cut}[mode]
    last = {"full": 0, "same": cut - cut // 2, "valid": cut}[mode]
    places = np.arange(first, m + width - 1 - last)[:, None] - np.arange(width)
    inside = (places >= 0) & (places < m)
    return jnp.where(inside, _picked(columns, np.clip(places, 0, m - 1)), jnp.zeros((), columns.dtype))


def _polynomials(name: str, a: Any, least: int) -> Any:
    (a,) = floats_of_any_shape(a)
    a = jnp.atleast_1d(a)
    if a.shape[-1] < least:
        raise ValueError(f"{name} takes at least {least} coefficients along the last axis, got shape {a.shape}{here()}")
    return a


@together()
def companion(a: Any) -> Any:
    """The matrices whose characteristic polynomials have the coefficients ``a``, shape ``(…, n)``, highest first.

    The first row is ``-a[1:] / a[0]``, the diagonal below holds ones. A leading coefficient 0 gives infinities or NaN.
    Raises ValueError for fewer than two coefficients.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.companion(jnp.array([1.0, -3.0, 2.0])))
    [[ 3. -2.]
     [ 1.  0.]]
    """
    a = _polynomials("companion", a, 2)
    first = -a[..., 1:] / a[..., :1]
    return _with_first_row(first, jnp.ones((a.shape[-1] - 2,), a.dtype))


def _with_first_row(first: Any, below: Any) -> Any:
    """Matrices with a first row, and elements on the diagonal below the main one."""
    first, below = _leads(first, below)
    n = first.shape[-1]
    rest = jnp.where(np.eye(n - 1, n, dtype=bool), below[..., :, None], jnp.zeros((), first.dtype))
    return jnp.concatenate([first[..., None, :], rest], -2)


@together()
def leslie(f: Any, s: Any) -> Any:
    """Leslie's matrices of a population: fecundities ``f``, shape ``(…, n)``, in the first row, and the survival
    coefficients ``s``, ``(…, n - 1)``, on the diagonal below. Raises ValueError for other sizes.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.leslie(jnp.array([0.1, 2.0]), jnp.array([0.5])))
    [[0.1 2. ]
     [0.5 0. ]]
    """
    first, below = (jnp.asarray(x) for x in to_common_dtype((f, s)))
    if not first.ndim or not below.ndim or first.shape[-1] != below.shape[-1] + 1 or first.shape[-1] < 2:
        raise ValueError(
            f"leslie takes n coefficients f, at least 2, and n - 1 coefficients s, got shapes {first.shape} and "
            f"{below.shape}{here()}"
        )
    return _with_first_row(first, below)


@together()
def fiedler(a: Any) -> Any:
    """The matrices of all distances |a[i] - a[j]|, for vectors ``a`` of shape ``(…, n)``.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.fiedler(jnp.array([1, 4, 6])))
    [[0 3 5]
     [3 0 2]
     [5 2 0]]
    """
    a = jnp.atleast_1d(array_of(a))
    return jnp.abs(a[..., :, None] - a[..., None, :])


@together()
def fiedler_companion(a: Any) -> Any:
    """The matrices with five diagonals whose eigenvalues are the zeros of the polynomials ``a``, shape ``(…, n)``.

    A leading coefficient 0 gives infinities or NaN. Raises ValueError for no coefficients. (M. Fiedler, "A note on
    companion matrices", Linear Algebra and its Applications 372, 2003.)

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.fiedler_companion(jnp.array([1.0, -16.0, 86.0, -176.0, 105.0])))
    [[  16.  -86.    1.    0.]
     [   1.    0.    0.    0.]
     [   0.  176.    0. -105.]
     [   0.    1.    0.    0.]]
    """
    a = _polynomials("fiedler_companion", a, 1)
    n = a.shape[-1] - 1
    which, ones = np.zeros((n, n), np.int32), np.zeros((n, n), np.float32)
    for i in range(n):
        if i % 2:  # an odd row has a one to the left, or two places to the left
            ones[i, max(i - 2, 0)] = 1
        else:  # an even one two coefficients, and a one two places to the right
            if i:
                which[i, i - 1] = i + 1
            if i + 1 < n:
                which[i, i + 1] = i + 2
            if i + 2 < n:
                ones[i, i + 2] = 1
    if n:
        which[0, 0] = 1
    scaled = a / a[..., :1]
    return jnp.where(which > 0, -_picked(scaled, which), jnp.asarray(ones, a.dtype))
