"""Fourier transforms with NumPy's names and arguments.

All functions share their arguments. ``n`` or ``s`` is the length of the transformed axes, to which the
operand is truncated or zero-padded (for the inverse of a real transform, the length of the result). ``axis``
or ``axes`` selects the axes. ``norm`` says which transforms are divided by the number of elements: the
inverse ones for "backward" (None), the forward ones for "forward"; for "ortho" both are divided by its square
root. Integers become floats; float16 and bfloat16 become complex64. The functions are linear, and can be
differentiated, batched and compiled. They raise ValueError for axes that are out of range or occur twice, for
lengths below 1, and for any other norm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_kind, to_canonical_dtype
from ..ir.requested_dtypes import resolve_requested_dtype
from ..lax.device_argument import with_device
from ..names import explain_missing as _explain_missing
from ..operations import fourier
from ..operations.arithmetic import add, mul, rem, sub
from ..operations.complex_numbers import complex_dtype
from ..operations.fourier import FftType
from ..operations.operand_values import typed_scalar
from ..operations.shapes import broadcasted_iota
from ..operations.slicing import pad, slice_in_dim
from ..trace.source import here
from ..trace.tracer import TracerBase
from ..trace.values import aval_of
from . import shaping, ufuncs
from .axes import axes_of, axis_of, is_several, whole_number
from .jit_wrapped import jit_wrapped
from .promotion import as_dtype, promote_inexact
from .repeating import roll
from .shaping import shape_of

_MAX_FFT_AXES = 3
_FLOATS = (np.dtype("float32"), np.dtype("float64"))
_INVERSE_NORM = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the discrete Fourier transform along an axis: complex, with ``n`` elements.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.fft.fft(jnp.array([1.0, 2.0, 3.0, 4.0])))
    [10.+0.j -2.+2.j -2.+0.j -2.-2.j]
    """
    return _transform_axis("fft", FftType.FFT, a, n, axis, norm)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the inverse of :func:`fft` along an axis.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.fft.ifft(jnp.array([4.0, 0.0, 0.0, 0.0])))
    [1.+0.j 1.+0.j 1.+0.j 1.+0.j]
    """
    return _transform_axis("ifft", FftType.IFFT, a, n, axis, norm)


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the first n // 2 + 1 elements of the transform of real values along an axis.

    The other elements are their conjugates. Raises ValueError for complex values.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.fft.rfft(jnp.array([1.0, 2.0, 3.0, 4.0])))
    [10.+0.j -2.+2.j -2.+0.j]
    """
    return _transform_axis("rfft", FftType.RFFT, a, n, axis, norm)


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the inverse of :func:`rfft` along an axis: ``n`` real values, by default 2 (m - 1) for m elements.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.fft.irfft(jnp.array([4.0, 0.0, 0.0])))
    [1. 1. 1. 1.]
    """
    return _transform_axis("irfft", FftType.IRFFT, a, n, axis, norm)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the transform, ``n`` real values, of a Hermitian-symmetric signal given by its first half.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.fft.hfft(jnp.array([1.0, 2.0, 3.0])))
    [ 8. -2.  0. -2.]
    """
    _require_norm(norm)
    return _transform_axis("hfft", FftType.IRFFT, ufuncs.conjugate(a), n, axis, _INVERSE_NORM[norm])


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the inverse of :func:`hfft`, of real values: n // 2 + 1 complex values.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.fft.ihfft(jnp.array([8.0, -2.0, 0.0, -2.0])).real)
    [1. 2. 3.]
    """
    _require_norm(norm)
    return ufuncs.conjugate(_transform_axis("ihfft", FftType.RFFT, a, n, axis, _INVERSE_NORM[norm]))


def fft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """Return the transform along two axes.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.fft.fft2(jnp.ones((2, 2))).real)
    [[4. 0.]
     [0. 0.]]
    """
    return _transform_axes("fft2", FftType.FFT, a, s, _require_two_axes("fft2", axes), norm)


def ifft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """Return the inverse of :func:`fft2`."""
    return _transform_axes("ifft2", FftType.IFFT, a, s, _require_two_axes("ifft2", axes), norm)


def rfft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """Return the transform of real values along two axes, the first half along the last one; see :func:`rfft`.

    >>> import xlascope.numpy as jnp
    >>> jnp.fft.rfft2(jnp.ones((4, 6))).shape
    (4, 4)
    """
    return _transform_axes("rfft2", FftType.RFFT, a, s, _require_two_axes("rfft2", axes), norm)


def irfft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """Return the inverse of :func:`rfft2`: real values."""
    return _transform_axes("irfft2", FftType.IRFFT, a, s, _require_two_axes("irfft2", axes), norm)


def fftn(a: Any, s: Any = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Any:
    """Return the transform along several axes.

    Without ``axes`` these are all axes, or the last ``len(s)`` axes if ``s`` is given.

    >>> import xlascope.numpy as jnp
    >>> jnp.fft.fftn(jnp.ones((2, 3, 4)), s=(5, 6)).shape
    (2, 5, 6)
    """
    return _transform_axes("fftn", FftType.FFT, a, s, axes, norm)


def ifftn(a: Any, s: Any = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Any:
    """Return the inverse of :func:`fftn`."""
    return _transform_axes("ifftn", FftType.IFFT, a, s, axes, norm)


def rfftn(a: Any, s: Any = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Any:
    """Return the transform of real values along several axes, the first half along the last one; see :func:`rfft`."""
    return _transform_axes("rfftn", FftType.RFFT, a, s, axes, norm)


def irfftn(a: Any, s: Any = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Any:
    """Return the inverse of :func:`rfftn`: real values."""
    return _transform_axes("irfftn", FftType.IRFFT, a, s, axes, norm)


# Shared helpers -------------------------------------------------------------------------------------------------------


def _require_norm(norm: Any) -> None:
    if not (norm is None or isinstance(norm, str)) or norm not in _INVERSE_NORM:
        raise ValueError(f'Invalid norm value {norm!r}; it should be "backward", "ortho" or "forward", or None')


def _require_two_axes(name: str, axes: Any) -> tuple[int, ...]:
    axis_tuple = tuple(axes) if is_several(axes) else (axes,)
    if len(axis_tuple) != 2:
        raise (TypeError if axes is None or not is_several(axes) else ValueError)(
            f"numpy.fft.{name} transforms 2 axes, got axes {axes!r}; numpy.fft.{name[:-1]}n takes any number"
        )
    return axis_tuple


def _transform_axis(name: str, kind: FftType, a: Any, n: Any, axis: Any, norm: Any) -> Any:
    """Check the arguments of the function ``name`` of numpy.fft, and transform along one axis.

    ``kind`` is the transform of XLA; ``a``, ``n``, ``axis`` and ``norm`` are the user's arguments. With ``axis`` None
    all axes are transformed, each with length ``n``.
    """
    if is_several(axis):
        raise ValueError(f"numpy.fft.{name} transforms one axis, got axis {axis!r}; numpy.fft.fftn takes several")
    _require_norm(norm)
    shape = shape_of(a)
    if name in ("hfft", "ihfft") and n is None:
        axis = whole_number(axis, "axis")
    axes = tuple(range(len(shape))) if axis is None else (axis_of(axis, len(shape)),)
    if n is not None and not axes:
        raise ValueError(f"numpy.fft.{name} takes an array with axes, got shape {shape}")
    lengths = None if n is None else (whole_number(n, "n"),) * len(axes)
    return _transform(a, kind=kind, lengths=_transform_lengths(kind, shape, lengths, axes), axes=axes, norm=norm)


def _transform_axes(name: str, kind: FftType, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Check the arguments of the function ``name`` of numpy.fft, and transform along several axes.

    ``kind`` is the transform of XLA; the other arguments are those of the user.
    """
    _require_norm(norm)
    shape = shape_of(a)
    if s is not None and not is_several(s):
        raise TypeError(f"s has a length for each axis, got {s!r}")
    sizes = None if s is None else tuple(whole_number(size, "a length in s") for size in s)
    if axes is None:
        axes = range(len(shape)) if sizes is None else range(len(shape) - len(sizes), len(shape))
    elif not is_several(axes):
        raise TypeError(f"axes are a sequence of axes, got {axes!r}; write axes=({axes!r},)")
    numbers = axes_of(axes, len(shape), "axes")
    if sizes is not None and len(sizes) != len(numbers):
        raise ValueError(
            f"Shape and axes have different lengths: s={sizes} has {len(sizes)}, axes={numbers} {len(numbers)}"
        )
    return _transform(a, kind=kind, lengths=_transform_lengths(kind, shape, sizes, numbers), axes=numbers, norm=norm)


def _transform_lengths(kind: FftType, shape: tuple[int, ...], requested: Any, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the lengths of the transformed axes: the requested ones, or for None those of the operand.

    For the inverse of a real transform the last length is that of the result. Raises ValueError for a requested
    length below 1.
    """
    if requested is not None:
        if any(size < 1 for size in requested):
            raise ValueError(f"Shape should be positive: lengths of transforms are at least 1, got {requested}{here()}")
        return tuple(requested)
    sizes = [shape[axis] for axis in axes]
    if kind is FftType.IRFFT and sizes:
        sizes[-1] = max(0, 2 * (sizes[-1] - 1))
    return tuple(sizes)


@jit_wrapped("kind", "lengths", "axes", "norm")
def _transform(a: Any, kind: FftType, lengths: tuple[int, ...], axes: tuple[int, ...], norm: str | None) -> Any:
    """Transform along ``axes``, with checked arguments.

    ``lengths`` has one length for each axis, for the inverse of a real transform those of the result.
    """
    x = promote_inexact(a)
    if kind is FftType.RFFT and dtype_kind(aval_of(x).dtype) == "c":
        raise ValueError(
            f"only real valued inputs supported for rfft, got {aval_of(x).dtype.name}{here()}; take their real part, "
            "or use numpy.fft.fft"
        )
    if not axes:
        dtype = aval_of(x).dtype
        return as_dtype(x, dtype if kind is FftType.RFFT else complex_dtype(dtype))
    rank = len(shape_of(x))
    last = tuple(range(rank - len(axes), rank))
    x = shaping.moveaxis(x, axes, last)
    sizes = (*lengths[:-1], lengths[-1] // 2 + 1) if kind is FftType.IRFFT else lengths
    x = _resize_axes(x, last, sizes)
    y = _normalize(_transform_last_axes(x, kind, lengths), kind, math.prod(lengths), norm)
    return shaping.moveaxis(y, last, axes)


def _resize_axes(x: Any, axes: Sequence[int], sizes: Sequence[int]) -> Any:
    """Return the array with the given sizes along axes: truncated at the end, or zero-padded there."""
    padding = [0] * len(shape_of(x))
    for axis, size in zip(axes, sizes, strict=True):
        current = shape_of(x)[axis]
        padding[axis] = max(size - current, 0)
        if size < current:
            x = slice_in_dim(x, 0, size, axis=axis)
    if not any(padding):
        return x
    return pad(x, typed_scalar(0, aval_of(x).dtype), [(0, more, 0) for more in padding])


def _transform_last_axes(x: Any, kind: FftType, lengths: tuple[int, ...]) -> Any:
    """Transform over the last ``len(lengths)`` axes.

    XLA transforms at most three axes, so the leading ones are transformed separately, by complex transforms:
    after a forward real transform of the others, before an inverse one.
    """
    if len(lengths) <= _MAX_FFT_AXES:
        return fourier.fft(x, kind, lengths)
    leading, trailing = lengths[:-_MAX_FFT_AXES], lengths[-_MAX_FFT_AXES:]
    if kind is FftType.IRFFT:
        return fourier.fft(_transform_leading_axes(x, FftType.IFFT, leading), kind, trailing)
    complete = FftType.IFFT if kind is FftType.IFFT else FftType.FFT
    return _transform_leading_axes(fourier.fft(x, kind, trailing), complete, leading)


def _transform_leading_axes(x: Any, kind: FftType, lengths: tuple[int, ...]) -> Any:
    """Apply a complex transform over the ``len(lengths)`` axes before the last three."""
    rank = len(shape_of(x))
    axes = tuple(range(rank - _MAX_FFT_AXES - len(lengths), rank - _MAX_FFT_AXES))
    last = tuple(range(rank - len(lengths), rank))
    return shaping.moveaxis(_transform_last_axes(shaping.moveaxis(x, axes, last), kind, lengths), last, axes)


def _normalize(y: Any, kind: FftType, size: int, norm: str | None) -> Any:
    """Scale a result of ``size`` elements for ``norm``; XLA's inverse transforms already divide by the size."""
    inverse = kind in (FftType.IFFT, FftType.IRFFT)
    if not size or norm is None or norm == "backward":
        return y
    factor = math.sqrt(size) if norm == "ortho" else float(size)
    return mul(y, typed_scalar(factor if inverse else 1 / factor, aval_of(y).dtype))


# Frequencies and shifts -----------------------------------------------------------------------------------------------


@with_device
def fftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """Return the frequencies of the elements of a transform of ``n`` values with spacing ``d``.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.fft.fftfreq(4, 0.5))
    [ 0.   0.5 -1.  -0.5]
    """
    return _frequencies(_require_real_spacing(d), n=_sample_count(n), half=False, dtype=_frequency_dtype(dtype))


@with_device
def rfftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """Return the frequencies of the elements of a real transform of ``n`` values with spacing ``d``.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.fft.rfftfreq(4, 0.5))
    [0.  0.5 1. ]
    """
    return _frequencies(_require_real_spacing(d), n=_sample_count(n), half=True, dtype=_frequency_dtype(dtype))


def fftshift(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """Return ``x`` with the zero frequency moved to the middle, along all axes or the given ones.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.fft.fftshift(jnp.fft.fftfreq(4, 0.5)))
    [-1.  -0.5  0.   0.5]
    """
    return _shift(x, axes, 1)


def ifftshift(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """Return the inverse of :func:`fftshift`.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.fft.ifftshift(jnp.array([-2, -1, 0, 1, 2])))
    [ 0  1  2 -2 -1]
    """
    return _shift(x, axes, -1)


def _shift(x: Any, axes: Any, sign: int) -> Any:
    shape = shape_of(x)
    axis_arguments = range(len(shape)) if axes is None else axes if is_several(axes) else (axes,)
    axis_numbers = tuple(axis_of(axis, len(shape), "axes") for axis in axis_arguments)
    return roll(x, tuple(sign * (shape[axis] // 2) for axis in axis_numbers), axis_numbers)


def _sample_count(n: Any) -> int:
    if aval_of(n).dtype in _FLOATS and not isinstance(n, TracerBase) and float(n).is_integer():
        return int(n)  # as in jax
    return whole_number(n, "n")


def _require_real_spacing(d: Any) -> Any:
    shape, dtype = aval_of(d).shape, aval_of(d).dtype
    if shape not in ((), (1,)) or dtype_kind(dtype) == "c":
        raise TypeError(f"d, the distance of two values, is a real number, got {dtype.name} of shape {shape}{here()}")
    return d


def _frequency_dtype(dtype: Any) -> np.dtype[Any]:
    return resolve_requested_dtype(float if dtype is None else dtype)


@jit_wrapped("n", "half", "dtype")
def _frequencies(d: Any, n: int, half: bool, dtype: np.dtype[Any]) -> Any:
    inexact_dtype = dtype if dtype_kind(dtype) in "fc" else to_canonical_dtype(float)
    steps = broadcasted_iota(to_canonical_dtype(int), (max(n // 2 + 1 if half else n, 0),), 0)
    if not half and n > 0:  # nonnegative frequencies first, then the negative ones
        steps = sub(rem(add(steps, n // 2), n), n // 2)
    frequencies = ufuncs.true_divide(as_dtype(steps, inexact_dtype), ufuncs.multiply(n, as_dtype(d, inexact_dtype)))
    return frequencies if half else as_dtype(frequencies, dtype)


__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

_explain_missing(__name__)
