"""Convolution and correlation of arrays of any number of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import numpy as jnp
from ...dtypes import dtype_kind
from ...numpy.axes import axes_of, to_static_axis
from ...numpy.jit_wrapped import jit_wrapped
from ...numpy.promotion import promote_dtypes
from ...operations.convolution import conv_general_dilated
from ...trace.operand_coercion import to_array
from ...trace.source import here
from ..arguments import promote_dtypes_inexact, require_one_of

_MODES = ("full", "same", "valid")


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Any:
    """Return the convolution of two arrays of the same rank.

    ``mode`` "full" gives all positions with any overlap, "same" the central ones, in the shape of ``in1``,
    "valid" those of full overlap. ``method`` is "direct" ("auto"), or "fft", by Fourier transforms. Raises
    ValueError for another mode or method and for incompatible arrays.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import signal
    >>> print(signal.convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0])))
    [1. 3. 5. 3.]
    """
    return _convolve_by_method("convolve", in1, in2, mode, method, precision)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Any:
    """Return the correlation of two arrays of the same rank: the convolution with ``in2`` reversed and conjugated.

    The arguments are those of :func:`convolve`.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import signal
    >>> print(signal.correlate(jnp.array([1.0, 2.0, 3.0]), jnp.array([0.0, 1.0])))
    [1. 2. 3. 0.]
    """
    return _convolve_by_method("correlate", in1, in2, mode, method, precision)


def _convolve_by_method(name: str, in1: Any, in2: Any, mode: str, method: str, precision: Any) -> Any:
    require_one_of(f"mode of {name}", mode, *_MODES)
    if method == "fft":
        return _convolve_by_fft(in1, in2, mode=mode, axes=None, turned=name == "correlate")
    if method not in ("auto", "direct"):
        raise ValueError(f"method of {name} is one of 'auto', 'direct' and 'fft', got {method!r}{here()}")
    return _convolve_directly(in1, in2, mode=mode, name=name, precision=precision)


def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0, precision: Any = None
) -> Any:
    """Return the convolution of two matrices; see :func:`convolve`.

    Only zero padding is supported: ``boundary`` and ``fillvalue`` have to be their defaults
    (NotImplementedError).

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import signal
    >>> print(signal.convolve2d(jnp.ones((2, 2)), jnp.ones((1, 2)), mode="valid"))
    [[2.]
     [2.]]
    """
    _require_zero_boundary("convolve2d", in1, in2, boundary, fillvalue)
    return _convolve_by_method("convolve", in1, in2, mode, "direct", precision)


def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0, precision: Any = None
) -> Any:
    """Return the correlation of two matrices; see :func:`correlate`, and :func:`convolve2d` for the boundary.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import signal
    >>> print(signal.correlate2d(jnp.ones((2, 2)), jnp.ones((2, 1)), mode="valid"))
    [[2. 2.]]
    """
    _require_zero_boundary("correlate2d", in1, in2, boundary, fillvalue)
    return _convolve_by_method("correlate2d", in1, in2, mode, "direct", precision)


def _require_zero_boundary(name: str, in1: Any, in2: Any, boundary: str, fillvalue: float) -> None:
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(f"{name} has zeros outside: boundary='fill', fillvalue=0{here()}")
    if jnp.ndim(in1) != 2 or jnp.ndim(in2) != 2:
        raise ValueError(f"{name} takes matrices, got shapes {jnp.shape(in1)} and {jnp.shape(in2)}{here()}")


@jit_wrapped("mode", "name", "precision")
def _convolve_directly(in1: Any, in2: Any, mode: str, name: str, precision: Any) -> Any:
    is_correlation = name != "convolve"
    x, y = (to_array(v) for v in promote_dtypes((in1, in2)))
    if dtype_kind(x.dtype) not in "fc":
        x, y = promote_dtypes_inexact(x, y)
    _check_operands(name, x, y)
    if not x.ndim:
        return x * (jnp.conj(y) if is_correlation else y)
    axes = tuple(range(x.ndim))
    flip_result = False
    if mode == "valid" and any(a < b for a, b in zip(x.shape, y.shape, strict=True)):
        if any(a > b for a, b in zip(x.shape, y.shape, strict=True)):
            raise ValueError(
                f"For 'valid' mode, one input must be at least as large as the other in every axis{here()}"
            )
        x, y = y, x
        flip_result = is_correlation
    if is_correlation:
        x, y = (jnp.conj(x), y) if flip_result else (x, jnp.conj(y))
    kernel = y if is_correlation else jnp.flip(y, axes)
    padding = []
    for size in y.shape:
        pad_before = size // 2 if name == "convolve" else size - 1 - (size - 1) // 2
        if name == "correlate2d":  # SciPy rounds the center the other way here
            pad_before = (size - 1) // 2
        same_padding = (pad_before, size - 1 - pad_before)
        padding.append({"full": (size - 1, size - 1), "same": same_padding, "valid": (0, 0)}[mode])
    result = conv_general_dilated(x[None, None], kernel[None, None], (1,) * x.ndim, padding, precision=precision)[0, 0]
    return jnp.flip(result, axes) if flip_result else result


def _check_operands(name: str, x: Any, y: Any) -> None:
    if x.ndim != y.ndim:
        raise ValueError(f"{name} takes arrays with as many axes, got shapes {x.shape} and {y.shape}{here()}")
    if not x.size or not y.size:
        raise ValueError(f"{name} takes arrays with elements, got shapes {x.shape} and {y.shape}{here()}")


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Sequence[int] | None = None) -> Any:
    """Return the convolution of two arrays by Fourier transforms, along ``axes`` (None: all).

    ``mode`` is that of :func:`convolve`. Raises ValueError for another mode and for incompatible arrays.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import signal
    >>> print(signal.fftconvolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0])).round().astype(int))
    [1 3 5 3]
    """
    require_one_of("mode of fftconvolve", mode, *_MODES)
    return _convolve_by_fft(in1, in2, mode=mode, axes=to_static_axis(axes), turned=False)


@jit_wrapped("mode", "axes", "turned")
def _convolve_by_fft(in1: Any, in2: Any, mode: str, axes: Any, turned: bool) -> Any:
    x, y = promote_dtypes_inexact(in1, in2)
    _check_operands("fftconvolve", x, y)
    if not x.ndim:
        return x * y
    dims = tuple(range(x.ndim)) if axes is None else axes_of(axes, x.ndim, "axes")
    for i, (a, b) in enumerate(zip(x.shape, y.shape, strict=True)):
        if i not in dims and a != b and 1 not in (a, b):
            raise ValueError(f"incompatible shapes for in1 and in2: {x.shape} and {y.shape}{here()}")
    if turned:
        y = jnp.conj(jnp.flip(y, dims))
    pairs = [(x.shape[i], y.shape[i]) for i in dims]
    if mode == "valid" and any(a < b for a, b in pairs):
        if any(a > b for a, b in pairs):
            raise ValueError(
                f"For 'valid' mode, one input must be at least as large as the other in every axis{here()}"
            )
        x, y, pairs = y, x, [(b, a) for a, b in pairs]
    sizes = [a + b - 1 for a, b in pairs]
    if dtype_kind(x.dtype) == "c":
        result = jnp.fft.ifftn(jnp.fft.fftn(x, sizes, dims) * jnp.fft.fftn(y, sizes, dims), sizes, dims)
    else:
        result = jnp.fft.irfftn(jnp.fft.rfftn(x, sizes, dims) * jnp.fft.rfftn(y, sizes, dims), sizes, dims)
    for axis, (a, b) in zip(dims, pairs, strict=True):
        first, count = {"full": (0, a + b - 1), "same": ((b - 1) // 2, a), "valid": (b - 1, a - b + 1)}[mode]
        result = jnp.take(result, jnp.arange(first, first + count), axis)
    return result
