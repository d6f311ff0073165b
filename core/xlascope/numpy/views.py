"""Reinterpretation of the bytes of arrays."""

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
    """Return the same bytes read as another dtype; the size of the last axis changes with the item size.

    Booleans are bytes; nonzero bytes are true. Raises ValueError if the bytes of the last axis are not a whole
    number of elements, and for a scalar if the item size differs.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.array([1.0, 2.0]).view("uint16"))
    [    0 16256     0 16384]
    """
    requested, aval = requested_dtype(dtype), aval_of(x)
    old_bits, new_bits = _bits(aval.dtype), _bits(requested)
    if old_bits != new_bits and not aval.shape:
        raise ValueError(
            f"view of an array without axes takes a dtype as wide as its own, {aval.dtype.name}; got {requested.name}"
        )
    if aval.shape and aval.shape[-1] * old_bits % new_bits:
        raise ValueError(
            f"view: {aval.shape[-1]} elements of {aval.dtype.name} along the last axis are not whole elements of "
            f"{requested.name}"
        )
    return x if requested == aval.dtype else _view(x, dtype=requested)


def byteswap(x: Any) -> Any:
    """Return the numbers with their bytes reversed; for complex numbers, in each part separately."""
    part = real_dtype(x.dtype) if kind_of(x.dtype) == "c" else x.dtype
    return x if _bits(part) <= 8 else _byteswap(x)


def _bits(dtype: np.dtype[Any]) -> int:
    """Return the number of bits of an element in memory; a boolean takes a byte."""
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
    """Return the elements with an additional last axis: the two parts of complex numbers; booleans as bytes."""
    kind = kind_of(aval_of(x).dtype)
    rank = len(aval_of(x).shape)
    if kind == "c":
        return concatenate([expand_dims(part, (rank,)) for part in (real(x), imag(x))], rank)
    return expand_dims(convert_element_type(x, np.uint8) if kind == "b" else x, (rank,))


def _words(x: Any, width: int) -> Any:
    """Return the bits of elements as unsigned integers of ``width`` bits."""
    return bitcast_convert_type(x, f"uint{width}")


def _elements(words: Any, dtype: np.dtype[Any], part: np.dtype[Any]) -> Any:
    """Return elements from their words, whose last two axes are the parts, and the words of a part."""
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
