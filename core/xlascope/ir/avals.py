"""Abstract values: what is known of an array before the program runs. Interned, so `is` means equal."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ..dtypes import KINDS, short_name
from ..key_types import KeyType, is_key
from ..recent import Recent
from ..runtime import beside

#: What to do with an array of this engine that jax does not take.
WAY_TO_JAX = "give jax its values, jax.numpy.asarray(numpy.asarray(x))"

#: What jax asks of an array's type, whatever it does with the array.
_ASKED_BY_JAX = (
    *("has_qdd", "is_high", "lo_ty", "mat", "memory_space", "strip_weak_type", "to_cotangent_aval"),
    *("to_tangent_aval", "update", "vma", "_add", "_getitem", "_mul", "_rmul", "_sub"),
)

_Key = tuple[tuple[int, ...], np.dtype[Any], bool] | tuple[tuple[int, ...], np.dtype[Any], bool, Any]
#: Those that somebody holds: as long as there is one, it is the only one.
_living: WeakValueDictionary[_Key, ShapedArray] = WeakValueDictionary()
#: Those used last, found by one look and held until others are used.
_recent: Recent[_Key, ShapedArray] = Recent(8192)
_interning = threading.RLock()


class ShapedArray:
    """Shape, dtype, and whether the dtype is weak (came from a Python scalar, and gives way to others).

    Where axes of a mesh are of the kind ``Explicit``, the type also says along which of them values are cut. There is
    one object for each of these combinations, so abstract values are compared by identity.
    jaxlib's C++ reads the attributes ``shape``, ``dtype`` and ``weak_type``.
    """

    __slots__ = ("__weakref__", "dtype", "explicit", "shape", "weak_type")

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    weak_type: bool
    #: How values lie along explicit axes of a mesh, a NamedSharding with an entry for each axis; None where they are
    #: whole along all of these.
    explicit: Any

    def __new__(cls, shape: tuple[int, ...], dtype: Any, weak_type: bool = False) -> ShapedArray:
        return shaped(tuple(shape), _as_dtype(dtype), weak_type)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def str_short(self) -> str:
        """The type in jaxpr notation.

        >>> shaped((2, 3), np.dtype("float32")).str_short()
        'f32[2,3]'
        """
        return f"{short_name(self.dtype)}[{self._sizes_text()}]"

    @property
    def sharding(self) -> Any:
        """How values of the type lie along explicit axes of a mesh, as a NamedSharding; None where nothing is said."""
        if self.explicit is None:
            _refuse_jax(self)
        return self.explicit

    def _sizes_text(self) -> str:
        if self.explicit is None:
            return ",".join(map(str, self.shape))
        return ",".join(f"{size}{_cut_text(part)}" for size, part in zip(self.shape, self.explicit.spec, strict=True))

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.dtype.name}[{self._sizes_text()}]{weak})"


def _cut_text(part: Any) -> str:
    """Along which axes of a mesh an axis is cut, as types show it."""
    if part is None:
        return ""
    return f"@({','.join(map(str, part))})" if isinstance(part, tuple) else f"@{part}"


def _refuse_jax(aval: ShapedArray) -> None:
    if beside.here():
        raise TypeError(
            f"jax was given an array of xlascope, {aval.str_short()}. It computes with its own arrays and tracers "
            f"only: {WAY_TO_JAX}"
        )


def _refuse(name: str) -> property:
    """Nothing of ours; for jax an answer that it does not take for "no"."""

    def refuse(self: ShapedArray) -> None:
        _refuse_jax(self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    return property(refuse)


for _name in _ASKED_BY_JAX:
    setattr(ShapedArray, _name, _refuse(_name))


#: Of equal dtypes the one that all types have, whoever made the first of them: NumPy copies its own here and there.
_SINGLE = {dtype: dtype for dtype in KINDS}


def shaped(shape: tuple[int, ...], dtype: np.dtype[Any], weak_type: bool = False) -> ShapedArray:
    """The one abstract value with this shape, dtype and weakness.

    >>> shaped((3,), np.dtype("float32")) is shaped((3,), np.dtype("float32"))
    True
    """
    key = (shape, dtype, weak_type)
    aval = _recent.get(key)
    return _interned(key) if aval is None else aval


def _interned(key: _Key) -> ShapedArray:
    """The abstract value that somebody still holds, or a new one."""
    with _interning:
        aval = _living.get(key)
        if aval is None:
            aval = object.__new__(ShapedArray)
            aval.shape, dtype, aval.weak_type, *explicit = key
            aval.explicit = explicit[0] if explicit else None
            aval.dtype = _SINGLE.get(dtype, dtype)
            aval = _living.setdefault(key, aval)
        return _recent.keep(key, aval)


def _as_dtype(given: Any) -> Any:
    return given if is_key(given) else np.dtype(given)


def laid(aval: ShapedArray, explicit: Any) -> ShapedArray:
    """The type of values that lie so along explicit axes of a mesh: a NamedSharding with an entry for each axis, or
    None.
    """
    if explicit is None:
        return shaped(aval.shape, aval.dtype, aval.weak_type) if aval.explicit is not None else aval
    key = (aval.shape, aval.dtype, aval.weak_type, explicit)
    return _recent.get(key) or _interned(key)


def in_words(aval: ShapedArray) -> ShapedArray:
    """The type of what holds values of a type: of keys the words, along a last axis; else the type itself.

    >>> from xlascope.key_types import KEY_TYPES
    >>> in_words(shaped((3,), KEY_TYPES["threefry2x32"])).str_short()
    'u32[3,2]'
    """
    kind: Any = aval.dtype
    return shaped((*aval.shape, kind.words), _WORD) if kind.__class__ is KeyType else aval


_WORD = np.dtype(np.uint32)


def strengthened(aval: ShapedArray) -> ShapedArray:
    """The same abstract value with a dtype that does not give way."""
    return laid(shaped(aval.shape, aval.dtype), aval.explicit) if aval.weak_type else aval


class ShapeDtypeStruct:
    """A shape and a dtype without values, to trace with."""

    __slots__ = ("dtype", "shape", "weak_type")

    def __init__(self, shape: Sequence[int], dtype: Any, weak_type: bool = False) -> None:
        self.shape = tuple(shape)
        self.dtype = _as_dtype(dtype)
        self.weak_type = weak_type

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))
