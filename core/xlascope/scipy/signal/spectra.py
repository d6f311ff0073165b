"""Power and cross spectral densities, by the mean over segments that overlap."""

from __future__ import annotations

from typing import Any

from ... import numpy as jnp
from ...numpy.axes import axis_of
from ...trace.source import here
from ..arguments import floats_of_any_shape, one_of
from .segments import cut_of, frequencies, is_one_sided, spectra


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
    """The cross spectral density of two signals along an axis, by Welch's method: (frequencies, density).

    ``y`` None stands for ``x``; the shorter signal is filled up with zeros. ``scaling`` is "density", per frequency, or
    "spectrum"; ``average`` over the segments is "mean" or "median". Other arguments are those of :func:`stft`. Raises
    ValueError for another word and for lengths that do not fit. (P. D. Welch, IEEE Trans. Audio 15, 1967.)

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import signal
    >>> f, p = signal.csd(jnp.arange(32.0) % 2, jnp.arange(32.0) % 2, nperseg=8)
    >>> print(f.shape, p.real.argmax())
    (5,) 4
    """
    one_of("scaling", scaling, "density", "spectrum")
    one_of("average", average, "mean", "median")
    alone = y is None
    x, y = floats_of_any_shape(x, x if alone else y)
    signals = [jnp.moveaxis(v, axis_of(axis, v.ndim), -1) for v in (x, y)]
    size = max(v.shape[-1] for v in signals)
    try:
        lead = jnp.broadcast_shapes(*(v.shape[:-1] for v in signals))
    except (ValueError, TypeError):
        raise ValueError(f"x and y cannot be broadcast together, got shapes {x.shape} and {y.shape}{here()}") from None
    if not size:
        return jnp.zeros((*lead, 0)), jnp.zeros((*lead, 0))
    one, two = (jnp.pad(v, [*[(0, 0)] * (v.ndim - 1), (0, size - v.shape[-1])]) for v in signals)
    cut = cut_of("csd", window, nperseg, noverlap, nfft, size, one.dtype)
    one_sided = is_one_sided(return_onesided, one, two)
    first = spectra(one, cut, detrend, one_sided)
    second = first if alone else spectra(two, cut, detrend, one_sided)
    found = jnp.conj(first) * second
    weights = jnp.sum(cut.window**2) * fs if scaling == "density" else jnp.sum(cut.window) ** 2
    found = found / weights
    if one_sided:  # the other half, but for what stands alone
        last = None if cut.transform % 2 else -1
        found = found.at[..., 1:last].multiply(2)
    found = jnp.real(found) if alone else found
    found = _averaged(found, average)
    return frequencies(cut, fs, one_sided), jnp.moveaxis(found, -1, axis_of(axis, x.ndim))


def _averaged(found: Any, average: str) -> Any:
    count = found.shape[-2]
    if average == "mean":
        return jnp.mean(found, -2)
    bias = 1 + sum(1 / (i + 1) - 1 / i for i in range(2, count, 2))
    if jnp.iscomplexobj(found):
        return (jnp.median(jnp.real(found), -2) + 1j * jnp.median(jnp.imag(found), -2)) / bias
    return jnp.median(found, -2) / bias


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
    """The power spectral density of a signal along an axis: (frequencies, density), both real; see :func:`csd`.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import signal
    >>> f, p = signal.welch(jnp.arange(32.0) % 2, nperseg=8)
    >>> print(f.shape, p.argmax())
    (5,) 4
    """
    return csd(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)
