"""The bytes of arrays read another way."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import bits_of, kind_of
from ..ir.requested_dtypes import requested_dtype
from ..operations.comparisons import ne
from ..operations.complex_numbers import complex, imag, real, real_dtype
from ..operations.conversion import bitcast_convert_type, convert_element_type
from ..operations.shapes import expand_dims, reshape, squeeze
from ..operations.slicing import concatenate, rev, slice_in_dim
from ..trace.values import aval_of
from .together import together


def view(x: Any, dtype: Any) -> Any:
    """The same bytes read as another dtype: along the last axis they become more elements of a narrower one, or fewer.

    Truth values are bytes, those that are not 0 true. Raises ValueError where the bytes of the last axis do not come
    to whole elements, and without an axis where they come to more or less than one.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.array([1.0, 2.0]).view("uint16"))
    [    0 16256     0 16384]
    """
    wanted, aval = requested_dtype(dtype), aval_of(x)
    own, new = _bits(aval.dtype), _bits(wanted)
    if own != new and not aval.shape:
        raise ValueError(
            f"view of an array without axes takes a dtype as wide as its own, {aval.dtype.name}; got {wanted.name}"
        )
    if aval.shape and aval.shape[-1] * own % new:
        raise ValueError(
            f"view: {aval.shape[-1]} elements of {aval.dtype.name} along the last axis are not whole elements of "
            f"{wanted.name}"
        )
    return x if wanted == aval.dtype else _view(x, dtype=wanted)


def byteswap(x: Any) -> Any:
    """The bytes of each number in the opposite order; those of a complex number in each of its parts."""
    part = real_dtype(x.dtype) if kind_of(x.dtype) == "c" else x.dtype
    return x if _bits(part) <= 8 else _byteswap(x)


def _bits(dtype: np.dtype[Any]) -> int:
    """How much memory an element takes; a truth value takes a byte."""
    return 8 if kind_of(dtype) == "b" else bits_of(dtype)


@together("dtype")
def _view(x: Any, dtype: np.dtype[Any]) -> Any:
    aval = aval_of(x)
    parts, part = _parts(x), real_dtype(dtype) if kind_of(dtype) == "c" else dtype
    width = min(_bits(aval_of(parts).dtype), _bits(part))
    words = _words(parts, width)
    shape = (*aval.shape[:-1], aval.shape[-1] * _bits(aval.dtype) // _bits(dtype)) if aval.shape else ()
    return _elements(reshape(words, (*shape, _bits(dtype) // _bits(part), _bits(part) // width)), dtype, part)


def _parts(x: Any) -> Any:
    """The elements with one axis more: the two parts of complex numbers, a truth value as a byte."""
    kind = kind_of(aval_of(x).dtype)
    rank = len(aval_of(x).shape)
    if kind == "c":
        return concatenate([expand_dims(part, (rank,)) for part in (real(x), imag(x))], rank)
    return expand_dims(convert_element_type(x, np.uint8) if kind == "b" else x, (rank,))


def _words(x: Any, width: int) -> Any:
    """The bits of elements as natural numbers of so many bits."""
    return bitcast_convert_type(x, f"uint{width}")


def _elements(words: Any, dtype: np.dtype[Any], part: np.dtype[Any]) -> Any:
    """Elements from their words, which lie along two last axes: parts, and words of a part."""
    shape = aval_of(words).shape
    if shape[-1] == 1:
        words = reshape(words, shape[:-1])
    if kind_of(dtype) == "b":
        return ne(reshape(words, shape[:-2]), np.uint8(0))
    parts = bitcast_convert_type(words, part)
    if kind_of(dtype) != "c":
        return reshape(parts, shape[:-2])
    axis = len(shape) - 2
    return complex(*(squeeze(slice_in_dim(parts, i, i + 1, axis), (axis,)) for i in (0, 1)))


@together()
def _byteswap(x: Any) -> Any:
    aval = aval_of(x)
    words = _words(_parts(x), 8)
    swapped = rev(words, (len(aval_of(words).shape) - 1,))
    part = real_dtype(aval.dtype) if kind_of(aval.dtype) == "c" else aval.dtype
    parts = 2 if kind_of(aval.dtype) == "c" else 1
    return _elements(reshape(swapped, (*aval.shape, parts, _bits(part) // 8)), aval.dtype, part)
