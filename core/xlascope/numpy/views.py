"""Reinterpretation of the bytes of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import dtype_bits, dtype_kind
from ..ir.requested_dtypes import resolve_requested_dtype
from ..operations.comparisons import ne
from ..operations.complex_numbers import complex, imag, real, real_dtype
from ..operations.conversion import convert_element_type, to_bits
from ..operations.shapes import expand_dims, reshape, squeeze
from ..operations.slicing import concatenate, rev, slice_in_dim
from ..trace.values import aval_of
from .jit_wrapped import jit_wrapped


def view(x: Any, dtype: Any) -> Any:
    """Return the same bytes read as another dtype; the size of the last axis changes with the item size.

    Booleans are bytes; nonzero bytes are true. Raises ValueError if the bytes of the last axis are not a whole
    number of elements, and for a scalar if the item size differs.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.array([1.0, 2.0]).view("uint16"))
    [    0 16256     0 16384]
    """
    requested, aval = resolve_requested_dtype(dtype), aval_of(x)
    old_bits, new_bits = _element_bits(aval.dtype), _element_bits(requested)
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
    part = real_dtype(x.dtype) if dtype_kind(x.dtype) == "c" else x.dtype
    return x if _element_bits(part) <= 8 else _byteswap(x)


def _element_bits(dtype: np.dtype[Any]) -> int:
    """Return the number of bits of an element in memory; a boolean takes a byte."""
    return 8 if dtype_kind(dtype) == "b" else dtype_bits(dtype)


@jit_wrapped("dtype")
def _view(x: Any, dtype: np.dtype[Any]) -> Any:
    aval = aval_of(x)
    parts, part = _to_parts(x), real_dtype(dtype) if dtype_kind(dtype) == "c" else dtype
    width = min(_element_bits(aval_of(parts).dtype), _element_bits(part))
    words = _to_words(parts, width)
    shape = (*aval.shape[:-1], aval.shape[-1] * _element_bits(aval.dtype) // _element_bits(dtype)) if aval.shape else ()
    return _from_words(
        reshape(words, (*shape, _element_bits(dtype) // _element_bits(part), _element_bits(part) // width)), dtype, part
    )


def _to_parts(x: Any) -> Any:
    """Return the elements with an additional last axis: the two parts of complex numbers; booleans as bytes."""
    kind = dtype_kind(aval_of(x).dtype)
    rank = len(aval_of(x).shape)
    if kind == "c":
        return concatenate([expand_dims(part, (rank,)) for part in (real(x), imag(x))], rank)
    return expand_dims(convert_element_type(x, np.uint8) if kind == "b" else x, (rank,))


def _to_words(x: Any, width: int) -> Any:
    """Return the bits of elements as unsigned integers of ``width`` bits."""
    return to_bits(x, np.dtype(f"uint{width}"))


def _from_words(words: Any, dtype: np.dtype[Any], part: np.dtype[Any]) -> Any:
    """Return elements of ``dtype`` from words, unsigned integers.

    The last two axes of ``words`` are the parts of an element (two for complex numbers), and the words of a part,
    whose dtype is ``part``.
    """
    shape = aval_of(words).shape
    if shape[-1] == 1:
        words = reshape(words, shape[:-1])
    if dtype_kind(dtype) == "b":
        return ne(reshape(words, shape[:-2]), np.uint8(0))
    parts = to_bits(words, part)
    if dtype_kind(dtype) != "c":
        return reshape(parts, shape[:-2])
    axis = len(shape) - 2
    return complex(*(squeeze(slice_in_dim(parts, i, i + 1, axis), (axis,)) for i in (0, 1)))


@jit_wrapped()
def _byteswap(x: Any) -> Any:
    aval = aval_of(x)
    words = _to_words(_to_parts(x), 8)
    swapped = rev(words, (len(aval_of(words).shape) - 1,))
    part = real_dtype(aval.dtype) if dtype_kind(aval.dtype) == "c" else aval.dtype
    parts = 2 if dtype_kind(aval.dtype) == "c" else 1
    return _from_words(reshape(swapped, (*aval.shape, parts, _element_bits(part) // 8)), aval.dtype, part)
