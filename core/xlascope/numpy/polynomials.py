"""Polynomials by their coefficients, the highest power first; and window functions."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..control.flow.loop_api import scan
from ..control.rules.custom_jvp import custom_jvp
from ..dtypes import dtype_kind, to_canonical_dtype
from ..ir.avals import make_aval
from ..operations.bessel import bessel_i0e, bessel_i1e
from ..operations.operand_values import typed_scalar
from ..operations.shapes import expand_dims, zeros_of
from ..operations.slicing import pad, slice_in_dim
from ..trace.operand_coercion import pass_through
from ..trace.tracer import TracerBase
from ..trace.values import aval_of, exact_array
from . import index_construction, transcendental, ufuncs
from .axes import whole_number
from .creation import ones, zeros_like
from .jit_wrapped import jit_wrapped
from .joining import concatenate
from .promotion import as_dtype, common_dtype, promote_dtypes, promote_inexact
from .ranges import arange, linspace
from .shaping import broadcast_to, index_row, ravel, shape_of


def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """Return the value at ``x`` of the polynomial with coefficients ``p``, by Horner's rule.

    Up to ``unroll`` coefficients are unrolled; more use a loop with ``unroll`` coefficients in each step.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.polyval(jnp.array([1, 0, 2]), 3))
    11
    """
    if not shape_of(p):
        raise ValueError("polyval takes coefficients along an axis, got an array without axes")
    unroll = whole_number(unroll, "unroll")
    if unroll < 1:
        raise ValueError(f"unroll is a number of coefficients, at least 1, got {unroll}")
    return _polyval(p, x, unroll=unroll)


@jit_wrapped("unroll")
def _polyval(p: Any, x: Any, unroll: int) -> Any:
    result: Any = zeros_of(make_aval(shape_of(x), _result_dtype(p, x)))
    if shape_of(p)[0] > unroll:
        x = as_dtype(x, aval_of(result).dtype)
        result = broadcast_to(result, np.broadcast_shapes(shape_of(x), shape_of(p)[1:]))
        return scan(functools.partial(_horner_step, x), result, as_dtype(p, aval_of(result).dtype), unroll=unroll)[0]
    for i in range(shape_of(p)[0]):
        result = ufuncs.add(ufuncs.multiply(result, x), index_row(p, i))
    return result


def _horner_step(x: Any, accumulator: Any, coefficient: Any) -> tuple[Any, None]:
    return ufuncs.add(ufuncs.multiply(accumulator, x), coefficient), None


def _result_dtype(p: Any, x: Any) -> np.dtype[Any]:
    return common_dtype([aval_of(p), aval_of(x)])[0]


@jit_wrapped()
def polyadd(a1: Any, a2: Any) -> Any:
    """Return the sum of two polynomials."""
    x, y = _pad_to_common_degree(a1, a2)
    return ufuncs.add(x, y)


@jit_wrapped()
def polysub(a1: Any, a2: Any) -> Any:
    """Return the difference of two polynomials."""
    x, y = _pad_to_common_degree(a1, a2)
    return ufuncs.subtract(x, y)


def _pad_to_common_degree(a1: Any, a2: Any) -> tuple[Any, Any]:
    x, y = promote_dtypes([a1, a2])
    if len(shape_of(x)) != 1 or len(shape_of(y)) != 1:
        raise ValueError(f"polynomials are arrays with one axis, got shapes {shape_of(x)} and {shape_of(y)}")
    size = max(shape_of(x)[0], shape_of(y)[0])
    zero = typed_scalar(0, aval_of(x).dtype)
    first, second = (pad(v, zero, [(size - shape_of(v)[0], 0, 0)]) for v in (x, y))
    return first, second


@jit_wrapped("m")
def polyder(p: Any, m: int = 1) -> Any:
    """Return the derivative of a polynomial, taken ``m`` times."""
    times = _repetition_count(m, "polyder")
    if not times:
        return pass_through(promote_inexact(p))
    p = _require_coefficients(p, "polyder")
    for _ in range(min(times, shape_of(p)[0])):
        degree = shape_of(p)[0] - 1
        powers = exact_array(np.arange(degree, 0, -1), aval_of(p).dtype)
        p = ufuncs.multiply(slice_in_dim(p, 0, degree, 0), _broadcast_along_first(powers, p))
    return p


@jit_wrapped("m")
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """Return the integral of a polynomial, taken ``m`` times.

    ``k`` is the constant of integration (None: 0), or has one for each of the ``m`` times.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.polyint(jnp.array([2.0, 1.0])), jnp.polyint(jnp.array([2.0, 1.0]), k=5))
    [1. 1. 0.] [1. 1. 5.]
    """
    times = _repetition_count(m, "polyint")
    p = as_dtype(p, to_canonical_dtype(int)) if aval_of(p).dtype == np.bool_ else p  # booleans promote as integers
    if not times:
        return pass_through(promote_inexact(p))
    p = _require_coefficients(p, "polyint")
    for constant in _integration_constants(k, times, aval_of(p).dtype):
        powers = exact_array(np.arange(shape_of(p)[0], 0, -1), aval_of(p).dtype)
        p = concatenate([ufuncs.true_divide(p, powers), constant])
    return p


def _require_coefficients(p: Any, caller: str) -> Any:
    p = promote_inexact(p)
    if not shape_of(p) or (caller == "polyint" and len(shape_of(p)) > 1):
        raise ValueError(f"{caller} takes coefficients along one axis, got shape {shape_of(p)}")
    return p


def _repetition_count(m: Any, caller: str) -> int:
    times = whole_number(m, "m")
    if times < 0:
        raise ValueError(f"{caller} is taken m times, m is at least 0; got {times}")
    return times


def _broadcast_along_first(values: Any, p: Any) -> Any:
    return values.reshape(len(values), *(1 for _ in shape_of(p)[1:]))


def _integration_constants(k: Any, times: int, dtype: np.dtype[Any]) -> list[Any]:
    """Return the ``times`` constants of integration in ``dtype``, each as an array of one element.

    ``k`` is None for zeros, one constant for all, or has ``times`` constants; other shapes raise ValueError.
    """
    if k is None:
        return [zeros_of(make_aval((1,), dtype))] * times
    values = ravel(as_dtype(k, dtype))
    if shape_of(values) not in ((1,), (times,)):
        raise ValueError(f"polyint takes one constant k, or {times}, one for each time; got shape {shape_of(k)}")
    return [slice_in_dim(values, i, i + 1, 0) for i in (range(times) if shape_of(values) == (times,) else (0,) * times)]


@jit_wrapped("N", "increasing")
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Return the matrix whose columns are powers of ``x``, the highest first, or the lowest if ``increasing``.

    ``N`` is the number of columns (None: as many as rows).
    """
    if len(shape_of(x)) != 1:
        raise ValueError(f"vander takes an array with one axis, got shape {shape_of(x)}")
    count = shape_of(x)[0] if N is None else whole_number(N, "N")
    if count < 0:
        raise ValueError(f"N is the number of columns, at least 0; got {count}")
    powers = np.arange(count) if increasing else np.arange(count)[::-1]
    columns = [expand_dims(ufuncs.power(x, int(k)), (1,)) for k in powers]
    return concatenate(columns, 1) if columns else zeros_of(make_aval((shape_of(x)[0], 0), aval_of(x).dtype))


# Windows ------------------------------------------------------------------------------------------------------------


def _window_length(M: Any) -> int:
    """Return the number of samples of a window as an integer, truncated.

    Raises TypeError for arrays, complex and infinite numbers.
    """
    aval = aval_of(M)
    if aval.shape or dtype_kind(aval.dtype) == "c" or not (isinstance(M, TracerBase) or math.isfinite(M)):
        raise TypeError(f"M is the number of samples, got {M!r}")
    return int(M)


@jit_wrapped("M", "weights")
def _cosine_window(M: int, weights: tuple[float, ...]) -> Any:
    if M <= 1:
        return ufuncs.add(zeros_like(arange(max(M, 0)), dtype=to_canonical_dtype(float)), 1.0)
    angle = ufuncs.divide(ufuncs.multiply(arange(M, dtype=to_canonical_dtype(float)), 2 * math.pi), float(M - 1))
    window: Any = weights[0]
    for k, weight in enumerate(weights[1:], 1):
        window = ufuncs.add(window, ufuncs.multiply(transcendental.cos(ufuncs.multiply(angle, float(k))), weight))
    return window


def hanning(M: int) -> Any:
    """Return the Hann window, a raised cosine."""
    return _cosine_window(M=_window_length(M), weights=(0.5, -0.5))


def hamming(M: int) -> Any:
    """Return the Hamming window."""
    return _cosine_window(M=_window_length(M), weights=(0.54, -0.46))


def blackman(M: int) -> Any:
    """Return the Blackman window."""
    return _cosine_window(M=_window_length(M), weights=(0.42, -0.5, 0.08))


def bartlett(M: int) -> Any:
    """Return the triangular window."""
    return _triangular_window(M=_window_length(M))


@jit_wrapped("M")
def _triangular_window(M: int) -> Any:
    if M <= 1:
        return _cosine_window(M=M, weights=(1.0,))
    half = (M - 1) / 2
    distance = ufuncs.abs(ufuncs.subtract(arange(M, dtype=to_canonical_dtype(float)), half))
    return ufuncs.subtract(1.0, ufuncs.true_divide(distance, half))


@jit_wrapped()
def i0(x: Any) -> Any:
    """Return the modified Bessel function of order 0 of real numbers.

    >>> import xlascope.numpy as jnp
    >>> print(f"{jnp.i0(2.0):.4f}")
    2.2796
    """
    x = promote_inexact(x)
    if dtype_kind(aval_of(x).dtype) == "c":
        raise ValueError(f"i0 takes real numbers, got {aval_of(x).dtype.name}")
    return _i0(x)


@custom_jvp
def _i0(x: Any) -> Any:
    return index_construction.where(ufuncs.abs(x) == math.inf, math.inf, _grow(x, bessel_i0e(x)))


def _grow(x: Any, scaled: Any) -> Any:
    """Return e^|x| times ``scaled``, in two factors: the product is finite where e^|x| is not."""
    growth = transcendental.exp(ufuncs.multiply(ufuncs.abs(x), 0.5))
    return ufuncs.multiply(ufuncs.multiply(growth, scaled), growth)


@_i0.defjvp
def _i0_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _i0(x), ufuncs.multiply(t, _grow(x, bessel_i1e(x)))


def kaiser(M: int, beta: Any) -> Any:
    """Return Kaiser's window of ``M`` points: i0(beta √(1 - z²)) / i0(beta) for z from -1 to 1.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.kaiser(3, 2.0).round(3))
    [0.439 1.    0.439]
    """
    return _kaiser(beta, size=_window_length(M))


@jit_wrapped("size")
def _kaiser(beta: Any, size: int) -> Any:
    beta = promote_inexact(beta)
    if size <= 1:
        return ones((size,), to_canonical_dtype(float))
    z = linspace(-1.0, 1.0, size)
    inside = ufuncs.maximum(ufuncs.subtract(1, ufuncs.multiply(z, z)), 0)
    return ufuncs.true_divide(i0(ufuncs.multiply(beta, transcendental.sqrt(inside))), i0(beta))
