"""Discrete cosine transforms of types 2 and 3, computed by FFTs of the same length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...dtypes import dtype_kind
from ...numpy.axes import axes_of, axis_of, sizes_of, to_static_axis, whole_number
from ...numpy.jit_wrapped import jit_wrapped
from ...operations.complex_numbers import complex_dtype
from ...operations.conversion import to_dtype
from ...trace.operand_coercion import to_array
from ...trace.source import here
from ...trace.values import exact_array
from ..arguments import promote_dtypes_inexact


def _check_arguments(name: str, type: int, norm: str | None) -> None:
    if type != 2:
        raise NotImplementedError(f"{name} is there of type 2, got type={type}{here()}")
    if norm not in (None, "ortho"):
        raise ValueError(f"norm of {name} is None or 'ortho', got {norm!r}{here()}")


def dct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the discrete cosine transform of type 2 along an axis: 2 Σ x[j] cos(π k (2j + 1) / (2n)).

    ``n`` truncates or zero-pads the axis. ``norm="ortho"`` makes the transform orthonormal. Raises
    NotImplementedError for another type, ValueError for another ``norm``. (J. Makhoul, IEEE Trans. ASSP 28,
    1980.)

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import fft
    >>> print(fft.dct(jnp.array([1.0, 1.0])).round(3))
    [4. 0.]
    """
    _check_arguments("dct", type, norm)
    size = None if n is None else whole_number(n, "n of dct")
    return _dct(x, size=size, axis=axis, ortho=norm == "ortho", inverse=False)


def idct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the inverse of :func:`dct`, with the same arguments.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import fft
    >>> print(fft.idct(jnp.array([4.0, 0.0])).round(3))
    [1. 1.]
    """
    _check_arguments("idct", type, norm)
    size = None if n is None else whole_number(n, "n of idct")
    return _dct(x, size=size, axis=axis, ortho=norm == "ortho", inverse=True)


def dctn(
    x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Any:
    """Return the discrete cosine transform along several axes (None: all), of sizes ``s``; see :func:`dct`.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import fft
    >>> print(fft.dctn(jnp.ones((1, 2))).round(3))
    [[8. 0.]]
    """
    _check_arguments("dctn", type, norm)
    return _transform_axes(x, s, axes, norm, False)


def idctn(
    x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Any:
    """Return the inverse of :func:`dctn`, with the same arguments.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import fft
    >>> print(fft.idctn(jnp.array([[8.0, 0.0]])).round(3))
    [[1. 1.]]
    """
    _check_arguments("idctn", type, norm)
    return _transform_axes(x, s, axes, norm, True)


def _transform_axes(x: Any, s: Any, axes: Any, norm: str | None, inverse: bool) -> Any:
    """Return the transform along several axes, or its inverse; other arguments are those of :func:`dctn`."""
    rank = jnp.ndim(x)
    sizes = None if s is None else sizes_of(s)
    if axes is None:
        resolved_axes = tuple(range(rank)) if sizes is None else tuple(range(rank - len(sizes), rank))
    else:
        resolved_axes = axes_of(to_static_axis(axes), rank, "axes")
    if sizes is not None and len(sizes) != len(resolved_axes):
        raise ValueError(f"s and axes have to be as many, got {len(sizes)} and {len(resolved_axes)}{here()}")
    for i, axis in enumerate(resolved_axes):
        size = None if sizes is None else sizes[i]
        x = _dct(x, size=size, axis=axis, ortho=norm == "ortho", inverse=inverse)
    return to_array(x)


@jit_wrapped("size", "axis", "ortho", "inverse")
def _dct(x: Any, size: int | None, axis: int, ortho: bool, inverse: bool) -> Any:
    """Return the transform along one axis, or its inverse.

    ``size`` truncates or zero-pads the axis, None keeps it; ``ortho`` makes the transform orthonormal.
    """
    (x,) = promote_dtypes_inexact(x)
    if dtype_kind(x.dtype) == "c":
        parts = [_dct(v, size=size, axis=axis, ortho=ortho, inverse=inverse) for v in (jnp.real(x), jnp.imag(x))]
        return lax.complex(*parts)
    axis_index = axis_of(axis, x.ndim)
    x_last = jnp.moveaxis(x, axis_index, -1)
    n = x_last.shape[-1]
    if size is not None and size != n:
        x_last = x_last[..., :size] if size < n else jnp.pad(x_last, [*[(0, 0)] * (x.ndim - 1), (0, size - n)])
        n = size
    if n < 1:
        raise ValueError(f"a cosine transform takes elements, got an axis of size {n}{here()}")
    result = _inverse_transform(x_last, n, ortho) if inverse else _forward_transform(x_last, n, ortho)
    return jnp.moveaxis(result, -1, axis_index)


def _half_sample_phases(n: int, dtype: Any) -> Any:
    return exact_array(np.exp(-0.5j * np.pi / n * np.arange(n)), dtype)


def _even_odd_order(n: int) -> Any:
    """Return the permutation of Makhoul's algorithm: even indices ascending, then odd ones descending."""
    return np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)[::-1]])


def _forward_transform(x: Any, n: int, ortho: bool) -> Any:
    spectrum = jnp.fft.fft(jnp.take(x, _even_odd_order(n), -1))
    coefficients = 2 * jnp.real(spectrum * _half_sample_phases(n, spectrum.dtype))
    if not ortho:
        return coefficients
    weights = np.full(n, math.sqrt(1 / (2 * n)))
    weights[0] = math.sqrt(1 / (4 * n))
    return coefficients * exact_array(weights, coefficients.dtype)


def _inverse_transform(x: Any, n: int, ortho: bool) -> Any:
    if ortho:
        weights = np.full(n, math.sqrt(2 * n))
        weights[0] = math.sqrt(4 * n)
        x = x * exact_array(weights, x.dtype)
    # the real part of V[k] exp(-iπk/2n) is x[k]/2, its imaginary part -x[n-k]/2
    reversed_x = jnp.concatenate([jnp.zeros_like(x[..., :1]), jnp.flip(x[..., 1:], -1)], -1)
    real_part, imaginary_part = (to_dtype(part, complex_dtype(x.dtype)) for part in (x, reversed_x))
    half_spectrum = (real_part - 1j * imaginary_part) / 2
    reordered = jnp.real(jnp.fft.ifft(half_spectrum * jnp.conj(_half_sample_phases(n, half_spectrum.dtype))))
    return to_dtype(jnp.take(reordered, np.argsort(_even_odd_order(n)), -1), x.dtype)
