"""Spectra of overlapping segments of signals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ... import numpy as jnp
from ...dtypes import dtype_kind
from ...numpy.axes import whole_number
from ...trace.source import here
from ...trace.values import exact_array
from ..arguments import to_array_in_dtype
from .detrending import detrend
from .windows import make_window


class SegmentSpec(NamedTuple):
    """Segmentation of a signal: the window, its length, the FFT length, and the hop between segments."""

    window: Any
    length: int
    fft_length: int
    hop_length: int


def resolve_segment_spec(
    name: str, window: Any, nperseg: Any, noverlap: Any, nfft: Any, size: int, dtype: Any
) -> SegmentSpec:
    """Return window and lengths for a signal of ``size`` elements, from arguments as users write them.

    ``window`` is a name or an array of weights; None for the lengths stands for SciPy's defaults. The weights get the
    real dtype of ``dtype``. Raises ValueError for incompatible lengths; ``name`` is the function's name, for messages.
    """
    is_array = not isinstance(window, (str, tuple))
    if is_array:
        weights = jnp.asarray(window)
        if weights.ndim != 1:
            raise ValueError(f"window of {name} must be 1-D, got shape {weights.shape}{here()}")
        length = weights.shape[0]
        if length > size:
            raise ValueError(f"window of {name} is longer than the input signal, {length} > {size}{here()}")
        if nperseg is not None and whole_number(nperseg, "nperseg") != length:
            raise ValueError(f"nperseg of {name} differs from the length of window, {nperseg} and {length}{here()}")
    else:
        length = min(256 if nperseg is None else whole_number(nperseg, "nperseg"), size)
        if length < 1:
            raise ValueError(f"nperseg of {name} must be a positive integer, got {nperseg}{here()}")
        weights = make_window(window, length)
    overlap = length // 2 if noverlap is None else whole_number(noverlap, "noverlap")
    if overlap >= length:
        raise ValueError(f"noverlap of {name} must be less than nperseg, got {overlap} and {length}{here()}")
    fft_length = length if nfft is None else whole_number(nfft, "nfft")
    if fft_length < length:
        raise ValueError(
            f"nfft of {name} must be greater than or equal to nperseg, got {fft_length} and {length}{here()}"
        )
    return SegmentSpec(to_array_in_dtype(weights, np.empty((), dtype).real.dtype), length, fft_length, length - overlap)


def make_detrender(trend: Any) -> Callable[[Any], Any]:
    """Return a function that removes the trend of segments along the last axis.

    ``trend`` is False (none is removed), a type of :func:`detrend`, or such a function.
    """
    if not trend:
        return lambda segments: segments
    if callable(trend):
        return trend  # type: ignore[no-any-return]
    return lambda segments: detrend(segments, -1, trend)


def segment_spectra(x: Any, spec: SegmentSpec, trend: Any, one_sided: bool) -> Any:
    """Return the spectra of a signal's segments along its last axis, shape ``(…, segments, frequencies)``.

    ``trend`` is removed from each segment first; see :func:`make_detrender`.
    """
    count = (x.shape[-1] - spec.length) // spec.hop_length + 1
    indices = np.arange(max(count, 0))[:, None] * spec.hop_length + np.arange(spec.length)
    segments = make_detrender(trend)(jnp.take(x, indices, -1))
    is_complex = dtype_kind(segments.dtype) == "c"
    segments = segments * (to_array_in_dtype(spec.window, segments.dtype) if is_complex else spec.window)
    return jnp.fft.rfft(segments, spec.fft_length) if one_sided else jnp.fft.fft(segments, spec.fft_length)


def is_one_sided(requested: bool, *signals: Any) -> bool:
    """Return whether a one-sided spectrum is requested and all signals are real."""
    return bool(requested) and all(dtype_kind(x.dtype) != "c" for x in signals)


def frequency_bins(spec: SegmentSpec, fs: Any, one_sided: bool) -> Any:
    """Return the frequencies of a spectrum at sampling rate ``fs``; negative ones too unless ``one_sided``."""
    size = spec.fft_length
    bins = np.fft.rfftfreq(size) if one_sided else np.fft.fftfreq(size)
    dtype = spec.window.dtype
    return to_array_in_dtype(jnp.multiply(exact_array(bins, dtype), fs), dtype)
