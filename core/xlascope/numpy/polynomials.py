"""Polynomials by their coefficients, the highest power first; and weights for smoothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import canonical
from ..operations.shapes import expand_dims, zeros_of
from ..operations.slicing import pad, slice_in_dim
from ..trace.values import aval_of
from . import transcendental, ufuncs
from .creation import arange, zeros_like
from .joining import concatenate
from .promotion import inexact, to_common_dtype
from .shaping import index_row, shape_of
from .together import together


@together()
def polyval(p: Any, x: Any) -> Any:
    """The value at ``x`` of the polynomial with coefficients ``p``.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.polyval(jnp.array([1, 0, 2]), 3))
    11
    """
    found: Any = zeros_like(x, dtype=_meeting(p, x))
    for i in range(shape_of(p)[0]):
        found = ufuncs.add(ufuncs.multiply(found, x), index_row(p, i))
    return found


def _meeting(p: Any, x: Any) -> np.dtype[Any]:
    coefficient = index_row(p, 0)
    return aval_of(to_common_dtype([coefficient, x])[0]).dtype


@together()
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials."""
    x, y = _aligned(a1, a2)
    return ufuncs.add(x, y)


@together()
def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials."""
    x, y = _aligned(a1, a2)
    return ufuncs.subtract(x, y)


def _aligned(a1: Any, a2: Any) -> tuple[Any, Any]:
    x, y = to_common_dtype([a1, a2])
    size = max(shape_of(x)[0], shape_of(y)[0])
    zero = np.zeros((), aval_of(x).dtype)[()]
    first, second = (pad(v, zero, [(size - shape_of(v)[0], 0, 0)]) for v in (x, y))
    return first, second


@together("m")
def polyder(p: Any, m: int = 1) -> Any:
    """The derivative of a polynomial, taken ``m`` times."""
    p = inexact(p)
    for _ in range(m):
        degree = shape_of(p)[0] - 1
        powers = np.arange(degree, 0, -1).astype(aval_of(p).dtype)
        p = ufuncs.multiply(slice_in_dim(p, 0, degree, 0), powers)
    return p


@together("m")
def polyint(p: Any, m: int = 1) -> Any:
    """The integral of a polynomial, taken ``m`` times, with constants 0."""
    p = inexact(p)
    for _ in range(m):
        powers = np.arange(shape_of(p)[0], 0, -1).astype(aval_of(p).dtype)
        constant = zeros_of(aval_of(slice_in_dim(p, 0, 1, 0)))
        p = concatenate([ufuncs.true_divide(p, powers), constant])
    return p


@together("N", "increasing")
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The matrix whose columns are powers of ``x``, the highest first."""
    count = shape_of(x)[0] if N is None else N
    powers = np.arange(count) if increasing else np.arange(count)[::-1]
    columns = [expand_dims(ufuncs.power(x, int(k)), (1,)) for k in powers]
    return concatenate(columns, 1) if columns else zeros_of(aval_of(np.zeros((shape_of(x)[0], 0), np.float32)))


# Windows ------------------------------------------------------------------------------------------------------------


def _cosines(M: int, weights: tuple[float, ...]) -> Any:
    if M <= 1:
        return ufuncs.add(zeros_like(arange(max(M, 0)), dtype=canonical(float)), 1.0)
    angle = ufuncs.multiply(arange(M, dtype=canonical(float)), 2 * math.pi / (M - 1))
    found: Any = weights[0]
    for k, weight in enumerate(weights[1:], 1):
        found = ufuncs.add(found, ufuncs.multiply(transcendental.cos(ufuncs.multiply(angle, float(k))), weight))
    return found


@together("M")
def hanning(M: int) -> Any:
    """The Hann window, a raised cosine."""
    return _cosines(M, (0.5, -0.5))


@together("M")
def hamming(M: int) -> Any:
    """The Hamming window."""
    return _cosines(M, (0.54, -0.46))


@together("M")
def blackman(M: int) -> Any:
    """The Blackman window."""
    return _cosines(M, (0.42, -0.5, 0.08))


@together("M")
def bartlett(M: int) -> Any:
    """The triangular window."""
    if M <= 1:
        return _cosines(M, (1.0,))
    half = (M - 1) / 2
    distance = ufuncs.abs(ufuncs.subtract(arange(M, dtype=canonical(float)), half))
    return ufuncs.subtract(1.0, ufuncs.true_divide(distance, half))
