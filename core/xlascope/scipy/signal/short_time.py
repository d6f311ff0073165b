"""The short-time Fourier transform, and its inverse."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as jnp
from ...numpy.axes import axis_of, whole_number
from ...operations.complex_numbers import complex_dtype
from ...trace.source import here
from ..arguments import floats_of_any_shape
from .segments import cut_of, frequencies, is_one_sided, spectra

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
    """The spectra of segments of a signal along an axis: (frequencies, times, spectra).

    Segments of ``nperseg`` elements, weighed by ``window`` (a name or weights), overlap by ``noverlap`` (half of them),
    and are filled up to ``nfft``. ``detrend`` is False, "constant", "linear" or a function. ``boundary`` says how the
    signal goes on at both ends: "zeros", "even", "odd", "constant" or None (it ends); ``padded`` fills up the last
    segment. ``return_onesided`` leaves the negative frequencies of real signals out. The result has the frequencies in
    place of the axis and the times last. Raises ValueError for lengths that do not fit.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import signal
    >>> f, t, z = signal.stft(jnp.ones(16), nperseg=8)
    >>> print(f.shape, t.shape, z.shape)
    (5,) (5,) (5, 5)
    """
    if boundary is not None and boundary not in ("odd", *_BOUNDARIES):
        raise ValueError(f"boundary is None, 'zeros', 'even', 'odd' or 'constant', got {boundary!r}{here()}")
    (x,) = floats_of_any_shape(x)
    place = axis_of(axis, x.ndim)
    along = jnp.moveaxis(x, place, -1)
    cut = cut_of("stft", window, nperseg, noverlap, nfft, along.shape[-1], x.dtype)
    if boundary is not None:
        along = _extended(along, boundary, cut.length // 2)
    if padded:
        more = -(along.shape[-1] - cut.length) % cut.step % cut.length
        along = jnp.pad(along, [*[(0, 0)] * (x.ndim - 1), (0, more)])
    one_sided = is_one_sided(return_onesided, x)
    found = spectra(along, cut, detrend, one_sided) / jnp.sum(cut.window)
    times = np.arange(cut.length / 2, along.shape[-1] - cut.length / 2 + 1, cut.step)
    if boundary is not None:
        times = times - cut.length / 2
    found = jnp.moveaxis(found, -1, place)  # the times, which were before the frequencies, are last now
    return frequencies(cut, fs, one_sided), jnp.asarray(times, cut.window.dtype) / fs, found


def _extended(x: Any, how: str, size: int) -> Any:
    widths = [*[(0, 0)] * (x.ndim - 1), (size, size)]
    if how == "odd":
        return jnp.pad(x, widths, mode="reflect", reflect_type="odd") if size else x
    return jnp.pad(x, widths, mode=_BOUNDARIES[how])


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
    """The signal of which :func:`stft` gave the spectra ``Zxx``: (times, signal), the signal along the last axis.

    The other arguments are those that :func:`stft` was called with. Raises ValueError for lengths that do not fit.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import signal
    >>> _, _, z = signal.stft(jnp.arange(16.0), nperseg=8)
    >>> print(jnp.abs(signal.istft(z, nperseg=8)[1] - jnp.arange(16.0)).max() < 1e-4)
    True
    """
    z = jnp.asarray(Zxx)
    z = z.astype(complex_dtype(z.dtype))
    if z.ndim < 2:
        raise ValueError(f"Input stft must be at least 2d, got shape {z.shape}{here()}")
    times, bins = axis_of(time_axis, z.ndim), axis_of(freq_axis, z.ndim)
    if times == bins:
        raise ValueError(f"Must specify differing time and frequency axes, got {time_axis} and {freq_axis}{here()}")
    z = jnp.moveaxis(z, (times, bins), (-2, -1))
    whole = 2 * (z.shape[-1] - 1) if input_onesided else z.shape[-1]
    length = whole if nperseg is None else whole_number(nperseg, "nperseg")
    if length < 1:
        raise ValueError(f"nperseg must be a positive integer, got {nperseg}{here()}")
    if nfft is None:
        transform = length if input_onesided and length == whole + 1 else whole
    else:
        transform = whole_number(nfft, "nfft")
    cut = cut_of("istft", window, length, noverlap, max(transform, length), max(length, 1), z.dtype)
    segments = jnp.fft.irfft(z, transform) if input_onesided else jnp.fft.ifft(z, transform)
    segments = segments[..., :length] * (cut.window * jnp.sum(cut.window))
    count = z.shape[-2]
    places = np.arange(count)[:, None] * cut.step + np.arange(length)
    size = length + (count - 1) * cut.step
    total = jnp.zeros((*z.shape[:-2], size), segments.dtype).at[..., places].add(segments)
    weights = jnp.zeros((size,), cut.window.dtype).at[places].add(jnp.broadcast_to(cut.window**2, places.shape))
    if boundary:
        half = length // 2
        total, weights = total[..., half : size - half], weights[half : size - half]
    found = total / jnp.where(weights > 1e-10, weights, 1)
    return jnp.asarray(np.arange(found.shape[-1]), dtype=found.real.dtype) / fs, found
