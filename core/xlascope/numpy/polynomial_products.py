"""Products and quotients of polynomials, and polynomials from their roots; the highest power comes first."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..operations.shapes import expand_dims, full, reduce_sum, reshape
from ..operations.slicing import pad, slice_in_dim
from ..trace.tracer import Tracer
from ..trace.values import aval_of
from . import ufuncs
from .creation import ones
from .joining import concatenate
from .promotion import as_dtype, inexact, to_common_inexact
from .shaping import index_row, shape_of
from .sliding_products import convolve
from .together import together

#: Up to so many products are computed at once, more of them as a convolution, which has no room for them.
_FEW_PRODUCTS = 1 << 12


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """The product of two polynomials.

    ``a1`` and ``a2`` hold coefficients along one axis; the result has one less than both together, as floats or
    complex numbers. ``trim_leading_zeros`` leaves zeros at the front of the operands away, as NumPy does; it has to
    know them. Raises ValueError for other shapes, TypeError for leading zeros that are not known while tracing.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.polymul(jnp.array([1.0, 2.0]), jnp.array([1.0, -2.0])))
    [ 1.  0. -4.]
    """
    operands = [a1, a2]
    if trim_leading_zeros:
        operands = [_trimmed(p, 0.0, "polymul") for p in operands]
    return _polymul(*operands)


@together()
def _polymul(a1: Any, a2: Any) -> Any:
    x, y = _operands(a1, a2)
    zero = _zero(x)
    x, y = (v if shape_of(v)[0] else full((1,), zero) for v in (x, y))  # no coefficients are those of 0
    size, other = shape_of(x)[0], shape_of(y)[0]
    if size * other > _FEW_PRODUCTS:
        return convolve(x, y)
    width = size + other - 1
    products = ufuncs.multiply(expand_dims(x, (1,)), expand_dims(y, (0,)))
    # each row one place further to the right than the one above: rows of one more, cut again one shorter
    flat = reshape(pad(products, zero, [(0, 0, 0), (0, size, 0)]), (size * (size + other),))
    return reduce_sum(reshape(slice_in_dim(flat, 0, size * width, 0), (size, width)), (0,))


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """The quotient of two polynomials, and what is left: ``u == q * v + r``.

    ``u`` and ``v`` hold coefficients along one axis. The quotient has ``len(u) - len(v) + 1`` coefficients, or one; the
    rest as many as ``u``, the first of them zeros but for rounding. ``trim_leading_zeros`` leaves these away, as NumPy
    does; it has to know them. Raises ValueError for other shapes.

    >>> import xlascope.numpy as jnp
    >>> q, r = jnp.polydiv(jnp.array([1.0, 0.0, -3.0]), jnp.array([1.0, 2.0]))
    >>> print(q, r)
    [ 1. -2.] [0. 0. 1.]
    """
    quotient, left = _polydiv(u, v)
    return quotient, _trimmed(left, 1e-8, "polydiv") if trim_leading_zeros else left


@together()
def _polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    left, v = _operands(u, v)
    if not shape_of(v)[0]:
        raise ValueError("polydiv takes a polynomial to divide by, got one without coefficients")
    size, other = shape_of(left)[0], shape_of(v)[0]
    scale = ufuncs.true_divide(1.0, index_row(v, 0))
    found = []
    for k in range(size - other + 1):
        factor = ufuncs.multiply(scale, index_row(left, k))
        found.append(expand_dims(factor, (0,)))
        taken = pad(ufuncs.multiply(factor, v), _zero(v), [(k, size - other - k, 0)])
        left = ufuncs.subtract(left, taken)
    return concatenate(found) if found else full((1,), _zero(v)), left


@together()
def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial that has those zeros, and 1 as its first coefficient.

    ``seq_of_zeros`` holds n zeros along one axis; the result has n + 1 coefficients, floats or complex numbers; of no
    zeros it is the number 1. Complex zeros give complex coefficients, also where NumPy sees that their imaginary parts
    cancel. Raises ValueError for other shapes, NotImplementedError for a matrix, of which NumPy takes the eigenvalues.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.poly(jnp.array([1.0, -1.0])))
    [ 1.  0. -1.]
    """
    shape = shape_of(seq_of_zeros)
    if len(shape) == 2 and shape[0] == shape[1]:
        raise NotImplementedError("poly of a matrix needs its eigenvalues; give the eigenvalues themselves")
    if shape == (0,):
        return ones((), aval_of(inexact(seq_of_zeros)).dtype)
    if len(shape) > 1:
        raise ValueError(f"poly takes zeros along one axis, got shape {shape}")
    zeros = reshape(inexact(seq_of_zeros), (aval_of(seq_of_zeros).size,))
    zeros = as_dtype(zeros, aval_of(zeros).dtype)
    found: Any = full((1,), np.ones((), aval_of(zeros).dtype)[()])
    for i in range(shape_of(zeros)[0]):
        moved = ufuncs.multiply(found, ufuncs.negative(index_row(zeros, i)))
        within = ufuncs.add(slice_in_dim(found, 1, i + 1, 0), slice_in_dim(moved, 0, i, 0))
        found = concatenate([slice_in_dim(found, 0, 1, 0), within, slice_in_dim(moved, i, i + 1, 0)])
    return found


def _operands(first: Any, second: Any) -> tuple[Any, Any]:
    x, y = to_common_inexact([first, second])
    if len(shape_of(x)) != 1 or len(shape_of(y)) != 1:
        raise ValueError(f"polynomials are arrays with one axis, got shapes {shape_of(x)} and {shape_of(y)}")
    return x, y


def _zero(x: Any) -> Any:
    return np.zeros((), aval_of(x).dtype)[()]


def _trimmed(p: Any, tolerance: float, name: str) -> Any:
    """Coefficients without those at the front that are as good as zero."""
    if shape_of(p) == (1,) and not tolerance:  # none are the same as one
        return p
    known = p.concrete() if isinstance(p, Tracer) else p
    if known is None:
        raise TypeError(f"{name} of {p!r} with trim_leading_zeros: which are zeros is not known while tracing")
    aval = aval_of(p)
    if len(aval.shape) != 1:
        raise ValueError(f"polynomials are arrays with one axis, got shape {aval.shape}")
    kept = np.flatnonzero(~(np.abs(np.asarray(known)) <= tolerance))  # NaN is none
    return p[kept[0] if kept.size else aval.size :]
