"""Products and quotients of polynomials, and polynomials from their roots; the highest power comes first."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..operations.operand_values import typed_scalar
from ..operations.shapes import expand_dims, full, reduce_sum, reshape
from ..operations.slicing import pad, slice_in_dim
from ..trace.concrete_values import require_known
from ..trace.values import aval_of
from . import ufuncs
from .jit_wrapped import jit_wrapped
from .joining import concatenate
from .promotion import as_dtype, promote_dtypes_inexact, promote_inexact
from .shaping import index_row, shape_of
from .vector_convolution import convolve

#: Up to this many products are computed as one array; more by a convolution, which needs less memory.
_MAX_DIRECT_PRODUCTS = 1 << 12


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """Return the product of two polynomials.

    ``a1`` and ``a2`` hold coefficients along one axis; the result has one coefficient fewer than both together,
    as floats or complex numbers. ``trim_leading_zeros`` removes leading zeros of the operands, as NumPy does, and
    needs their values. Raises ValueError for other shapes, TypeError for trimming a tracer.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.polymul(jnp.array([1.0, 2.0]), jnp.array([1.0, -2.0])))
    [ 1.  0. -4.]
    """
    operands = [a1, a2]
    if trim_leading_zeros:
        operands = [_trim_leading_zeros(p, 0.0, "polymul") for p in operands]
    return _polymul(*operands)


@jit_wrapped()
def _polymul(a1: Any, a2: Any) -> Any:
    x, y = _promote_polynomials(a1, a2)
    zero = _zero(x)
    x, y = (v if shape_of(v)[0] else full((1,), zero) for v in (x, y))  # an empty polynomial is 0
    size_x, size_y = shape_of(x)[0], shape_of(y)[0]
    if size_x * size_y > _MAX_DIRECT_PRODUCTS:
        return convolve(x, y)
    width = size_x + size_y - 1
    products = ufuncs.multiply(expand_dims(x, (1,)), expand_dims(y, (0,)))
    # shift each row by one more than the row above: pad the rows, flatten, and reshape to rows one shorter
    flat = reshape(pad(products, zero, [(0, 0, 0), (0, size_x, 0)]), (size_x * (size_x + size_y),))
    return reduce_sum(reshape(slice_in_dim(flat, 0, size_x * width, 0), (size_x, width)), (0,))


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """Return the quotient and the remainder of two polynomials: ``u == q * v + r``.

    ``u`` and ``v`` hold coefficients along one axis. The quotient has ``len(u) - len(v) + 1`` coefficients, or
    one; the remainder has as many as ``u``, of which the first are zero up to rounding. ``trim_leading_zeros``
    removes these, as NumPy does, and needs their values. Raises ValueError for other shapes.

    >>> import xlascope.numpy as jnp
    >>> q, r = jnp.polydiv(jnp.array([1.0, 0.0, -3.0]), jnp.array([1.0, 2.0]))
    >>> print(q, r)
    [ 1. -2.] [0. 0. 1.]
    """
    quotient, remainder = _polydiv(u, v)
    return quotient, _trim_leading_zeros(remainder, 1e-8, "polydiv") if trim_leading_zeros else remainder


@jit_wrapped()
def _polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    remainder, v = _promote_polynomials(u, v)
    if not shape_of(v)[0]:
        raise ValueError("polydiv takes a polynomial to divide by, got one without coefficients")
    size, divisor_size = shape_of(remainder)[0], shape_of(v)[0]
    scale = ufuncs.true_divide(1.0, index_row(v, 0))
    quotient = []
    for k in range(size - divisor_size + 1):
        factor = ufuncs.multiply(scale, index_row(remainder, k))
        quotient.append(expand_dims(factor, (0,)))
        subtrahend = pad(ufuncs.multiply(factor, v), _zero(v), [(k, size - divisor_size - k, 0)])
        remainder = ufuncs.subtract(remainder, subtrahend)
    return concatenate(quotient) if quotient else full((1,), _zero(v)), remainder


@jit_wrapped()
def poly(seq_of_zeros: Any) -> Any:
    """Return the monic polynomial with the given zeros.

    ``seq_of_zeros`` holds n zeros along one axis; the result has n + 1 coefficients, floats or complex numbers;
    without zeros it is the scalar 1. Complex zeros give complex coefficients, also where NumPy sees that their
    imaginary parts cancel. Raises ValueError for other shapes, NotImplementedError for a matrix, of which NumPy
    takes the eigenvalues.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.poly(jnp.array([1.0, -1.0])))
    [ 1.  0. -1.]
    """
    shape = shape_of(seq_of_zeros)
    if len(shape) == 2 and shape[0] == shape[1]:
        raise NotImplementedError("poly of a matrix needs its eigenvalues; give the eigenvalues themselves")
    if shape == (0,):
        return full((), typed_scalar(1, aval_of(promote_inexact(seq_of_zeros)).dtype))
    if len(shape) > 1:
        raise ValueError(f"poly takes zeros along one axis, got shape {shape}")
    zeros = reshape(promote_inexact(seq_of_zeros), (aval_of(seq_of_zeros).size,))
    zeros = as_dtype(zeros, aval_of(zeros).dtype)
    coefficients: Any = full((1,), typed_scalar(1, aval_of(zeros).dtype))
    for i in range(shape_of(zeros)[0]):
        scaled = ufuncs.multiply(coefficients, ufuncs.negative(index_row(zeros, i)))
        middle = ufuncs.add(slice_in_dim(coefficients, 1, i + 1, 0), slice_in_dim(scaled, 0, i, 0))
        coefficients = concatenate([slice_in_dim(coefficients, 0, 1, 0), middle, slice_in_dim(scaled, i, i + 1, 0)])
    return coefficients


def _promote_polynomials(first: Any, second: Any) -> tuple[Any, Any]:
    x, y = promote_dtypes_inexact([first, second])
    if len(shape_of(x)) != 1 or len(shape_of(y)) != 1:
        raise ValueError(f"polynomials are arrays with one axis, got shapes {shape_of(x)} and {shape_of(y)}")
    return x, y


def _zero(x: Any) -> Any:
    return typed_scalar(0, aval_of(x).dtype)


def _trim_leading_zeros(p: Any, tolerance: float, name: str) -> Any:
    """Return the coefficients without leading ones of absolute value up to ``tolerance``.

    Raises TypeError for a traced polynomial, ValueError for an array of another rank; ``name`` is the calling
    function.
    """
    if shape_of(p) == (1,) and not tolerance:  # an empty polynomial equals a single zero
        return p
    fix = "With trim_leading_zeros=False zeros stay."
    concrete = require_known(p, name, "the number of coefficients without leading zeros", fix)
    aval = aval_of(p)
    if len(aval.shape) != 1:
        raise ValueError(f"polynomials are arrays with one axis, got shape {aval.shape}")
    significant = np.flatnonzero(~(np.abs(np.asarray(concrete)) <= tolerance))  # NaN is significant
    return p[significant[0] if significant.size else aval.size :]
