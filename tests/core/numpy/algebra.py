"""Expressions of linear algebra and Fourier transforms that xlascope.numpy and jax.numpy have to agree on.

This file imports neither library: `every(library)` is given one. Factorizations are unique only up to signs, so both
call LAPACK the same way.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

#: What the names in the expressions stand for.
VALUES = {
    "x": np.array([-1.5, 0.0, 2.5], np.float32),
    "m": np.arange(12, dtype=np.float32).reshape(3, 4) - 5,
    "t": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    "i": np.array([2, 0, 1], np.int32),
    "k": np.array([-7, 7, 3], np.int32),
    "b": np.array([True, False, True]),
    "h": np.array([1.5, -2.0, 0.5], np.float16),
    "e": np.zeros((0, 3), np.float32),
    "z": np.array([1 + 2j, -0.5j, -3 + 1j], np.complex64),
    "a": (np.arange(12).reshape(3, 4) + 1j * np.arange(12)[::-1].reshape(3, 4)).astype(np.complex64),
    "f": np.float32(2.5),
    # square: of full rank, complex, symmetric and positive definite, a stack, singular, with NaN
    "s": np.array([[2.0, -1.0, 0.5], [0.3, 1.5, -0.7], [-0.2, 0.4, 1.8]], np.float32),
    "c": np.array([[2 + 1j, -1, 0.5j], [0.3, 1.5 - 1j, -0.7], [-0.2j, 0.4, 1.8]], np.complex64),
    "p": np.array([[2.0, 0.4, 0.1], [0.4, 1.5, -0.3], [0.1, -0.3, 1.2]], np.float32),
    "v": np.array([[2.0, 0.4j, 0.1], [-0.4j, 1.5, -0.3], [0.1, -0.3, 1.2]], np.complex64),
    "g": np.array([[[2.0, 0.5], [0.3, 1.0]], [[1.0, -2.0], [0.4, 3.0]]], np.float32),
    "w": np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]], np.float32),
    "n": np.array([[1.0, np.nan], [0.5, 2.0]], np.float32),
    "r": np.array([[1.0, 0.5, -0.3, 2.0], [0.2, -1.0, 0.8, 0.1], [0.6, 0.3, 1.1, -0.4]], np.float32),
}

FOURIER = """
jnp.fft.fft(x)
jnp.fft.fft(i)
jnp.fft.fft(h)
jnp.fft.fft(b, norm="ortho")
jnp.fft.fft(2.0)
jnp.fft.fft([1, 2])
jnp.fft.fft(m, 6, 0, "forward")
jnp.fft.fft(m, axis=(0, 1))
jnp.fft.fft(m, axis=2)
jnp.fft.fft(m, axis=0.0)
jnp.fft.fft(m, n=0)
jnp.fft.fft(m, n=2.0)
jnp.fft.fft(m, norm="none")
jnp.fft.fft(e)
jnp.fft.fft(e.T)
jnp.fft.ifft(a, 5, 0, "ortho")
jnp.fft.rfft(m, 5, 0, "forward")
jnp.fft.rfft(z)
jnp.fft.irfft(a)
jnp.fft.irfft(a, 5, 0, "ortho")
jnp.fft.irfft(x, 1)
jnp.fft.irfft(x[:1])
jnp.fft.hfft(z)
jnp.fft.hfft(x, 5, norm="ortho")
jnp.fft.hfft(m, axis=(0,))
jnp.fft.ihfft(x, 5, norm="forward")
jnp.fft.ihfft(m, axis=0, norm="ortho")
jnp.fft.ihfft(z)
jnp.fft.fft2(t)
jnp.fft.fft2(x)
jnp.fft.fft2(t, (5, 2), (0, 1), "ortho")
jnp.fft.fft2(t, axes=(0,))
jnp.fft.fft2(t, axes=None)
jnp.fft.fft2(t, s=(1, 2, 3))
jnp.fft.ifft2(a)
jnp.fft.rfft2(t, (5, 6), (1, 0))
jnp.fft.irfft2(a, (5, 6), (1, 0), "forward")
jnp.fft.fftn(t)
jnp.fft.fftn(t, (2, 3))
jnp.fft.fftn(t, axes=(0, 2, 1), norm="forward")
jnp.fft.fftn(t, axes=(0, 0))
jnp.fft.fftn(t, axes=())
jnp.fft.fftn(t, axes=0)
jnp.fft.fftn(t, (2, -1), (0, 1))
jnp.fft.fftn(t, s=2)
jnp.fft.fftn(2.0)
jnp.fft.fftn(jnp.arange(2.0 * 3 * 2 * 3 * 2).reshape(2, 3, 2, 3, 2))
jnp.fft.ifftn(jnp.arange(2.0 * 3 * 2 * 3).reshape(2, 3, 2, 3), (3, 2, 4, 2))
jnp.fft.rfftn(t)
jnp.fft.rfftn(t, axes=())
jnp.fft.rfftn(jnp.arange(2.0 * 3 * 2 * 3).reshape(2, 3, 2, 3))
jnp.fft.irfftn(t)
jnp.fft.irfftn(jnp.arange(2.0 * 3 * 2 * 3).reshape(2, 3, 2, 3), norm="ortho")
jnp.fft.fftfreq(5)
jnp.fft.fftfreq(4, 0.25)
jnp.fft.fftfreq(4, f)
jnp.fft.fftfreq(4, 2, dtype=jnp.float16)
jnp.fft.fftfreq(4, 0.5, dtype=jnp.int32)
jnp.fft.fftfreq(3, dtype=jnp.complex64)
jnp.fft.fftfreq(0)
jnp.fft.fftfreq(5, 1j)
jnp.fft.fftfreq(5, x)
jnp.fft.rfftfreq(5)
jnp.fft.rfftfreq(4, 0.25)
jnp.fft.rfftfreq(4, 2, dtype=jnp.int32)
jnp.fft.fftshift(m)
jnp.fft.fftshift(t, (0, -1))
jnp.fft.fftshift(t, [0, 0])
jnp.fft.fftshift(2.0)
jnp.fft.fftshift(m, ())
jnp.fft.fftshift([1, 2])
jnp.fft.ifftshift(b)
jnp.fft.ifftshift(t, (0, 1))
jnp.fft.ifftshift(e)
lax.fft(x, "fft", (3,))
lax.fft(i, "RFFT", (3,))
lax.fft(a, lax.FftType.IRFFT, (3, 6))
lax.fft(x, 0, (3,))
lax.fft(x, "none", (3,))
lax.fft(z, "rfft", (3,))
lax.fft(h, "rfft", (3,))
lax.fft(h, "fft", (3,))
lax.fft(x, "fft", ())
lax.fft(f, "fft", (1,))
"""

LINEAR = """
"""

ROWS = [row for row in (FOURIER + LINEAR).splitlines() if row.strip()]


def _plain(value: Any) -> Any:
    """A result as NumPy arrays with their weakness, which can be pickled and compared."""
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if hasattr(value, "weak_type"):
        return np.asarray(value), bool(value.weak_type)
    return value if value is None else np.asarray(value)


def is_error(result: Any) -> bool:
    """Whether a row raised."""
    return isinstance(result, tuple) and len(result) == 3


def evaluate(library: Any, row: str, *, jit: bool = False) -> Any:
    """What a row gives, or ("error", the builtin class of the error, its text)."""
    jnp = library.numpy
    arrays = {name: jnp.asarray(value) for name, value in VALUES.items()}

    def function(given: dict[str, Any]) -> Any:
        return eval(row, {"jnp": jnp, "lax": library.lax, "library": library}, dict(given))

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _plain((library.jit(function) if jit else function)(arrays))
    except Exception as error:
        kind = next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins")
        return "error", kind, f"{type(error).__name__}: {error}"


def together(library: Any, rows: list[str]) -> list[Any]:
    """What rows that raise nothing give when one program computes them all."""
    jnp = library.numpy
    arrays = {name: jnp.asarray(value) for name, value in VALUES.items()}

    def function(given: dict[str, Any]) -> list[Any]:
        scope = {"jnp": jnp, "lax": library.lax, "library": library}
        return [eval(row, scope, dict(given)) for row in rows]

    return [_plain(value) for value in library.jit(function)(arrays)]


def every(library: Any) -> dict[str, Any]:
    """What all rows give, by themselves."""
    return {row: evaluate(library, row) for row in ROWS}
