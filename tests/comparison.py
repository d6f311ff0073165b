"""Whether arrays are what an oracle says: their type, their numbers to the last places, and the signs of zeros."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

#: Numbers of the same steps may differ by so many units of their last place: compilers contract and reorder. By the
#: steps that jax takes 99 of 100 rows of tests/core/numpy come out without any difference.
LAST_PLACES = 16


Numbers = np.ndarray[Any, Any]


def difference(ours: Numbers, theirs: Numbers, places: float = LAST_PLACES) -> str:
    """What is wrong with an array of a result, or nothing; its numbers may differ by so many units of the last place.

    >>> difference(np.float32([0.0, 1.0]), np.float32([-0.0, 1.0]))
    'gave [0. 1.], jax gives [-0.  1.]'
    >>> difference(np.float32([1.0, 3.0]), np.nextafter(np.float32([1.0, 3.0]), np.float32(9)))
    ''
    """
    return _said(ours, theirs, lambda unit: _near(_wide(ours), _wide(theirs), places * unit))


def rough_difference(ours: Numbers, theirs: Numbers) -> str:
    """The same for numbers that other steps led to: signs of zeros do not count, and small numbers may be further off.

    >>> rough_difference(np.float32([0.0, 1.0]), np.float32([-1e-7, 1.000001]))
    ''
    """

    def near(unit: float) -> bool:
        precision = max(1e-5, 2 * unit)
        return np.allclose(_wide(ours), _wide(theirs), rtol=precision, atol=precision / 10, equal_nan=True)

    return _said(ours, theirs, near)


def _said(ours: Numbers, theirs: Numbers, near: Callable[[float], bool]) -> str:
    if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
        return f"gave {ours.dtype}{ours.shape}, jax gives {theirs.dtype}{theirs.shape}"
    try:
        same = near(float(ml_dtypes.finfo(ours.dtype).eps))
    except ValueError:  # no floating-point numbers
        same = np.array_equal(ours, theirs)
    return "" if same else f"gave {ours.ravel()[:9]}, jax gives {theirs.ravel()[:9]}"


def _wide(array: Numbers) -> Numbers:
    """Its numbers in double precision and in a row, real and imaginary parts one after the other."""
    flat = array.ravel()
    parts = [flat.real, flat.imag] if flat.dtype.kind == "c" else [flat]
    return np.concatenate(parts).astype(np.float64)


def _near(ours: Numbers, theirs: Numbers, precision: float) -> bool:
    equal = (ours == theirs) & (np.signbit(ours) == np.signbit(theirs)) | np.isnan(ours) & np.isnan(theirs)
    with np.errstate(invalid="ignore"):
        near = np.abs(ours - theirs) <= precision * np.abs(theirs)
    return bool(np.all(equal | near & (theirs != 0) & np.isfinite(theirs)))
