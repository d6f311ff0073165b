"""Power and cross spectral densities by Welch's method: averages over overlapping segments."""

from __future__ import annotations

from typing import Any

from ... import lax
from ... import numpy as jnp
from ...numpy.axes import axis_of
from ...trace.source import here
from ..arguments import promote_dtypes_inexact, require_one_of, to_array_in_dtype
from .segments import frequency_bins, is_one_sided, resolve_segment_spec, segment_spectra


def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """Return the cross spectral density of two signals along an axis, by Welch's method: (frequencies, density).

    ``y=None`` stands for ``x``; the shorter signal is zero-padded. ``scaling`` is "density", per frequency, or
    "spectrum"; ``average`` over the segments is "mean" or "median". Other arguments are those of :func:`stft`.
    Raises ValueError for unknown options and for incompatible lengths. (P. D. Welch, IEEE Trans. Audio 15, 1967.)

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import signal
    >>> f, p = signal.csd(jnp.arange(32.0) % 2, jnp.arange(32.0) % 2, nperseg=8)
    >>> print(f.shape, p.real.argmax())
    (5,) 4
    """
    require_one_of("scaling", scaling, "density", "spectrum")
    require_one_of("average", average, "mean", "median")
    is_auto = y is None
    x, y = promote_dtypes_inexact(x, x if is_auto else y)
    signals = [jnp.moveaxis(v, axis_of(axis, v.ndim), -1) for v in (x, y)]
    size = max(v.shape[-1] for v in signals)
    try:
        batch_shape = jnp.broadcast_shapes(*(v.shape[:-1] for v in signals))
    except (ValueError, TypeError):
        raise ValueError(f"x and y cannot be broadcast together, got shapes {x.shape} and {y.shape}{here()}") from None
    if not size:
        return jnp.zeros((*batch_shape, 0)), jnp.zeros((*batch_shape, 0))
    x_padded, y_padded = (jnp.pad(v, [*[(0, 0)] * (v.ndim - 1), (0, size - v.shape[-1])]) for v in signals)
    spec = resolve_segment_spec("csd", window, nperseg, noverlap, nfft, size, x_padded.dtype)
    one_sided = is_one_sided(return_onesided, x_padded, y_padded)
    first = segment_spectra(x_padded, spec, detrend, one_sided)
    second = first if is_auto else segment_spectra(y_padded, spec, detrend, one_sided)
    density = jnp.conj(first) * second
    weights = jnp.sum(spec.window**2) * fs if scaling == "density" else jnp.sum(spec.window) ** 2
    density = jnp.real(density) if is_auto else density
    density = density / to_array_in_dtype(weights, density.dtype)
    if one_sided:  # double all but the zero and Nyquist frequencies, which have no negative counterpart
        last = None if spec.fft_length % 2 else -1
        density = density.at[..., 1:last].multiply(2)
    density = _average_segments(density, average)
    return frequency_bins(spec, fs, one_sided), jnp.moveaxis(density, -1, axis_of(axis, x.ndim))


def _average_segments(periodograms: Any, average: str) -> Any:
    count = periodograms.shape[-2]
    if average == "mean":
        return jnp.mean(periodograms, -2)
    bias = 1 + sum(1 / (i + 1) - 1 / i for i in range(2, count, 2))
    if jnp.iscomplexobj(periodograms):
        return lax.complex(*(jnp.median(part, -2) for part in (periodograms.real, periodograms.imag))) / bias
    return jnp.median(periodograms, -2) / bias


def welch(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """Return the power spectral density of a signal along an axis: (frequencies, density); see :func:`csd`.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import signal
    >>> f, p = signal.welch(jnp.arange(32.0) % 2, nperseg=8)
    >>> print(f.shape, p.argmax())
    (5,) 4
    """
    return csd(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)
