"""Requirements of operations on their operands, and the errors for violations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_kind
from ..errors import see
from ..ir.avals import ShapedArray
from ..ir.markers import LinearInput
from ..ir.user_frames import user_line, where_text
from ..trace.values import aval_of
from .integer_arguments import whole_number

#: The letters by which operations state accepted kinds of dtypes; "i" includes unsigned integers.
_KIND_NAMES = {"b": "bool", "i": "integer", "s": "signed integer", "f": "floating-point", "c": "complex"}
_MATCHING_KINDS = {"b": "b", "i": "is", "u": "i", "f": "f", "c": "c"}


#: The widest elements have 16 bytes, and sizes in bytes have 63 bits.
_MAX_ELEMENTS = 1 << 59


def require_kind(name: str, dtype: np.dtype[Any], kinds: str) -> None:
    """Raise TypeError unless the dtype is of one of the ``kinds``.

    These are letters: b (bool), i (any integer), s (signed integer), f (floating-point), c (complex). ``name`` is the
    operation's name, for the message.
    """
    if not any(kind in kinds for kind in _MATCHING_KINDS.get(dtype_kind(dtype), "")):
        allowed = " or ".join(words for kind, words in _KIND_NAMES.items() if kind in kinds)
        raise TypeError(
            f"{name} takes operands of {allowed} type, got {dtype.name}{where_text(user_line())}; convert with astype"
        )


def require_axes(name: str, axes: Sequence[int], shape: tuple[int, ...]) -> None:
    """Raise ValueError unless ``axes`` are distinct axes of ``shape``, TypeError if one is not an integer.

    ``name`` is the operation's name, for the message.
    """
    for axis in axes:
        if axis.__class__ is not int:
            whole_number(axis, f"each of the axes of {name}")
        if not 0 <= axis < len(shape):
            raise ValueError(f"{name} along axis {axis} of shape {shape}, which has {len(shape)} axes")
    if len(axes) > 1 and len(set(axes)) < len(axes):
        raise ValueError(f"{name} along axes {tuple(axes)}: an axis is named twice")


def require_shape(name: str, shape: Sequence[int]) -> None:
    """Raise TypeError unless all sizes are at least 0, ValueError for more elements than bytes can address.

    ``name`` is the operation's name, for the message.
    """
    if any(size < 0 for size in shape):
        raise TypeError(f"{name} to shape {tuple(shape)}: sizes are at least 0")
    if math.prod(shape) > _MAX_ELEMENTS:
        raise ValueError(f"{name} to shape {tuple(shape)}: an array has at most {_MAX_ELEMENTS} elements")


def require_index_scalars(name: str, indices: Sequence[ShapedArray]) -> None:
    """Raise TypeError unless all types in ``indices`` are scalars of one integer dtype.

    ``name`` is the operation's name, for the message.
    """
    require_indices(name, indices)
    for aval in indices:
        if aval.shape:
            raise TypeError(f"{name} takes an index without axes for each axis, got one of shape {aval.shape}")


def require_indices(name: str, indices: Sequence[ShapedArray]) -> None:
    """Raise TypeError unless all types in ``indices`` have one integer dtype.

    ``name`` is the operation's name, for the message.
    """
    if len({aval.dtype for aval in indices}) > 1:
        names = ", ".join(aval.dtype.name for aval in indices)
        raise TypeError(f"{name} takes indices of one dtype, got {names}; convert with astype")
    for aval in indices:
        if dtype_kind(aval.dtype) not in "iu":
            raise TypeError(f"{name} takes indices of integer type, got {aval.dtype.name}; convert with astype")


def require_one_dtype(name: str, x: ShapedArray, y: ShapedArray) -> None:
    """Raise TypeError unless two types have the same dtype.

    ``name`` is the operation's name, for the message.
    """
    if x.dtype != y.dtype:
        raise TypeError(
            f"{name} takes operands of one dtype, got {x.dtype.name} and {y.dtype.name}{where_text(user_line())}. "
            f"Convert one of them with astype.{see('dtype-mismatch')}"
        )


def broadcast_shape(name: str, x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of an elementwise result of operands of shapes ``x`` and ``y``.

    Equal ranks broadcast axes of size 1; otherwise one of the operands has no axes. Raises TypeError for other shapes.
    """
    if x == y or not y:
        return x
    if not x:
        return y
    if len(x) == len(y) and all(a == b or a == 1 or b == 1 for a, b in zip(x, y, strict=True)):
        return tuple(b if a == 1 else a for a, b in zip(x, y, strict=True))
    raise TypeError(
        f"{name} got operands whose shapes do not fit: {x} and {y}{where_text(user_line())}{see('shape-mismatch')}"
    )


def is_linear(x: Any) -> bool:
    """Return whether an operand of a transpose rule is a marker for one whose cotangent is requested."""
    return x.__class__ is LinearInput


def type_of(x: Any) -> ShapedArray:
    """Return the type of an operand of a transpose rule, be it a marker or a value."""
    return x.aval if x.__class__ is LinearInput else aval_of(x)
