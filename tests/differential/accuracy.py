"""How far two results are apart, and from what is right, in units in the last place of their dtype."""

from __future__ import annotations

import base64
from typing import Any

import ml_dtypes
import numpy as np

from .building import dtype_of

Array = np.ndarray[Any, Any]


def contents(answer: dict[str, Any]) -> Array:
    """The values of an answer that is an array."""
    stored = _stored(answer["dtype"])
    if not stored.itemsize:  # float0: there are no bits to read
        return np.zeros(answer["shape"], stored)
    values = np.frombuffer(base64.b64decode(answer["bits"]), stored)
    return values.reshape(answer["shape"]) if not answer["dtype"].startswith("key<") else values


def _stored(dtype: str) -> np.dtype[Any]:
    return np.dtype("uint32") if dtype.startswith("key<") else dtype_of(dtype)


def is_inexact(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat", "complex"))


def parts(values: Array) -> Array:
    """Floating values as float64, complex ones as two: the last axis."""
    if values.dtype.kind == "c":
        return np.stack([values.real, values.imag], -1).astype(np.float64)
    return values.astype(np.float64)[..., None]


def same_bits(ours: Array, theirs: Array) -> bool:
    """Equal, signs of zeros included; any NaN is like any other."""
    if ours.dtype.kind in "biuUSO" or not is_inexact(ours.dtype.name):
        return bool(np.array_equal(ours, theirs))
    mine, other = parts(ours), parts(theirs)
    nan = np.isnan(mine)
    return bool(
        np.array_equal(nan, np.isnan(other))
        and np.array_equal(mine[~nan], other[~nan])
        and np.array_equal(np.signbit(mine[~nan]), np.signbit(other[~nan]))
    )


def spacing(values: Array, dtype: str) -> Array:
    """The distance of neighbouring numbers of the dtype at these float64 values."""
    part = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    info = ml_dtypes.finfo(dtype_of(part))
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log2(np.maximum(np.abs(values), float(info.tiny) or 1e-300)))
        return np.maximum(np.exp2(exponent) * float(info.eps), float(info.smallest_subnormal) or 5e-324)


def errors(values: Array, reference: Array, dtype: str) -> float:
    """The largest distance from the reference in units in the last place; infinite where only one is NaN.

    A complex number's parts are measured by its magnitude.
    """
    if values.shape != reference.shape:
        return float("inf")
    got, right = parts(values), parts(reference)
    with np.errstate(all="ignore"):
        size = np.linalg.norm(right, axis=-1, keepdims=True) if right.shape[-1] == 2 else right
        wrong = np.abs(got - right) / spacing(np.where(np.isfinite(size), size, 1.0), dtype)
    same = (got == right) | (np.isnan(got) & np.isnan(right)) | _overflowed(got, right, dtype)
    return float(np.where(same, 0.0, np.where(np.isnan(wrong), np.inf, wrong)).max(initial=0.0))


def _overflowed(got: Array, right: Array, dtype: str) -> Array:
    """Infinite where the reference is larger than the dtype can hold."""
    part = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    largest = float(ml_dtypes.finfo(dtype_of(part)).max)
    return np.isinf(got) & (np.sign(got) == np.sign(right)) & (np.abs(right) >= largest)


def lost_signs(ours: Array, theirs: Array) -> bool:
    """Whether they differ in nothing but the signs of zeros."""
    mine, other = parts(ours), parts(theirs)
    nan = np.isnan(mine)
    return bool(np.array_equal(nan, np.isnan(other)) and np.array_equal(mine[~nan], other[~nan]))
