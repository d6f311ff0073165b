"""Convolution and correlation of vectors."""

from __future__ import annotations

from typing import Any

from ..dtypes import dtype_kind
from ..operations.complex_numbers import conj
from ..operations.convolution import conv_general_dilated
from ..operations.shapes import expand_dims, squeeze
from ..operations.slicing import rev
from ..trace.source import here
from ..trace.values import aval_of
from .jit_wrapped import jit_wrapped
from .promotion import as_dtype, promote_dtypes_inexact
from .shaping import shape_of


def convolve(a: Any, v: Any, mode: str = "full", *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Return the convolution of two vectors, Σ a[j] v[k - j], in floating-point or complex numbers.

    ``mode`` "full" gives all positions where the vectors overlap, "same" as many as the longer one has, centered,
    and "valid" those where they overlap completely. Raises ValueError for arrays that are not nonempty vectors,
    and another mode.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.convolve(jnp.array([1, 2, 3]), jnp.array([1, 1])))
    [1. 3. 5. 3.]
    """
    return _convolve(a, v, name="convolve", mode=_require_mode(mode), precision=precision, wide=preferred_element_type)


def correlate(a: Any, v: Any, mode: str = "valid", *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Return the correlation of two vectors: Σ a[j + k] conj(v[j]); ``mode`` is that of :func:`convolve`.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.correlate(jnp.array([1, 2, 3]), jnp.array([0, 1])))
    [2. 3.]
    """
    return _convolve(a, v, name="correlate", mode=_require_mode(mode), precision=precision, wide=preferred_element_type)


def _require_mode(mode: Any) -> str:
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode is one of 'full', 'same' and 'valid', got {mode!r}{here()}")
    return str(mode)


@jit_wrapped("name", "mode", "precision", "wide")
def _convolve(a: Any, v: Any, name: str, mode: str, precision: Any, wide: Any) -> Any:
    """Return the convolution or correlation of two vectors, as ``name`` says; ``mode`` is checked already.

    ``wide`` is the preferred element type. Raises ValueError for arrays that are not nonempty vectors.
    """
    a, v = (as_dtype(x, aval_of(x).dtype) for x in promote_dtypes_inexact((a, v)))
    shapes = shape_of(a), shape_of(v)
    if any(len(shape) != 1 for shape in shapes):
        raise ValueError(f"{name} takes vectors, got shapes {shapes[0]} and {shapes[1]}{here()}")
    if not shapes[0][0] or not shapes[1][0]:
        raise ValueError(f"{name} takes vectors with elements, got shapes {shapes[0]} and {shapes[1]}{here()}")
    is_reversed = False
    if shapes[0][0] < shapes[1][0]:
        a, v = v, a
        is_reversed = name == "correlate"
        a = conj(a) if is_reversed and dtype_kind(aval_of(a).dtype) == "c" else a
    elif name == "correlate" and dtype_kind(aval_of(v).dtype) == "c":
        v = conj(v)
    v = rev(v, (0,)) if name == "convolve" else v
    size = shape_of(v)[0]
    padding = {"full": (size - 1, size - 1), "same": (size // 2, size - size // 2 - 1), "valid": (0, 0)}[mode]
    result = conv_general_dilated(
        expand_dims(a, (0, 1)),
        expand_dims(v, (0, 1)),
        (1,),
        [padding],
        precision=precision,
        preferred_element_type=wide,
    )
    result = squeeze(result, (0, 1))
    return rev(result, (0,)) if is_reversed else result
