"""Access to the elements of an array of any kind in pieces: NumPy's, xlascope's, jax's, sharded or not, typed keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from ...dtypes import dtype_kind
from ...errors import TracerError
from ...records.plain import plain
from ...xla.arrays.memory_check import available_bytes

#: What the elements of an array are.
Kind = Literal["float", "complex", "int", "bool", "key"]
#: The largest share of the free memory that one array on another device than a CPU takes as a copy on the host, and
#: that all values together take that are computed again.
MAX_FREE_MEMORY_SHARE = 0.05
#: Free bytes where nobody knows them.
UNKNOWN_FREE_BYTES = 1 << 32
#: The number of elements that are converted at once. Temporary arrays take 8 bytes for each, a few times, and stay in
#: the processor's cache.
CHUNK_SIZE = 1 << 17

_KINDS: dict[str, Kind] = {"f": "float", "c": "complex", "i": "int", "u": "int", "b": "bool"}
#: The bytes of the widest elements whose statistics are exact: long doubles are wider.
MAX_ITEM_BYTES: dict[Kind, int] = {"float": 8, "complex": 16, "int": 8, "bool": 1, "key": 8}
#: One index of an array: an integer or a slice for each axis.
Index = tuple[int | slice, ...]


class UnviewableArrayError(TypeError):
    """Error for what is no array of numbers, booleans or keys, or whose elements cannot be read here."""


def free_bytes() -> int:
    """Return the free memory of the host, in bytes."""
    return available_bytes(_HostMemory) or UNKNOWN_FREE_BYTES


class _HostMemory:
    platform = "cpu"


class HostArray:
    """Elements of an array, read in pieces; nothing is copied where they are in the host's memory already.

    ``shape``, ``dtype`` (its name) and ``nbytes`` are those of the array, ``kind`` says what the elements are and
    ``sharding`` how they lie on devices (``""`` for NumPy). The words of keys are one more axis, the last of ``shape``.
    Raises UnviewableArrayError for other objects.
    """

    def __init__(self, array: Any) -> None:
        self.dtype = str(getattr(array, "dtype", ""))
        words = getattr(array, "words", None) if hasattr(array, "aval") else None
        words = getattr(array, "_base_array", None) if words is None else words
        self.sharding = _describe_sharding(array)
        if words is not None:
            self.kind: Kind = "key"
            self._parts = _read_parts(words)
        else:
            self._parts = _read_parts(array)
        physical = self._parts[0][1]
        if words is None:
            self.dtype = str(physical.dtype)
            self.kind = _kind_of(physical.dtype)
        self.shape: tuple[int, ...] = tuple(getattr(array if words is None else words, "shape", physical.shape))
        self.physical_dtype = physical.dtype
        self.size = int(np.prod(self.shape, dtype=np.int64))
        self.nbytes = self.size * physical.dtype.itemsize

    def read(self, index: Index) -> Any:
        """Return the elements at an index as a NumPy array, a view where that is possible; slices have no step."""
        if len(self._parts) == 1:
            return np.asarray(self._parts[0][1][index])
        starts = [part if isinstance(part, int) else part.indices(size)[0] for part, size in self._bounds(index)]
        stops = [part + 1 if isinstance(part, int) else part.indices(size)[1] for part, size in self._bounds(index)]
        result = np.empty([stop - start for start, stop in zip(starts, stops, strict=True)], self.physical_dtype)
        for bounds, data in self._parts:
            low = [max(start, low) for start, (low, _) in zip(starts, bounds, strict=True)]
            high = [min(stop, high) for stop, (_, high) in zip(stops, bounds, strict=True)]
            if all(first < last for first, last in zip(low, high, strict=True)):
                inner = tuple(slice(a - first, b - first) for a, b, (first, _) in zip(low, high, bounds, strict=True))
                outer = tuple(slice(a - start, b - start) for a, b, start in zip(low, high, starts, strict=True))
                result[outer] = data[inner]
        return result[tuple(0 if isinstance(part, int) else slice(None) for part in index)]

    def _bounds(self, index: Index) -> Iterator[tuple[int | slice, int]]:
        return zip(index, self.shape, strict=True)

    def iterate_chunks(self, most: int = CHUNK_SIZE) -> Iterator[tuple[int, Any]]:
        """Yield all elements in order, in flat pieces of at most ``most``, each with the number of its first."""
        for index, first in _chunk_indices(self.shape, most):
            yield first, np.ravel(self.read(index))


def _kind_of(dtype: Any) -> Kind:
    """Return what elements of a dtype are; raise UnviewableArrayError for those without statistics."""
    kind = _KINDS.get(dtype_kind(dtype))
    if kind is None:
        raise UnviewableArrayError(f"look takes an array of numbers, booleans or keys, got elements of type {dtype}")
    if dtype.itemsize > MAX_ITEM_BYTES[kind]:
        fix = np.dtype(np.complex128 if kind == "complex" else np.float64)
        raise UnviewableArrayError(
            f"look takes numbers of 64 bits at most, got {dtype}: look at x.astype({str(fix)!r})"
        )
    return kind


def to_numbers(values: Any) -> Any:
    """Return elements in a dtype of NumPy's own in which each has its value: small floats as float32."""
    dtype = values.dtype
    if dtype.isbuiltin == 1:
        return values
    if dtype.isbuiltin == 0:  # another order of bytes
        return values.astype(dtype.newbyteorder("="))
    kind = dtype_kind(dtype)
    return values.astype(np.float32 if kind == "f" else np.int8 if kind == "i" else np.uint8)


def _chunk_indices(shape: Sequence[int], most: int) -> Iterator[tuple[Index, int]]:
    """Yield indices of pieces that are contiguous in row-major order, each with the number of its first element."""
    if 0 in shape:
        return
    axis, inner = len(shape), 1
    while axis > 0 and inner * shape[axis - 1] <= most:
        axis -= 1
        inner *= shape[axis]
    if axis == 0:
        yield (slice(None),) * len(shape), 0
        return
    rows = max(1, most // inner)
    rest: Index = (slice(None),) * (len(shape) - axis)
    length = shape[axis - 1]
    for number, outer in enumerate(np.ndindex(*shape[: axis - 1])):
        for start in range(0, length, rows):
            piece = slice(start, min(length, start + rows))
            yield (*outer, piece, *rest), (number * length + start) * inner


Part = tuple[tuple[tuple[int, int], ...], Any]


def _read_parts(array: Any) -> list[Part]:
    """Return the pieces in which the elements of an array are in the host's memory, with the bounds of each."""
    try:
        if hasattr(array, "is_deleted") and array.is_deleted():
            raise UnviewableArrayError("the array was donated or deleted: look at it before, or at a copy of it")
        if hasattr(array, "addressable_shards"):
            return _read_shards(array)
        if not hasattr(array, "__array__") and not isinstance(array, bool | int | float | complex | list | tuple):
            name = type(array).__name__
            raise UnviewableArrayError(f"look takes an array of numbers, booleans or keys, got {name}")
        if isinstance(array, np.ma.MaskedArray):
            raise UnviewableArrayError(
                "look takes an array without masked elements: look at x.filled(numpy.nan), or at all elements, x.data"
            )
        values = np.asarray(array)
    except UnviewableArrayError:
        raise
    except TracerError:
        raise UnviewableArrayError(
            "look takes an array with values, and this one is traced: call it outside of jit, grad and vmap, or run "
            "%values f(x), whose values can be looked into"
        ) from None
    except Exception as error:
        name = type(array).__name__
        raise UnviewableArrayError(f"NumPy makes no array of this {name}: {plain(str(error))}") from error
    return [(tuple((0, size) for size in values.shape), values)]


def _read_shards(array: Any) -> list[Part]:
    if not array.is_fully_addressable:
        raise UnviewableArrayError(
            "the array is on devices of several processes: look at x.addressable_shards[0].data in each of them"
        )
    if any(device.platform != "cpu" for device in array.devices()):
        limit = MAX_FREE_MEMORY_SHARE * free_bytes()
        if array.nbytes > limit:
            raise UnviewableArrayError(
                f"the array has {array.nbytes / 1e9:.2f} GB, and a copy on the host may take {limit / 1e9:.2f} GB "
                f"({MAX_FREE_MEMORY_SHARE:.0%} of the free memory): look at a slice of it, x[0]"
            )
    parts: dict[Any, Part] = {}
    for shard in array.addressable_shards:
        bounds = tuple(part.indices(size)[:2] for part, size in zip(shard.index, array.shape, strict=True))
        if bounds not in parts:
            parts[bounds] = bounds, np.asarray(shard.data)
    return list(parts.values())


def _describe_sharding(array: Any) -> str:
    """Return on which devices an array lies, and how; "" for an array of NumPy."""
    sharding = getattr(array, "sharding", None)
    if sharding is None:
        return ""
    devices = sorted(map(str, sharding.device_set))
    if len(devices) == 1:
        return devices[0]
    spec = getattr(sharding, "spec", None)
    lies = "replicated" if getattr(sharding, "is_fully_replicated", False) else f"sharded {spec}" if spec else "sharded"
    return f"{lies} on {len(devices)} devices, {devices[0]} …"
