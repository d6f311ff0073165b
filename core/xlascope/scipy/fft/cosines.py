"""Discrete cosine transforms of types 2 and 3, by Fourier transforms of the same length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...dtypes import kind_of
from ...numpy.axes import as_tuple, axes_of, axis_of, sizes_of, whole_number
from ...numpy.together import together
from ...trace.gate import array_of
from ...trace.source import here
from ..arguments import floats_of_any_shape


def _check(name: str, type: int, norm: str | None) -> None:
    if type != 2:
        raise NotImplementedError(f"{name} is there of type 2, got type={type}{here()}")
    if norm not in (None, "ortho"):
        raise ValueError(f"norm of {name} is None or 'ortho', got {norm!r}{here()}")


def dct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The discrete cosine transform of type 2 along an axis: 2 Σ x[j] cos(π k (2j + 1) / (2n)).

    ``n`` cuts the axis or fills it up with zeros. ``norm`` "ortho" makes it orthonormal. Raises NotImplementedError for
    another type, ValueError for another ``norm``. (J. Makhoul, IEEE Trans. ASSP 28, 1980.)

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import fft
    >>> print(fft.dct(jnp.array([1.0, 1.0])).round(3))
    [4. 0.]
    """
    _check("dct", type, norm)
    size = None if n is None else whole_number(n, "n of dct")
    return _dct(x, size=size, axis=axis, ortho=norm == "ortho", inverse=False)


def idct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of :func:`dct`, with its arguments.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import fft
    >>> print(fft.idct(jnp.array([4.0, 0.0])).round(3))
    [1. 1.]
    """
    _check("idct", type, norm)
    size = None if n is None else whole_number(n, "n of idct")
    return _dct(x, size=size, axis=axis, ortho=norm == "ortho", inverse=True)


def dctn(
    x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Any:
    """The discrete cosine transform along several axes (None: all), of the sizes ``s``; see :func:`dct`.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import fft
    >>> print(fft.dctn(jnp.ones((1, 2))).round(3))
    [[8. 0.]]
    """
    _check("dctn", type, norm)
    return _along_axes(x, s, axes, norm, False)


def idctn(
    x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Any:
    """The inverse of :func:`dctn`, with its arguments.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import fft
    >>> print(fft.idctn(jnp.array([[8.0, 0.0]])).round(3))
    [[1. 1.]]
    """
    _check("idctn", type, norm)
    return _along_axes(x, s, axes, norm, True)


def _along_axes(x: Any, s: Any, axes: Any, norm: str | None, inverse: bool) -> Any:
    rank = jnp.ndim(x)
    sizes = None if s is None else sizes_of(s)
    if axes is None:
        chosen = tuple(range(rank)) if sizes is None else tuple(range(rank - len(sizes), rank))
    else:
        chosen = axes_of(as_tuple(axes), rank, "axes")
    if sizes is not None and len(sizes) != len(chosen):
        raise ValueError(f"s and axes have to be as many, got {len(sizes)} and {len(chosen)}{here()}")
    for i, axis in enumerate(chosen):
        size = None if sizes is None else sizes[i]
        x = _dct(x, size=size, axis=axis, ortho=norm == "ortho", inverse=inverse)
    return array_of(x)


@together("size", "axis", "ortho", "inverse")
def _dct(x: Any, size: int | None, axis: int, ortho: bool, inverse: bool) -> Any:
    (x,) = floats_of_any_shape(x)
    if kind_of(x.dtype) == "c":
        parts = [_dct(v, size=size, axis=axis, ortho=ortho, inverse=inverse) for v in (jnp.real(x), jnp.imag(x))]
        return lax.complex(*parts)
    place = axis_of(axis, x.ndim)
    along = jnp.moveaxis(x, place, -1)
    n = along.shape[-1]
    if size is not None and size != n:
        along = along[..., :size] if size < n else jnp.pad(along, [*[(0, 0)] * (x.ndim - 1), (0, size - n)])
        n = size
    if n < 1:
        raise ValueError(f"a cosine transform takes elements, got an axis of size {n}{here()}")
    found = _backward(along, n, ortho) if inverse else _forward(along, n, ortho)
    return jnp.moveaxis(found, -1, place)


def _turns(n: int, dtype: Any) -> Any:
    return jnp.asarray(np.exp(-0.5j * np.pi / n * np.arange(n)), dtype)


def _order(n: int) -> Any:
    """The even places, then the odd ones from behind."""
    return np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)[::-1]])


def _forward(x: Any, n: int, ortho: bool) -> Any:
    spectrum = jnp.fft.fft(jnp.take(x, _order(n), -1))
    found = 2 * jnp.real(spectrum * _turns(n, spectrum.dtype))
    if not ortho:
        return found
    weights = np.full(n, math.sqrt(1 / (2 * n)))
    weights[0] = math.sqrt(1 / (4 * n))
    return found * jnp.asarray(weights, found.dtype)


def _backward(x: Any, n: int, ortho: bool) -> Any:
    if ortho:
        weights = np.full(n, math.sqrt(2 * n))
        weights[0] = math.sqrt(4 * n)
        x = x * jnp.asarray(weights, x.dtype)
    # the real part of V[k] exp(-iπk/2n) is x[k]/2, its imaginary part -x[n-k]/2
    behind = jnp.concatenate([jnp.zeros_like(x[..., :1]), jnp.flip(x[..., 1:], -1)], -1)
    turned = (x - 1j * behind) / 2
    found = jnp.real(jnp.fft.ifft(turned * jnp.conj(_turns(n, turned.dtype))))
    return jnp.take(found, np.argsort(_order(n)), -1).astype(x.dtype)
