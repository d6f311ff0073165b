"""The short-time Fourier transform and its inverse."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as jnp
from ...ir.avals import make_aval
from ...numpy.axes import axis_of, whole_number
from ...operations.complex_numbers import complex_dtype
from ...operations.conversion import to_dtype
from ...operations.shapes import zeros_of
from ...trace.source import here
from ...trace.values import exact_array
from ..arguments import promote_dtypes_inexact, to_array_in_dtype
from .segments import frequency_bins, is_one_sided, resolve_segment_spec, segment_spectra

_BOUNDARIES = {"even": "reflect", "constant": "edge", "zeros": "constant"}


def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Any, Any, Any]:
    """Return the short-time Fourier transform of a signal along an axis: (frequencies, times, spectra).

    Segments of ``nperseg`` elements, weighted by ``window`` (a name or weights), overlap by ``noverlap``
    (default: half) and are zero-padded to ``nfft``. ``detrend`` is False, "constant", "linear" or a function.
    ``boundary`` extends the signal at both ends: "zeros", "even", "odd", "constant" or None (no extension);
    ``padded`` zero-pads the last segment. ``return_onesided`` omits the negative frequencies of real signals. In
    the result the frequencies replace the axis, and the times are last. Raises ValueError for incompatible
    lengths.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import signal
    >>> f, t, z = signal.stft(jnp.ones(16), nperseg=8)
    >>> print(f.shape, t.shape, z.shape)
    (5,) (5,) (5, 5)
    """
    if boundary is not None and boundary not in ("odd", *_BOUNDARIES):
        raise ValueError(f"boundary is None, 'zeros', 'even', 'odd' or 'constant', got {boundary!r}{here()}")
    (x,) = promote_dtypes_inexact(x)
    axis_index = axis_of(axis, x.ndim)
    x_last = jnp.moveaxis(x, axis_index, -1)
    spec = resolve_segment_spec("stft", window, nperseg, noverlap, nfft, x_last.shape[-1], x.dtype)
    if boundary is not None:
        x_last = _extend_boundary(x_last, boundary, spec.length // 2)
    if padded:
        pad_length = -(x_last.shape[-1] - spec.length) % spec.hop_length % spec.length
        x_last = jnp.pad(x_last, [*[(0, 0)] * (x.ndim - 1), (0, pad_length)])
    one_sided = is_one_sided(return_onesided, x)
    coefficients = segment_spectra(x_last, spec, detrend, one_sided)
    coefficients = coefficients / to_array_in_dtype(jnp.sum(spec.window), coefficients.dtype)
    times = np.arange(spec.length / 2, x_last.shape[-1] - spec.length / 2 + 1, spec.hop_length)
    if boundary is not None:
        times = times - spec.length / 2
    coefficients = jnp.moveaxis(coefficients, -1, axis_index)  # times become the last axis
    return frequency_bins(spec, fs, one_sided), jnp.true_divide(exact_array(times, spec.window.dtype), fs), coefficients


def _extend_boundary(x: Any, boundary: str, size: int) -> Any:
    widths = [*[(0, 0)] * (x.ndim - 1), (size, size)]
    if boundary == "odd":
        return jnp.pad(x, widths, mode="reflect", reflect_type="odd") if size else x
    return jnp.pad(x, widths, mode=_BOUNDARIES[boundary])


def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Any, Any]:
    """Return the inverse short-time Fourier transform of ``Zxx``: (times, signal), along the last axis.

    The other arguments are those with which :func:`stft` was called. Raises ValueError for incompatible lengths.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import signal
    >>> _, _, z = signal.stft(jnp.arange(16.0), nperseg=8)
    >>> print(jnp.abs(signal.istft(z, nperseg=8)[1] - jnp.arange(16.0)).max() < 1e-4)
    True
    """
    z = jnp.asarray(Zxx)
    z = to_dtype(z, complex_dtype(z.dtype))
    if z.ndim < 2:
        raise ValueError(f"Input stft must be at least 2d, got shape {z.shape}{here()}")
    times, bins = axis_of(time_axis, z.ndim), axis_of(freq_axis, z.ndim)
    if times == bins:
        raise ValueError(f"Must specify differing time and frequency axes, got {time_axis} and {freq_axis}{here()}")
    z = jnp.moveaxis(z, (times, bins), (-2, -1))
    default_length = 2 * (z.shape[-1] - 1) if input_onesided else z.shape[-1]
    length = default_length if nperseg is None else whole_number(nperseg, "nperseg")
    if length < 1:
        raise ValueError(f"nperseg must be a positive integer, got {nperseg}{here()}")
    if nfft is None:
        fft_length = length if input_onesided and length == default_length + 1 else default_length
    else:
        fft_length = whole_number(nfft, "nfft")
    spec = resolve_segment_spec("istft", window, length, noverlap, max(fft_length, length), max(length, 1), z.dtype)
    segments = jnp.fft.irfft(z, fft_length) if input_onesided else jnp.fft.ifft(z, fft_length)
    segments = segments[..., :length] * (spec.window * jnp.sum(spec.window))
    count = z.shape[-2]
    indices = np.arange(count)[:, None] * spec.hop_length + np.arange(length)
    size = length + (count - 1) * spec.hop_length
    total = zeros_of(make_aval((*z.shape[:-2], size), segments.dtype)).at[..., indices].add(segments)
    weights = (
        zeros_of(make_aval((size,), spec.window.dtype)).at[indices].add(jnp.broadcast_to(spec.window**2, indices.shape))
    )
    if boundary:
        half = length // 2
        total, weights = total[..., half : size - half], weights[half : size - half]
    signal = total / jnp.where(weights > 1e-10, weights, 1)
    return jnp.true_divide(exact_array(np.arange(signal.shape[-1]), signal.real.dtype), fs), signal
