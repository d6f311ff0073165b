"""Types of elements: canonical widths, and the promotion of mixed operands.

Promotion is a lattice walk: the result type of several operands is their least upper bound in the lattice below, where
Python scalars stand as the weak types ``i*``, ``f*``, ``c*`` (the lattice of JAX's type promotion semantics page).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import ml_dtypes
import numpy as np

from .runtime import boot

bfloat16 = np.dtype(ml_dtypes.bfloat16)

#: Direct upper neighbours. Weak types are written as the Python type.
_ABOVE: dict[Any, tuple[Any, ...]] = {
    np.dtype("bool"): (int,),
    int: (np.dtype("uint8"), np.dtype("int8")),
    np.dtype("uint8"): (np.dtype("int16"), np.dtype("uint16")),
    np.dtype("uint16"): (np.dtype("int32"), np.dtype("uint32")),
    np.dtype("uint32"): (np.dtype("int64"), np.dtype("uint64")),
    np.dtype("uint64"): (float,),
    np.dtype("int8"): (np.dtype("int16"),),
    np.dtype("int16"): (np.dtype("int32"),),
    np.dtype("int32"): (np.dtype("int64"),),
    np.dtype("int64"): (float,),
    float: (bfloat16, np.dtype("float16"), complex),
    bfloat16: (np.dtype("float32"),),
    np.dtype("float16"): (np.dtype("float32"),),
    np.dtype("float32"): (np.dtype("float64"), np.dtype("complex64")),
    np.dtype("float64"): (np.dtype("complex128"),),
    complex: (np.dtype("complex64"),),
    np.dtype("complex64"): (np.dtype("complex128"),),
    np.dtype("complex128"): (),
}
_NARROW = {
    np.dtype("int64"): np.dtype("int32"),
    np.dtype("uint64"): np.dtype("uint32"),
    np.dtype("float64"): np.dtype("float32"),
    np.dtype("complex128"): np.dtype("complex64"),
}
_DEFAULT: dict[type, np.dtype[Any]] = {
    bool: np.dtype("bool"),
    int: np.dtype("int64"),
    float: np.dtype("float64"),
    complex: np.dtype("complex128"),
}
_WEAK = {"b": bool, "i": int, "u": int, "f": float, "c": complex, "V": float}
float0: np.dtype[Any] = np.dtype([("float0", np.void, 0)])


def _upwards(node: Any) -> frozenset[Any]:
    return frozenset({node}).union(*(_upwards(above) for above in _ABOVE[node]))


_UPPER = {node: _upwards(node) for node in _ABOVE}


@functools.cache
def _join(nodes: frozenset[Any]) -> Any:
    common = frozenset.intersection(*(_UPPER[node] for node in nodes))
    least = [node for node in common if _UPPER[node] >= common]
    if not least:
        names = " and ".join(sorted(str(node) for node in nodes))
        raise TypeError(f"no type holds both {names}; convert one of them explicitly with astype")
    return least[0]


def canonical(dtype: Any) -> np.dtype[Any]:
    """The dtype that values of ``dtype`` have here: 64-bit types become 32-bit unless ``enable_x64`` is set.

    >>> canonical(float)
    dtype('float32')
    """
    found = _DEFAULT[dtype] if dtype in _DEFAULT_KEYS else np.dtype(dtype)
    return found if boot.enable_x64.value else _NARROW.get(found, found)


_DEFAULT_KEYS = frozenset(_DEFAULT)


def scalar_type(dtype: np.dtype[Any]) -> type:
    """The Python scalar type of a dtype's kind: bool, int, float or complex."""
    return float if dtype == bfloat16 or dtype.name.startswith("float") else _WEAK[dtype.kind]


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Whether ``dtype`` is a real floating-point type, the ml_dtypes ones included."""
    return dtype.kind == "f" or (dtype.kind == "V" and dtype != float0)


def is_differentiable(dtype: np.dtype[Any]) -> bool:
    """Whether values of ``dtype`` have tangents of the same type: the floating-point and complex types."""
    return dtype.kind in "fc" or is_floating(dtype)


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Whether ``dtype`` is a signed or unsigned integer type."""
    return dtype.kind in "iu"


def promote(types: tuple[tuple[np.dtype[Any], bool], ...]) -> tuple[np.dtype[Any], bool]:
    """The (dtype, weak) that operands of those (dtype, weak) meet in.

    >>> promote(((np.dtype("int32"), False), (np.dtype("float32"), True)))
    (dtype('float32'), True)
    >>> promote(((np.dtype("float16"), False), (np.dtype("float32"), True)))
    (dtype('float16'), False)
    """
    return _promote(types, bool(boot.enable_x64.value), boot.numpy_dtype_promotion.value == "strict")


@functools.lru_cache(maxsize=4096)
def _promote(types: tuple[tuple[np.dtype[Any], bool], ...], x64: bool, strict: bool) -> tuple[np.dtype[Any], bool]:
    if len({dtype for dtype, _ in types}) == 1:
        return types[0][0], all(weak for _, weak in types)
    nodes = frozenset(scalar_type(dtype) if weak and dtype.kind != "b" else dtype for dtype, weak in types)
    if strict:
        _check_strict(nodes)
    node = _join(nodes)
    if isinstance(node, type):
        return canonical(node), True
    return canonical(node), False


_ORDER = (bool, int, float, complex)


def _check_strict(nodes: frozenset[Any]) -> None:
    """Under the setting ``strict`` only Python scalars give way, and only to types of their kind or above."""
    types = [node for node in nodes if not isinstance(node, type)]
    kinds = [node for node in nodes if isinstance(node, type)]
    if len(types) > 1 or any(not holds_strictly(types[0], kind) for kind in kinds if types):
        raise promotion_error(nodes)


def holds_strictly(dtype: np.dtype[Any], kind: type) -> bool:
    """Whether a Python scalar may meet an array of ``dtype`` under the setting ``numpy_dtype_promotion="strict"``."""
    own = scalar_type(dtype)
    return own is bool if kind is bool else own is not bool and _ORDER.index(kind) <= _ORDER.index(own)


def promotion_error(nodes: Iterable[Any]) -> TypePromotionError:
    """The error for operands that the setting ``strict`` keeps apart."""
    names = " and ".join(sorted(f"a Python {n.__name__}" if isinstance(n, type) else n.name for n in nodes))
    return TypePromotionError(
        f"Input dtypes {names} do not meet in a common dtype under numpy_dtype_promotion='strict'. Convert one of them "
        "(astype), or set numpy_dtype_promotion to 'standard'."
    )


class TypePromotionError(ValueError):
    """Operands of different dtypes met where the setting ``numpy_dtype_promotion`` does not let them."""


def short_name(dtype: np.dtype[Any]) -> str:
    """The name of a dtype in jaxprs: ``f32``, ``i32``, ``u8``, ``bf16``, ``bool``.

    >>> short_name(np.dtype("float32"))
    'f32'
    """
    if dtype == float0:
        return "float0"
    name = dtype.name
    for long, short in (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")):
        name = name.replace(long, short) if name.startswith(long) else name
    return name
