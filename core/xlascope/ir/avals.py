"""Abstract values: the static type of an array. Interned, so ``is`` means equal."""

from __future__ import annotations

import math
import threading
from collections.abc import Hashable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ..dtypes import KINDS, short_name
from ..key_types import KeyType, is_key
from ..lru_cache import FastLRUCache
from ..runtime import jax_coexistence

#: How to pass an xlascope array to jax.
JAX_CONVERSION_HINT = "give jax its values, jax.numpy.asarray(numpy.asarray(x))"

#: Attributes that jax reads from the type of any array.
_ATTRIBUTES_READ_BY_JAX = (
    *("has_qdd", "is_high", "lo_ty", "mat", "memory_space", "strip_weak_type", "to_cotangent_aval"),
    *("to_tangent_aval", "update", "_add", "_getitem", "_mul", "_rmul", "_sub"),
)

#: Names of mesh axes.
AxisNames = frozenset[Hashable]
NO_AXES: AxisNames = frozenset()

_Key = tuple[tuple[int, ...], np.dtype[Any], bool] | tuple[tuple[int, ...], np.dtype[Any], bool, Any, AxisNames]
#: All live abstract values: the unique one for each key.
_live_avals: WeakValueDictionary[_Key, ShapedArray] = WeakValueDictionary()
#: Recently used abstract values, as strong references with a fast lookup.
_recent_avals: FastLRUCache[_Key, ShapedArray] = FastLRUCache(8192)
_intern_lock = threading.RLock()


class ShapedArray:
    """Abstract value of an array: shape, dtype, and whether the dtype is weak (that of a Python scalar).

    Where axes of a mesh are explicit, the type also says along which of them values are sharded. In a shard_map that
    checks its results (``check_vma``), it says along which axes of the mesh values may differ. There is one object for
    each of these combinations, so abstract values are compared by identity. jaxlib's C++ reads the attributes
    ``shape``, ``dtype`` and ``weak_type``.
    """

    __slots__ = ("__weakref__", "dtype", "explicit", "shape", "varying", "weak_type")

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    weak_type: bool
    #: The sharding along explicit mesh axes, a NamedSharding with an entry for each axis; None where values are
    #: unsharded along all of these.
    explicit: Any
    #: The manual mesh axes along which devices may have different values; empty outside of a checked shard_map.
    varying: AxisNames

    def __new__(cls, shape: tuple[int, ...], dtype: Any, weak_type: bool = False) -> ShapedArray:
        return make_aval(tuple(shape), _as_dtype(dtype), weak_type)

    @property
    def ndim(self) -> int:
        """Return the number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)

    def str_short(self) -> str:
        """Return the type in jaxpr notation.

        >>> make_aval((2, 3), np.dtype("float32")).str_short()
        'f32[2,3]'
        """
        return f"{short_name(self.dtype)}[{self._sizes_text()}]{self._varying_text()}"

    @property
    def sharding(self) -> Any:
        """Return the sharding along explicit mesh axes, a NamedSharding; None if there is none."""
        if self.explicit is None:
            _raise_if_jax_is_present(self)
        return self.explicit

    @property
    def vma(self) -> AxisNames:
        """Return the mesh axes along which values may vary inside a shard_map (jax's "varying manual axes")."""
        if not self.varying:
            _raise_if_jax_is_present(self)
        return self.varying

    def _sizes_text(self) -> str:
        if self.explicit is None:
            return ",".join(map(str, self.shape))
        return ",".join(
            f"{size}{_mesh_axes_text(part)}" for size, part in zip(self.shape, self.explicit.spec, strict=True)
        )

    def _varying_text(self) -> str:
        """Return the axes along which values vary, in jax's notation: ``{V:(x,y)}``."""
        if not self.varying:
            return ""
        names = sorted(map(str, self.varying))
        return f"{{V:{names[0] if len(names) == 1 else '({})'.format(','.join(names))}}}"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.dtype.name}[{self._sizes_text()}]{self._varying_text()}{weak})"


def _mesh_axes_text(part: Any) -> str:
    """Return the mesh axes that an axis is sharded along, in the notation of types: ``@x``, ``@(x,y)``.

    ``part`` is the entry of a partition spec for that axis: a name, a tuple of names, or None.
    """
    if part is None:
        return ""
    return f"@({','.join(map(str, part))})" if isinstance(part, tuple) else f"@{part}"


def _raise_if_jax_is_present(aval: ShapedArray) -> None:
    if jax_coexistence.is_present():
        raise TypeError(
            f"jax was given an array of xlascope, {aval.str_short()}. It computes with its own arrays and tracers "
            f"only: {JAX_CONVERSION_HINT}"
        )


def _make_refusing_property(name: str) -> property:
    """Return a property that raises AttributeError, or TypeError with advice when jax is in the process."""

    def refuse(self: ShapedArray) -> None:
        _raise_if_jax_is_present(self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    return property(refuse)


for _name in _ATTRIBUTES_READ_BY_JAX:
    setattr(ShapedArray, _name, _make_refusing_property(_name))


#: The unique object for each dtype: NumPy sometimes makes copies of its own dtypes.
_CANONICAL_DTYPES = {dtype: dtype for dtype in KINDS}


def make_aval(shape: tuple[int, ...], dtype: np.dtype[Any], weak_type: bool = False) -> ShapedArray:
    """Return the unique abstract value with this shape, dtype and weakness.

    >>> make_aval((3,), np.dtype("float32")) is make_aval((3,), np.dtype("float32"))
    True
    """
    key = (shape, dtype, weak_type)
    aval = _recent_avals.get(key)
    return _intern(key) if aval is None else aval


def _intern(key: _Key) -> ShapedArray:
    """Return the live abstract value for a key, or a new one.

    The key is (shape, dtype, weak type) and, unless both are empty, the explicit sharding and the varying axes.
    """
    with _intern_lock:
        aval = _live_avals.get(key)
        if aval is None:
            aval = object.__new__(ShapedArray)
            aval.shape, dtype, aval.weak_type, *more = key
            aval.explicit, aval.varying = more or (None, NO_AXES)
            aval.dtype = _CANONICAL_DTYPES.get(dtype, dtype)
            aval = _live_avals.setdefault(key, aval)
        return _recent_avals.insert(key, aval)


def _as_dtype(dtype: Any) -> Any:
    return dtype if is_key(dtype) else np.dtype(dtype)


def with_explicit_sharding(aval: ShapedArray, explicit: Any) -> ShapedArray:
    """Return the type with the sharding ``explicit`` along explicit mesh axes.

    ``explicit`` is a NamedSharding with an entry for each axis, or None for no sharding.
    """
    return aval if explicit is aval.explicit else _make(aval.shape, aval.dtype, aval.weak_type, explicit, aval.varying)


def with_varying_axes(aval: ShapedArray, axes: AxisNames) -> ShapedArray:
    """Return the type of values that may vary along exactly these mesh axes.

    >>> sorted(with_varying_axes(make_aval((3,), np.dtype("float32")), frozenset({"i"})).varying)
    ['i']
    """
    return aval if axes == aval.varying else _make(aval.shape, aval.dtype, aval.weak_type, aval.explicit, axes)


def union_of_varying_axes(types: Sequence[ShapedArray]) -> AxisNames:
    """Return the mesh axes along which values of one of some types may vary."""
    union = NO_AXES
    for aval in types:
        if aval.varying:
            union |= aval.varying
    return union


def is_same_type(a: ShapedArray, b: ShapedArray) -> bool:
    """Return whether two types differ by nothing but being weak and the mesh axes along which values vary."""
    return with_varying_axes(strip_weak_type(a), NO_AXES) is with_varying_axes(strip_weak_type(b), NO_AXES)


def _make(
    shape: tuple[int, ...], dtype: np.dtype[Any], weak_type: bool, explicit: Any, varying: AxisNames
) -> ShapedArray:
    if explicit is None and not varying:
        return make_aval(shape, dtype, weak_type)
    key = (shape, dtype, weak_type, explicit, varying)
    return _recent_avals.get(key) or _intern(key)


def physical_aval(aval: ShapedArray) -> ShapedArray:
    """Return the physical type: for typed keys that of their words, along a new last axis; else the type itself.

    >>> from xlascope.key_types import KEY_TYPES
    >>> physical_aval(make_aval((3,), KEY_TYPES["threefry2x32"])).str_short()
    'u32[3,2]'
    """
    kind: Any = aval.dtype
    return make_aval((*aval.shape, kind.words), _KEY_WORD_DTYPE) if kind.__class__ is KeyType else aval


_KEY_WORD_DTYPE = np.dtype(np.uint32)


def strip_weak_type(aval: ShapedArray) -> ShapedArray:
    """Return the abstract value without weak type."""
    return _make(aval.shape, aval.dtype, False, aval.explicit, aval.varying) if aval.weak_type else aval


class ShapeDtypeStruct:
    """Shape and dtype without values, which stand for an array when a function is traced.

    A program that is lowered for one with a ``sharding`` takes an array of that sharding. Raises ValueError for the
    dtype None and for a sharding that is none.
    """

    __slots__ = ("dtype", "shape", "sharding", "weak_type")

    def __init__(self, shape: Sequence[int], dtype: Any, weak_type: bool = False, *, sharding: Any = None) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct takes a dtype, got None")
        if sharding is not None and not hasattr(sharding, "device_set"):
            raise ValueError(f"ShapeDtypeStruct takes a sharding such as NamedSharding(mesh, spec), got {sharding!r}")
        self.shape = tuple(shape)
        self.dtype = _as_dtype(dtype)
        self.weak_type = weak_type
        self.sharding = sharding

    @classmethod
    def like(cls, x: Any) -> ShapeDtypeStruct:
        """Return the shape, dtype, weak type and sharding of an array, or of a ShapeDtypeStruct."""
        return cls(x.shape, x.dtype, bool(getattr(x, "weak_type", False)), sharding=getattr(x, "sharding", None))

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """Return the same with other values of arguments: ``x.update(shape=(3,))``."""
        arguments = {"shape": self.shape, "dtype": self.dtype, "weak_type": self.weak_type, "sharding": self.sharding}
        return ShapeDtypeStruct(**(arguments | changes))

    @property
    def ndim(self) -> int:
        """Return the number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a ShapeDtypeStruct without axes")
        return self.shape[0]

    def __repr__(self) -> str:
        sharding = "" if self.sharding is None else f", sharding={self.sharding}"
        weak_type = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{sharding}{weak_type})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.sharding, bool(self.weak_type)
