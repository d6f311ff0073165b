"""Matrices that are known by their size: Hilbert, Pascal, Hadamard, Helmert, Fourier."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...dtypes import kind_of
from ...ir.requested_dtypes import requested_dtype
from ...numpy.axes import whole_number
from ...operations.bits import population_count
from ...trace.source import here
from ..arguments import one_of


def _size(name: str, n: Any, least: int = 0) -> int:
    size = whole_number(n, f"n of {name}")
    if size >= 2**31:
        raise OverflowError(f"{name} takes a size below 2**31, got {size}{here()}")
    if size < least:
        raise ValueError(f"{name} takes a size of at least {least}, got {size}{here()}")
    return size


def hilbert(n: int) -> Any:
    """The Hilbert matrix of size ``n``: element (i, j) is 1 / (i + j + 1), counted from 0.

    >>> import xlascope.scipy.linalg as sl
    >>> print(sl.hilbert(2).round(3))
    [[1.    0.5  ]
     [0.5   0.333]]
    """
    places = jnp.arange(_size("hilbert", n), dtype=float)
    return 1 / (places[:, None] + places + 1)


def invhilbert(n: int) -> Any:
    """The inverse of :func:`hilbert`, whose elements are whole numbers, rounded to the dtype of floats.

    >>> import xlascope.scipy.linalg as sl
    >>> print(sl.invhilbert(2))
    [[ 4. -6.]
     [-6. 12.]]
    """
    size = _size("invhilbert", n)
    # M.-D. Choi, "Tricks or treats with the Hilbert matrix", American Mathematical Monthly 90, 1983
    found = np.zeros((size, size))
    for i in range(1, size + 1):
        for j in range(1, i + 1):
            count = (i + j - 1) * math.comb(size + i - 1, size - j) * math.comb(size + j - 1, size - i)
            value = (-1) ** (i + j) * count * math.comb(i + j - 2, i - 1) ** 2
            found[i - 1, j - 1] = found[j - 1, i - 1] = _float(value)
    return jnp.asarray(found, dtype=float)


def _float(value: int) -> float:
    """A whole number as a float, infinite where it is none."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _kind(name: str, kind: str | None) -> str:
    return one_of(f"kind of {name}", kind, None, "symmetric", "lower", "upper") or "symmetric"


def pascal(n: int, kind: str | None = None) -> Any:
    """Pascal's triangle as a matrix of size ``n``, in floats: "symmetric" (None), with the element (i + j over i), or
    "lower", (i over j), or "upper". Raises ValueError for another kind.

    >>> import xlascope.scipy.linalg as sl
    >>> print(sl.pascal(3))
    [[1. 1. 1.]
     [1. 2. 3.]
     [1. 3. 6.]]
    """
    size, kind = _size("pascal", n), _kind("pascal", kind)
    found = np.zeros((size, size))
    if kind == "symmetric":
        found[:1] = 1
        for i in range(1, size):
            np.cumsum(found[i - 1], out=found[i])
    else:
        found[:, :1] = 1
        for i in range(1, size):
            found[i, 1:] = found[i - 1, 1:] + found[i - 1, :-1]
    return jnp.asarray(found.T if kind == "upper" else found, dtype=float)


def invpascal(n: int, kind: str | None = None) -> Any:
    """The inverse of :func:`pascal` of the same kind, whose elements are whole numbers, rounded to floats.

    >>> import xlascope.scipy.linalg as sl
    >>> print(sl.invpascal(3, "lower"))
    [[ 1.  0.  0.]
     [-1.  1.  0.]
     [ 1. -2.  1.]]
    """
    size, kind = _size("invpascal", n), _kind("invpascal", kind)
    lower = [[(-1) ** (i + j) * math.comb(i, j) for j in range(size)] for i in range(size)]
    exact = np.array(lower, dtype=object).reshape(size, size)
    chosen = {"lower": exact, "upper": exact.T}.get(kind)
    if chosen is None:
        chosen = exact.T @ exact if size else exact
    found = np.array([_float(value) for value in chosen.ravel()]).reshape(size, size)
    return jnp.asarray(found, dtype=float)


def hadamard(n: int, dtype: Any = int) -> Any:
    """The Hadamard matrix of size ``n``, a power of two, of ones and minus ones, by Sylvester's construction.

    Raises ValueError for another size.

    >>> import xlascope.scipy.linalg as sl
    >>> print(sl.hadamard(2))
    [[ 1  1]
     [ 1 -1]]
    """
    size = _size("hadamard", n)
    if size < 1 or size & (size - 1):
        raise ValueError(f"hadamard takes a size that is a power of two, got {size}{here()}")
    places = jnp.arange(size)
    # the sign counts the binary digits that the numbers of row and column share
    shared = population_count(places[:, None] & places) & 1
    return (1 - 2 * shared).astype(requested_dtype(dtype))


def helmert(n: int, full: bool = False) -> Any:
    """Helmert's matrix: orthonormal contrasts as rows, shape ``(n - 1, n)``; ``full`` with constants as its first row.

    Raises ValueError for sizes below 1.

    >>> import xlascope.scipy.linalg as sl
    >>> print(sl.helmert(2).round(1))
    [[ 0.7 -0.7]]
    """
    size = _size("helmert", n, 1)
    rows, columns = jnp.arange(1.0, size)[:, None], jnp.arange(float(size))
    parts = jnp.where(columns < rows, 1.0, jnp.where(columns == rows, -rows, 0.0))
    found = parts / jnp.sqrt(rows * (rows + 1))
    if not full:
        return found
    return jnp.concatenate([jnp.full((1, size), 1 / math.sqrt(size), found.dtype), found], 0)


def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Any:
    """The matrix of the discrete Fourier transform of ``n`` elements: ``dft(n) @ x = fft(x)``.

    ``scale`` "sqrtn" makes it unitary, "n" divides by n. ``dtype`` is a complex one. Raises ValueError for another
    scale, and for a dtype that is not complex.

    >>> import xlascope.scipy.linalg as sl
    >>> print(sl.dft(2).real)
    [[ 1.  1.]
     [ 1. -1.]]
    """
    size = _size("dft", n)
    one_of("scale of dft", scale, None, "sqrtn", "n")
    chosen = requested_dtype(complex if dtype is None else dtype)
    if kind_of(chosen) != "c":
        raise ValueError(f"dft takes a complex dtype, got {chosen.name}{here()}")
    places = np.arange(size)
    most = max(size, 1)
    turns = (places[:, None] * places) % most  # whole, so that the angle is exact however large the product
    found = np.exp(-2j * np.pi / most * turns)
    found /= {None: 1, "sqrtn": math.sqrt(most), "n": most}[scale]
    return jnp.asarray(found.astype(chosen))
