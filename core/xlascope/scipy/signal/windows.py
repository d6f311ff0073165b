"""Weights of window functions, by the names that SciPy's ``get_window`` has for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...trace.source import here

#: Cosine coefficients of windows, by their SciPy names.
_COSINE_COEFFICIENTS = {
    "boxcar": (1.0,),
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
}
_ALIASES = {
    **dict.fromkeys(("ones", "rect", "box", "rectangular"), "boxcar"),
    **dict.fromkeys(("hanning", "han"), "hann"),
    **dict.fromkeys(("hamm", "ham"), "hamming"),
    **dict.fromkeys(("black", "blk"), "blackman"),
    **dict.fromkeys(("nutl", "nut"), "nuttall"),
    **dict.fromkeys(("blackharr", "bkh"), "blackmanharris"),
    **dict.fromkeys(("flat", "flt"), "flattop"),
    **dict.fromkeys(("bart", "brt"), "bartlett"),
    **dict.fromkeys(("brthan", "bth"), "barthann"),
    **dict.fromkeys(("bman", "bmn"), "bohman"),
    **dict.fromkeys(("triangle", "tri"), "triang"),
    **dict.fromkeys(("parz", "par"), "parzen"),
    **dict.fromkeys(("halfcosine",), "cosine"),
    **dict.fromkeys(("sinc",), "lanczos"),
    **dict.fromkeys(("gauss", "gss"), "gaussian"),
    **dict.fromkeys(("general gaussian", "general gauss", "general_gauss", "ggs"), "general_gaussian"),
    **dict.fromkeys(("general cosine",), "general_cosine"),
    **dict.fromkeys(("general hamming",), "general_hamming"),
    **dict.fromkeys(("poisson",), "exponential"),
    **dict.fromkeys(("ksr",), "kaiser"),
    **dict.fromkeys(("tuk",), "tukey"),
}


def _sum_of_cosines(n: Any, half: float, coefficients: Any) -> Any:
    return sum(w * np.cos(np.pi * k * n / half) for k, w in enumerate(coefficients))


def _parzen(n: Any, half: float) -> Any:
    u = np.abs(n) / (half + 0.5)
    return np.where(np.abs(n) <= half / 2, 1 - 6 * u**2 * (1 - u), 2 * (1 - u) ** 3)


def _bohman(n: Any, half: float) -> Any:
    u = np.abs(n) / half
    return (1 - u) * np.cos(np.pi * u) + np.sin(np.pi * u) / np.pi


def _tukey(n: Any, half: float, alpha: float = 0.5) -> Any:
    if alpha <= 0:
        return np.ones_like(n)
    into_taper = (np.abs(n) - half * (1 - min(alpha, 1.0))) / (half * min(alpha, 1.0))
    return 0.5 * (1 + np.cos(np.pi * np.maximum(into_taper, 0)))


def _exponential(n: Any, half: float, center: float | None = None, tau: float = 1.0) -> Any:
    return np.exp(-np.abs(n if center is None else n + half - center) / tau)


#: The weights at ``n``, the distances from the middle of a window of 2 · ``half`` + 1 points, and its parameters.
_WINDOWS: dict[str, Callable[..., Any]] = {
    "bartlett": lambda n, half: 1 - np.abs(n) / half,
    "barthann": lambda n, half: 0.62 - 0.24 * np.abs(n) / half + 0.38 * np.cos(np.pi * n / half),
    "bohman": _bohman,
    "cosine": lambda n, half: np.cos(np.pi * n / (2 * half + 1)),
    "lanczos": lambda n, half: np.sinc(n / half),
    "parzen": _parzen,
    "triang": lambda n, half: 1 - np.abs(n) / (half + (1 if half % 1 == 0 else 0.5)),
    "exponential": _exponential,
    "gaussian": lambda n, half, std: np.exp(-0.5 * (n / std) ** 2),
    "general_cosine": _sum_of_cosines,
    "general_gaussian": lambda n, half, p, sig: np.exp(-0.5 * np.abs(n / sig) ** (2 * p)),
    "general_hamming": lambda n, half, alpha: _sum_of_cosines(n, half, (alpha, 1 - alpha)),
    "kaiser": lambda n, half, beta: np.i0(beta * np.sqrt(np.maximum(1 - (n / half) ** 2, 0))) / np.i0(beta),
    "tukey": _tukey,
}


def make_window(window: Any, length: int) -> Any:
    """Return the weights of a periodic window of that length, as a NumPy array.

    ``window`` is a name that SciPy's ``get_window`` knows, or a tuple of a name and parameters. Raises ValueError for
    an unknown name, and for parameters that the window does not have or needs.

    >>> print(make_window(("gaussian", 1.0), 4).round(2))
    [0.14 0.61 1.   0.61]
    """
    name, *parameters = window if isinstance(window, tuple) and window else (window,)
    name = _ALIASES.get(name, name) if isinstance(name, str) else name
    half = length / 2
    n = np.arange(length) - half
    if isinstance(name, str) and name in _COSINE_COEFFICIENTS and not parameters:
        parameters, name = [_COSINE_COEFFICIENTS[name]], "general_cosine"
    if not isinstance(name, str) or name not in _WINDOWS:
        names = ", ".join((*_COSINE_COEFFICIENTS, *_WINDOWS))
        raise ValueError(
            f"a window is an array, a tuple of a name and parameters, or one of {names}; got {window!r}{here()}"
        )
    try:
        weights = _WINDOWS[name](n, half, *parameters)
    except TypeError:
        raise ValueError(f"the window {name} does not have the parameters of {window!r}{here()}") from None
    return weights + np.zeros(length) if length > 1 else np.ones(length)
