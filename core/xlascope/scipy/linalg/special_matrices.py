"""Special matrices that are defined by their size: Hilbert, Pascal, Hadamard, Helmert, Fourier."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...dtypes import dtype_kind
from ...ir.requested_dtypes import resolve_requested_dtype
from ...numpy.axes import whole_number
from ...operations.bits import population_count
from ...trace.source import here
from ..arguments import require_one_of


def _require_size(name: str, n: Any, minimum: int = 0) -> int:
    size = whole_number(n, f"n of {name}")
    if size >= 2**31:
        raise OverflowError(f"{name} takes a size below 2**31, got {size}{here()}")
    if size < minimum:
        raise ValueError(f"{name} takes a size of at least {minimum}, got {size}{here()}")
    return size


def hilbert(n: int) -> Any:
    """Return the Hilbert matrix of size ``n``: element (i, j) is 1 / (i + j + 1), with indices from 0.

    >>> import xlascope.scipy.linalg as sl
    >>> print(sl.hilbert(2).round(3))
    [[1.    0.5  ]
     [0.5   0.333]]
    """
    indices = jnp.arange(_require_size("hilbert", n), dtype=float)
    return 1 / (indices[:, None] + indices + 1)


def invhilbert(n: int) -> Any:
    """Return the inverse of :func:`hilbert`: its integer elements are rounded to the default float dtype.

    >>> import xlascope.scipy.linalg as sl
    >>> print(sl.invhilbert(2))
    [[ 4. -6.]
     [-6. 12.]]
    """
    size = _require_size("invhilbert", n)
    # M.-D. Choi, "Tricks or treats with the Hilbert matrix", American Mathematical Monthly 90, 1983
    result = np.zeros((size, size))
    for i in range(1, size + 1):
        for j in range(1, i + 1):
            count = (i + j - 1) * math.comb(size + i - 1, size - j) * math.comb(size + j - 1, size - i)
            value = (-1) ** (i + j) * count * math.comb(i + j - 2, i - 1) ** 2
            result[i - 1, j - 1] = result[j - 1, i - 1] = _to_float(value)
    return jnp.asarray(result, dtype=float)


def _to_float(value: int) -> float:
    """Convert an integer to a float, infinite if it overflows."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _resolve_kind(name: str, kind: str | None) -> str:
    return require_one_of(f"kind of {name}", kind, None, "symmetric", "lower", "upper") or "symmetric"


def pascal(n: int, kind: str | None = None) -> Any:
    """Return Pascal's triangle as a matrix of size ``n``, in floats.

    ``kind`` "symmetric" (None) has the elements binomial(i + j, i), "lower" binomial(i, j), and "upper" is its
    transpose. Raises ValueError for another kind.

    >>> import xlascope.scipy.linalg as sl
    >>> print(sl.pascal(3))
    [[1. 1. 1.]
     [1. 2. 3.]
     [1. 3. 6.]]
    """
    size, kind = _require_size("pascal", n), _resolve_kind("pascal", kind)
    result = np.zeros((size, size))
    if kind == "symmetric":
        result[:1] = 1
        for i in range(1, size):
            np.cumsum(result[i - 1], out=result[i])
    else:
        result[:, :1] = 1
        for i in range(1, size):
            result[i, 1:] = result[i - 1, 1:] + result[i - 1, :-1]
    return jnp.asarray(result.T if kind == "upper" else result, dtype=float)


def invpascal(n: int, kind: str | None = None) -> Any:
    """Return the inverse of :func:`pascal` of the same kind: its integer elements are rounded to floats.

    >>> import xlascope.scipy.linalg as sl
    >>> print(sl.invpascal(3, "lower"))
    [[ 1.  0.  0.]
     [-1.  1.  0.]
     [ 1. -2.  1.]]
    """
    size, kind = _require_size("invpascal", n), _resolve_kind("invpascal", kind)
    lower = [[(-1) ** (i + j) * math.comb(i, j) for j in range(size)] for i in range(size)]
    exact = np.array(lower, dtype=object).reshape(size, size)
    matrix = {"lower": exact, "upper": exact.T}.get(kind)
    if matrix is None:
        matrix = exact.T @ exact if size else exact
    result = np.array([_to_float(value) for value in matrix.ravel()]).reshape(size, size)
    return jnp.asarray(result, dtype=float)


def hadamard(n: int, dtype: Any = int) -> Any:
    """Return the Hadamard matrix of size ``n``, a power of two, by Sylvester's construction.

    Its elements are 1 and -1. Raises ValueError for another size.

    >>> import xlascope.scipy.linalg as sl
    >>> print(sl.hadamard(2))
    [[ 1  1]
     [ 1 -1]]
    """
    size = _require_size("hadamard", n)
    if size < 1 or size & (size - 1):
        raise ValueError(f"hadamard takes a size that is a power of two, got {size}{here()}")
    indices = jnp.arange(size)
    # the sign is the parity of the bits that row and column index have in common
    parity = population_count(indices[:, None] & indices) & 1
    return (1 - 2 * parity).astype(resolve_requested_dtype(dtype))


def helmert(n: int, full: bool = False) -> Any:
    """Return Helmert's matrix: orthonormal contrasts as rows, shape ``(n - 1, n)``.

    With ``full``, a constant first row is added. Raises ValueError for sizes below 1.

    >>> import xlascope.scipy.linalg as sl
    >>> print(sl.helmert(2).round(1))
    [[ 0.7 -0.7]]
    """
    size = _require_size("helmert", n, 1)
    rows, columns = jnp.arange(1.0, size)[:, None], jnp.arange(float(size))
    contrasts = jnp.where(columns < rows, 1.0, jnp.where(columns == rows, -rows, 0.0))
    result = contrasts / jnp.sqrt(rows * (rows + 1))
    if not full:
        return result
    return jnp.concatenate([jnp.full((1, size), 1 / math.sqrt(size), result.dtype), result], 0)


def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Any:
    """Return the matrix of the discrete Fourier transform of ``n`` elements: ``dft(n) @ x = fft(x)``.

    ``scale`` "sqrtn" makes it unitary, "n" divides by n. ``dtype`` has to be complex. Raises ValueError for
    another scale, and for a dtype that is not complex.

    >>> import xlascope.scipy.linalg as sl
    >>> print(sl.dft(2).real)
    [[ 1.  1.]
     [ 1. -1.]]
    """
    size = _require_size("dft", n)
    require_one_of("scale of dft", scale, None, "sqrtn", "n")
    resolved_dtype = resolve_requested_dtype(complex if dtype is None else dtype)
    if dtype_kind(resolved_dtype) != "c":
        raise ValueError(f"dft takes a complex dtype, got {resolved_dtype.name}{here()}")
    indices = np.arange(size)
    period = max(size, 1)
    phases = (indices[:, None] * indices) % period  # integers, so that the angle is exact for large products
    result = np.exp(-2j * np.pi / period * phases)
    result /= {None: 1, "sqrtn": math.sqrt(period), "n": period}[scale]
    return jnp.asarray(result.astype(resolved_dtype))
