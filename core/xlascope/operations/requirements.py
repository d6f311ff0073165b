"""What operations require of their operands, and the errors that say so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import is_floating
from ..errors import see
from ..ir.avals import ShapedArray
from ..ir.markers import LinearInput
from ..ir.sources import user_line, where_text
from ..trace.values import aval_of

_KINDS = {bool: "bool", int: "integer", float: "floating-point", complex: "complex"}


def require_kind(name: str, dtype: np.dtype[Any], kinds: str) -> None:
    """Raise TypeError unless the dtype's kind (b, i, f, c) is one of ``kinds``."""
    kind = "f" if is_floating(dtype) else "i" if dtype.kind in "iu" else dtype.kind
    if kind not in kinds:
        wanted = " or ".join(
            _KINDS[t] for k, t in (("b", bool), ("i", int), ("f", float), ("c", complex)) if k in kinds
        )
        raise TypeError(f"{name} takes operands of {wanted} type, got {dtype.name}; convert with astype")


def require_axes(name: str, axes: Sequence[int], shape: tuple[int, ...]) -> None:
    """Raise ValueError unless all ``axes`` are axes of ``shape``."""
    for axis in axes:
        if not 0 <= axis < len(shape):
            raise ValueError(f"{name} along axis {axis} of shape {shape}, which has {len(shape)} axes")


def require_indices(name: str, indices: Sequence[ShapedArray]) -> None:
    """Raise TypeError unless all ``indices`` are of integer type."""
    for aval in indices:
        if aval.dtype.kind not in "iu":
            raise TypeError(f"{name} takes indices of integer type, got {aval.dtype.name}; convert with astype")


def require_one_dtype(name: str, x: ShapedArray, y: ShapedArray) -> None:
    """Raise TypeError unless two operands have the same dtype."""
    if x.dtype != y.dtype:
        raise TypeError(
            f"{name} takes operands of one dtype, got {x.dtype.name} and {y.dtype.name}{where_text(user_line())}. "
            f"Convert one of them with astype.{see('dtype-mismatch')}"
        )


def stretched(name: str, x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an elementwise result: equal ranks with axes of size 1 stretched, or one operand without axes."""
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
    """Whether an operand of a transpose rule is one whose cotangent is asked for."""
    return x.__class__ is LinearInput


def type_of(x: Any) -> ShapedArray:
    """The type of an operand of a transpose rule, linear or not."""
    return x.aval if x.__class__ is LinearInput else aval_of(x)
