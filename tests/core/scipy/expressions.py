"""What expressions of xlascope.scipy and jax.scipy give; those that have to agree are in ``rows``, a file a room.

These files import neither library: the function that `every_of` makes is given one.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

#: What the names in the expressions stand for.
VALUES = {
    "x": np.array([-1.5, 0.0, 2.5], np.float32),
    "y": np.array([0.5, 1.25, 3.0], np.float32),
    "p": np.array([0.25, 0.5, 0.9], np.float32),
    "q": np.array([0.01, 0.35, 0.99], np.float32),
    "i": np.array([2, 0, 1], np.int32),
    "k": np.array([4, 1, 3], np.int32),
    "b": np.array([True, False, True]),
    "h": np.array([1.5, -2.0, 0.5], np.float16),
    "e": np.zeros((0,), np.float32),
    "z": np.array([1 + 2j, -0.5j, -3 + 1j], np.complex64),
    "m": np.arange(12, dtype=np.float32).reshape(3, 4) - 5,
    "t": np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 8,
    "w": (np.arange(32, dtype=np.float32) * 7 % 11).reshape(2, 16) / 4,
    # square: of full rank, complex, symmetric and positive definite, Hermitian, a stack, singular, integers
    "s": np.array([[2.0, -1.0, 0.5], [0.3, 1.5, -0.7], [-0.2, 0.4, 1.8]], np.float32),
    "c": np.array([[2 + 1j, -1, 0.5j], [0.3, 1.5 - 1j, -0.7], [-0.2j, 0.4, 1.8]], np.complex64),
    "d": np.array([[2.0, 0.4, 0.1], [0.4, 1.5, -0.3], [0.1, -0.3, 1.2]], np.float32),
    "v": np.array([[2.0, 0.4j, 0.1], [-0.4j, 1.5, -0.3], [0.1, -0.3, 1.2]], np.complex64),
    "g": np.array([[[2.0, 0.5], [0.3, 1.0]], [[1.0, -2.0], [0.4, 3.0]]], np.float32),
    "o": np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]], np.float32),
    "n": np.array([[2, 1], [0, 3]], np.int32),
    "r": np.array([[1.0, 0.5, -0.3, 2.0], [0.2, -1.0, 0.8, 0.1], [0.6, 0.3, 1.1, -0.4]], np.float32),
}

#: What a row is called by in the expressions, and the module it stands for.
MODULES = {
    "sl": "linalg",
    "ss": "stats",
    "sp": "special",
    "sparse": "sparse.linalg",
    "optimize": "optimize",
    "signal": "signal",
    "fft": "fft",
    "ndimage": "ndimage",
    "vq": "cluster.vq",
    "integrate": "integrate",
    "interpolate": "interpolate",
    "transform": "spatial.transform",
}


def _scope(library: Any) -> dict[str, Any]:
    used = {short: f"{library.__name__}.scipy.{name}" for short, name in MODULES.items()}
    found: dict[str, Any] = {"jnp": library.numpy, "lax": library.lax, "library": library}
    for short, name in used.items():
        try:
            found[short] = importlib.import_module(name)
        except ImportError:  # a room that is not there yet has no rows
            continue
    return found


def _plain(value: Any) -> Any:
    """A result as NumPy arrays with their weakness, which can be pickled and compared."""
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if hasattr(value, "weak_type"):
        return np.asarray(value), bool(value.weak_type)
    return value if value is None or isinstance(value, bool) else np.asarray(value)


def is_error(result: Any) -> bool:
    """Whether a row raised."""
    return isinstance(result, tuple) and len(result) == 3


def evaluate(library: Any, row: str) -> Any:
    """What a row gives, or ("error", the builtin class of the error, its text)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arrays = {name: library.numpy.asarray(value) for name, value in VALUES.items()}
            return _plain(eval(row, _scope(library) | arrays))
    except Exception as error:
        kind = next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins")
        return "error", kind, f"{type(error).__name__}: {error}"


def together(library: Any, rows: list[str]) -> list[Any]:
    """What rows that raise nothing give when one program computes them all."""
    arrays = {name: library.numpy.asarray(value) for name, value in VALUES.items()}
    scope = _scope(library)

    def function(given: dict[str, Any]) -> list[Any]:
        return [eval(row, scope | given) for row in rows]

    return [_plain(value) for value in library.jit(function)(arrays)]


def every_of(rows: str) -> Callable[[Any], dict[str, Any]]:
    """A function that says what all rows give with a library, by themselves."""
    return lambda library: {row: evaluate(library, row) for row in rows.splitlines() if row}
