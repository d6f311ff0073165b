"""Least-squares fits of polynomials, and roots of polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import dtype_kind
from ..trace.concrete_values import require_known
from ..trace.source import here
from ..trace.values import aval_of
from . import index_construction, logic, reductions, repeating, ufuncs
from .axes import whole_number
from .creation import asarray
from .jit_wrapped import jit_wrapped
from .joining import concatenate
from .linalg.decompositions import eigvals
from .linalg.least_squares import lstsq
from .linalg.solving import inv
from .linear import matmul
from .matrices import eye_in_dtype
from .polynomials import vander
from .promotion import as_dtype, promote_dtypes_inexact, promote_inexact
from .shaping import expand_dims, matrix_transpose, shape_of
from .sorting import argsort
from .taking import take
from .transcendental import sqrt
from .types import finfo


def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: bool | str = False
) -> Any:
    """Return the coefficients, highest power first, of the least-squares polynomial of degree ``deg``.

    ``x`` has shape ``(m,)``, ``y`` ``(m,)`` or ``(m, k)``; ``w``, ``(m,)``, weights the residuals. Singular
    values below ``rcond`` times the largest are treated as zero. ``full`` also returns the sums of squared
    residuals, the rank, the singular values and rcond; ``cov`` the covariance of the coefficients, "unscaled"
    without the factor of the residual variance. Raises TypeError or ValueError for other shapes, and if there are
    too few points for a covariance.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.polyfit(jnp.array([0.0, 1.0, 2.0]), jnp.array([1.0, 3.0, 5.0]), 1).round(3))
    [2. 1.]
    """
    order = whole_number(deg, "deg")
    if order < 0:
        raise ValueError(f"deg of polyfit is at least 0, got {order}{here()}")
    _check_points(x, y, w)
    digits = None if rcond is None else float(rcond)
    how = "full" if full else "" if cov is False or cov is None else "unscaled" if cov == "unscaled" else "cov"
    count = shape_of(x)[0]
    if how == "cov" and count <= order + 1:
        raise ValueError(f"a covariance takes more points than {order + 1}, got {count}{here()}")
    fit = _polyfit(x, y, w, order=order, rcond=digits, how=how)
    return fit if how else fit[0]


def _check_points(x: Any, y: Any, w: Any) -> None:
    of_x, of_y = shape_of(x), shape_of(y)
    if len(of_x) != 1 or not of_x[0]:
        raise TypeError(f"polyfit takes x as a vector with elements, got shape {of_x}{here()}")
    if len(of_y) not in (1, 2) or of_y[0] != of_x[0]:
        raise TypeError(f"polyfit takes y of shape (m,) or (m, k) for m points, got shapes {of_x} and {of_y}{here()}")
    if w is not None and shape_of(w) != of_x:
        raise TypeError(f"polyfit takes a weight for each point, got shapes {of_x} and {shape_of(w)}{here()}")


@jit_wrapped("order", "rcond", "how")
def _polyfit(x: Any, y: Any, w: Any, order: int, rcond: float | None, how: str) -> tuple[Any, ...]:
    """Return the coefficients of the fit, and the further results that ``how`` asks for.

    ``how`` is "" for none, "full" for those of ``full=True``, "cov" or "unscaled" for a covariance; ``order`` is
    the degree.
    """
    x, y, *weights = promote_dtypes_inexact([x, y] if w is None else [x, y, w])
    x, y = (as_dtype(v, aval_of(v).dtype) for v in (x, y))
    dtype = aval_of(x).dtype
    count, is_matrix = shape_of(x)[0], len(shape_of(y)) == 2
    if rcond is None:
        rcond = count * float(finfo(dtype).eps)  # type: ignore[no-untyped-call]
    vandermonde, targets = vander(x, order + 1), y
    if weights:
        vandermonde = ufuncs.multiply(vandermonde, expand_dims(weights[0], 1))
        targets = ufuncs.multiply(targets, expand_dims(weights[0], 1) if is_matrix else weights[0])
    scale = sqrt(reductions.sum(ufuncs.multiply(vandermonde, vandermonde), axis=0))
    scaled = ufuncs.true_divide(vandermonde, scale)
    c, residuals, rank, s = lstsq(scaled, targets, rcond)
    c = ufuncs.true_divide(c, expand_dims(scale, 1) if is_matrix else scale)
    if how == "full":
        return c, residuals, rank, s, asarray(rcond)
    if not how:
        return (c,)
    unscaled = ufuncs.true_divide(
        inv(matmul(matrix_transpose(scaled), scaled)), ufuncs.multiply(expand_dims(scale, 1), scale)
    )
    if how == "unscaled":
        factor: Any = 1.0
    else:
        factor = ufuncs.true_divide(residuals, count - order - 1)
    return c, ufuncs.multiply(expand_dims(unscaled, 2), factor) if is_matrix else ufuncs.multiply(unscaled, factor)


def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """Return the roots of the polynomial with coefficients ``p``, highest power first, as complex numbers.

    ``p`` is a vector. ``strip_zeros`` removes leading zeros, which needs their values (TypeError while tracing);
    otherwise each gives a NaN at the end of the result, which has one element fewer than ``p``. The roots are
    eigenvalues of the companion matrix.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.roots(jnp.array([1.0, -3.0, 2.0])).real.round(3))
    [2. 1.]
    """
    if len(shape_of(p)) > 1:
        raise ValueError(f"roots takes a vector of coefficients, got shape {shape_of(p)}{here()}")
    p = promote_inexact(asarray(p).reshape(-1))
    if shape_of(p)[0] < 2:
        return asarray(np.zeros(0, "complex64" if aval_of(p).dtype.itemsize < 8 else "complex128"))
    if not strip_zeros:
        leading = reductions.sum(reductions.cumprod(as_dtype(logic.equal(p, 0), np.dtype("int32"))))
        return _roots(repeating.roll(p, ufuncs.negative(leading)), leading)
    values = np.asarray(
        require_known(p, "roots", "the number of roots", "With strip_zeros=False missing roots are NaN.")
    )
    nonzero = np.flatnonzero(values)
    if not nonzero.size:
        return _no_roots(p)
    first, last = int(nonzero[0]), int(nonzero[-1])
    nonzero_roots = _companion_eigenvalues(p[first : last + 1]) if last > first else _no_roots(p)
    zeros = asarray(np.zeros(len(values) - 1 - last, aval_of(nonzero_roots).dtype))
    return concatenate([nonzero_roots, zeros])


def _no_roots(p: Any) -> Any:
    dtype = aval_of(p).dtype
    return asarray(
        np.zeros(0, dtype if dtype_kind(dtype) == "c" else "complex128" if dtype.itemsize == 8 else "complex64")
    )


def _companion_eigenvalues(p: Any) -> Any:
    size = shape_of(p)[0] - 1
    below = eye_in_dtype(size, aval_of(p).dtype, -1)
    first = ufuncs.negative(ufuncs.true_divide(p[1:], p[0]))
    return eigvals(below.at[0, :].set(first))


@jit_wrapped()
def _roots(p: Any, leading: Any) -> Any:
    """Return the roots of a polynomial whose ``leading`` zero coefficients have been moved to the end of ``p``.

    ``leading`` may be traced. The result has one element fewer than ``p``; NaN stands for missing roots.
    """
    size = shape_of(p)[0] - 1
    p = index_construction.where(logic.equal(leading, size + 1), 1, p)
    eigenvalues = _companion_eigenvalues(p)
    root_count = ufuncs.subtract(size, leading)
    numbers = asarray(np.arange(size))
    eigenvalues = take(eigenvalues, argsort(logic.equal(ufuncs.abs(eigenvalues), 0), stable=True))  # zeros last
    return index_construction.where(numbers < root_count, eigenvalues, complex(np.nan, np.nan))
