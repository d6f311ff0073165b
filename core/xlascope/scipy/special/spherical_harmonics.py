"""Spherical harmonics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...control.flow.loop_api import scan
from ...numpy.jit_wrapped import jit_wrapped
from ...numpy.logic import where
from ...operations.arithmetic import abs
from ...operations.complex_numbers import complex as complex_of
from ...operations.conversion import to_dtype
from ...operations.exponentials import sqrt
from ...operations.integer_arguments import whole_number
from ...operations.trigonometry import cos, sin
from ...trace.source import here
from ...trace.values import exact_array
from ..arguments import promote_args_inexact, to_strong_type


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, diff_n: int | None = None, n_max: int | None = None) -> Any:
    """Return the spherical harmonics of degree ``n`` and order ``m``, |m| ≤ n.

    ``theta`` is the polar angle, ``phi`` the azimuth. The result is complex, of shape (k,), to which the four
    arrays of rank 1 broadcast; ``n`` and ``m`` are integers. ``n_max`` is the largest degree: larger ones are
    clipped to it; if it is None, it is the maximum of ``n``, which then cannot be traced. ``diff_n`` is not
    supported (NotImplementedError). The normalized Legendre functions are computed by their recurrence in the
    degree (DLMF 14.10.3, 14.30.1), so that those of order 0 are differentiable at the poles too. Raises TypeError
    for other types and ranks, ValueError for no degrees at all.

    >>> import numpy as np, xlascope.scipy.special as sp
    >>> print(sp.sph_harm_y(np.array([1]), np.array([0]), np.array([0.0]), np.array([0.0])))
    [0.48860252+0.j]
    """
    if diff_n is not None:
        raise NotImplementedError(f"sph_harm_y with diff_n: take derivatives with xlascope.grad{here()}")
    for name, array in (("n", n), ("m", m)):
        if np.dtype(getattr(array, "dtype", type(array))).kind not in "iu":
            raise TypeError(f"{name} of sph_harm_y is an array of integers, got {array!r}{here()}")
    for name, array in (("n", n), ("m", m), ("theta", theta), ("phi", phi)):
        if np.ndim(array) != 1:
            raise TypeError(f"{name} of sph_harm_y has shape (k,), got shape {np.shape(array)}{here()}")
    if n_max is None:
        degrees = np.asarray(n)
        if not degrees.size:
            raise ValueError(f"sph_harm_y of no degrees: give n_max{here()}")
        n_max = int(degrees.max())
    return _sph_harm_y(n, m, theta, phi, max(0, whole_number(n_max, "n_max of sph_harm_y")))


@jit_wrapped("largest")
def _sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, largest: int) -> Any:
    theta, phi = (to_strong_type(x) for x in promote_args_inexact(theta, phi))
    if theta.dtype.kind == "c" or theta.dtype.itemsize < 4:
        raise TypeError(f"angles of sph_harm_y are float32 or float64, got dtype {theta.dtype}{here()}")
    n, m, theta, phi = jnp.broadcast_arrays(n, m, theta, phi)
    degree, order = to_dtype(n, theta.dtype), to_dtype(abs(m), theta.dtype)
    legendre = _normalized_legendre(
        where(degree > largest, float(largest), degree), order, cos(theta), sin(theta), largest
    )
    legendre = where((m < 0) & (m % 2 != 0), -legendre, legendre)
    phase = to_dtype(m, theta.dtype) * phi
    return complex_of(legendre * cos(phase), legendre * sin(phase))


def _normalized_legendre(n: Any, m: Any, x: Any, s: Any, largest: int) -> Any:
    """Return the normalized Legendre functions N P_n^m(x), given s = √(1 - x²).

    The recurrence goes up the diagonal to (m, m), then up in the degree to ``largest``.
    """

    def step(carry: Any, k: Any) -> tuple[Any, None]:
        before, last, result = carry
        diagonal = -sqrt((2 * k + 1) / (2 * k)) * s * last
        above = k > m
        gap = where(above, k * k - m * m, 1.0)
        a = sqrt((4 * k * k - 1) / gap)
        b = sqrt(where(above, (k - 1) * (k - 1) - m * m, 0.0) / where(k > 1, 4 * (k - 1) * (k - 1) - 1, 1.0))
        upward = a * (x * last - b * before)
        before, last = where(above, last, 0.0), where(above, upward, diagonal)
        return (before, last, where(n == k, last, result)), None

    start = x * 0 + math.sqrt(0.25 / math.pi)
    (_, _, result), _ = scan(step, (x * 0, start, start), exact_array(np.arange(1, largest + 1), x.dtype))
    return where(m > n, 0.0, result)
