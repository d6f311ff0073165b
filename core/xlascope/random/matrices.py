"""Vectors of correlated numbers, and orthogonal matrices; each sampler is one compiled call."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..control.jit.jit_function import jit_normalized
from ..dtypes import dtype_kind
from ..ir.requested_dtypes import resolve_requested_dtype
from ..numpy.axes import whole_number
from ..numpy.contractions import einsum
from ..numpy.linalg.decompositions import cholesky, eigh, qr, svd
from ..numpy.promotion import common_dtype, to_inexact
from ..numpy.repeating import diagonal
from ..operations.arithmetic import sign
from ..operations.exponentials import sqrt
from ..operations.out_shardings import with_out_sharding
from ..operations.shapes import expand_dims, moveaxis
from ..trace.values import aval_of
from .continuous import Shape, require_float_dtype
from .continuous import normal as _normal
from .keys import check_key, shape_of

_METHODS = ("cholesky", "eigh", "svd")


@with_out_sharding
def multivariate_normal(
    key: Any, mean: Any, cov: Any, shape: Shape | None = None, dtype: Any = None, method: str = "cholesky"
) -> Any:
    """Draw vectors of normal numbers with the means ``mean`` (…, n) and the covariances ``cov`` (…, n, n).

    The result has the shape ``(*shape, n)``; the leading axes of mean and covariances broadcast to ``shape``. Its
    dtype is ``dtype`` (None: the common floating-point dtype of both). ``method`` is the factorization of the
    covariances: "cholesky" (the fastest; they have to be positive definite), "eigh" or "svd" (they may be
    singular). Raises ValueError for another one, and for shapes that do not fit.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> xs.random.multivariate_normal(xs.random.PRNGKey(0), jnp.zeros(2), jnp.eye(2), (5,)).shape
    (5, 2)
    """
    name = "random.multivariate_normal"
    if method not in _METHODS:
        raise ValueError(f"{name} takes method as one of {', '.join(_METHODS)}, got {method!r}")
    means, covariances = aval_of(mean), aval_of(cov)
    if not means.shape:
        raise ValueError(f"{name} takes mean as a vector, or a stack of them, got a scalar")
    count = means.shape[-1]
    if covariances.shape[-2:] != (count, count):
        raise ValueError(f"{name}: cov has shape {covariances.shape}, expected (…, {count}, {count}) for that mean")
    result_dtype = (
        to_inexact(common_dtype([means, covariances])[0]) if dtype is None else resolve_requested_dtype(dtype)
    )
    batch_shape = np.broadcast_shapes(means.shape[:-1], covariances.shape[:-2])
    sizes = batch_shape if shape is None else shape_of(shape, "multivariate_normal")
    if np.broadcast_shapes(batch_shape, sizes) != sizes:
        raise ValueError(f"{name}: mean and cov are stacks of shape {batch_shape}, which does not broadcast to {sizes}")
    real = require_float_dtype(result_dtype, "multivariate_normal")
    return _multivariate_normal(check_key(key, "multivariate_normal"), mean, cov, (*sizes, count), real, method)


@with_out_sharding
def orthogonal(key: Any, n: int, shape: Shape = (), dtype: Any = float, m: int | None = None) -> Any:
    """Draw uniformly distributed orthogonal matrices; for a complex ``dtype`` unitary ones.

    They have the shape (n, m), or (n, n) without ``m``; where they are not square, their rows or columns, whichever
    are fewer, are orthonormal. The result has the shape ``(*shape, n, m)``. After F. Mezzadri: "How to generate
    random matrices from the classical compact groups", Notices of the AMS 54, 2007.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> q = xs.random.orthogonal(xs.random.PRNGKey(0), 3)
    >>> bool(jnp.allclose(q @ q.T, jnp.eye(3), atol=1e-5))
    True
    """
    rows = whole_number(n, "n")
    columns = rows if m is None else whole_number(m, "m")
    requested = resolve_requested_dtype(dtype)
    if dtype_kind(requested) != "c":
        require_float_dtype(requested, "orthogonal")
    sizes = shape_of((*shape_of(shape, "orthogonal"), rows, columns), "orthogonal")
    return _orthogonal(check_key(key, "orthogonal"), sizes, requested)


@jit_normalized((3, 4, 5))
def _multivariate_normal(
    key: Any, mean: Any, cov: Any, shape: tuple[int, ...], dtype: np.dtype[Any], method: str
) -> Any:
    if method == "cholesky":
        root = cholesky(cov)
    elif method == "eigh":
        values, vectors = eigh(cov)
        root = vectors * sqrt(expand_dims(values, (len(aval_of(values).shape) - 1,)))
    else:
        vectors, values, _ = svd(cov)
        root = vectors * sqrt(expand_dims(values, (len(aval_of(values).shape) - 1,)))
    return mean + einsum("...ij,...j->...i", root, _normal(key, shape, dtype))


@jit_normalized((1, 2))
def _orthogonal(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    # The Q of normal numbers, whose columns get the signs of R's diagonal: LAPACK's choice of signs favours some.
    *before, n, m = shape
    last = len(before) + 1
    q, r = qr(_normal(key, (*before, max(n, m), min(n, m)), dtype))
    signed = q * expand_dims(sign(diagonal(r, 0, last - 1, last)), (last - 1,))
    return moveaxis(signed, last, last - 1) if n < m else signed
