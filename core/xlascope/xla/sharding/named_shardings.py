"""Shardings of an array over the devices of a mesh: by axis names for users, as tiles for XLA and jaxlib.

A :class:`NamedSharding` is independent of an array's rank, XLA's tilings are not. So an array holds a
:class:`RankedSharding`, XLA's sharding for its rank with the users' sharding as an attribute: one object for equal
ones, which jaxlib compares when it looks up a call.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from jaxlib import _jax, xla_client

from ...errors import see
from ...ir.avals import ShapedArray, laid
from ...ir.sources import compose_message, user_line, where_text
from ...recent import Recent
from ..devices.backend import devices_list
from .meshes import AxisType, Mesh, PartitionSpec, check_spec, names_of

_REPLICATED = xla_client.OpSharding.Type.REPLICATED
Index = tuple[slice, ...]


class OnSeveral:
    """Sharding of arrays over several devices, in their order."""

    devices: tuple[Any, ...]

    def cuts(self, rank: int) -> tuple[int, ...]:
        """Return into how many parts each axis of an array of that rank is partitioned."""
        raise NotImplementedError

    def tiles(self, rank: int) -> Any:
        """Return XLA's sharding of an array of that rank."""
        raise NotImplementedError

    @property
    def memory_kind(self) -> str:
        """Return the kind of memory that the array is in."""
        return "device"

    @property
    def num_devices(self) -> int:
        """Return the number of devices."""
        return len(self.devices)

    @property
    def device_set(self) -> set[Any]:
        """Return the devices as a set."""
        return set(self.devices)

    @property
    def addressable_devices(self) -> set[Any]:
        """Return the devices of this process."""
        return {device for device in self.devices if device.process_index == device.client.process_index()}

    @property
    def is_fully_addressable(self) -> bool:
        """Return whether all devices belong to this process."""
        return len(self.addressable_devices) == len(self.devices)

    @property
    def is_fully_replicated(self) -> bool:
        """Return whether each device has the whole array."""
        raise NotImplementedError

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of each device's shard; raises ValueError if the array has no equal shards."""
        self.check_shape("shard_shape", global_shape)
        counts = self.cuts(len(global_shape))
        return tuple(size // parts for size, parts in zip(global_shape, counts, strict=True))

    def check_shape(self, user: str, shape: Sequence[int]) -> None:
        """Raise ValueError if a shape cannot be partitioned evenly, for which XLA would abort the process."""
        for axis, (size, parts) in enumerate(zip(shape, self.cuts(len(shape)), strict=True)):
            if size % parts:
                over = self.parts_text(axis, parts)
                said = f"{user}: axis {axis} of size {size} cannot be split evenly over {over}."
                fix = f"Pad it to {-(-size // parts) * parts}, or use P() to have it whole on every device."
                raise ValueError(compose_message(said, fix) + see("shardings"))

    def parts_text(self, axis: int, parts: int) -> str:
        """Return what an axis is split over, for a message."""
        return f"{parts} parts, as {self} has it"

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Any, Index]:
        """Return the shard of an array on each device, as slices."""
        shape = tuple(global_shape)
        self.check_shape("devices_indices_map", shape)
        return dict(zip(self.devices, self.indices(shape), strict=True))

    def addressable_devices_indices_map(self, global_shape: Sequence[int]) -> dict[Any, Index]:
        """Return the shard of an array on each device of this process, as slices."""
        local = self.addressable_devices
        return {device: index for device, index in self.devices_indices_map(global_shape).items() if device in local}

    def indices(self, shape: tuple[int, ...]) -> list[Index]:
        """Return the slices of each device's shard, in the order of the devices."""
        full_index: Index = (slice(None),) * len(shape)
        hlo = self.tiles(len(shape))
        if hlo.is_replicated():
            return [full_index] * len(self.devices)
        counts, coordinates = _places(hlo)
        result = []
        for i in range(len(self.devices)):
            sides = zip(shape, counts, coordinates, strict=False)
            result.append(tuple(_side(size, count, int(positions[i])) for size, count, positions in sides))
        return result

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        """Return whether arrays of that rank have the same shards on the same devices."""
        if not isinstance(other, OnSeveral):
            return self.num_devices == 1 and getattr(other, "device_set", None) == self.device_set
        if self == other:
            return True
        return self.devices == other.devices and _same(self.tiles(ndim), other.tiles(ndim))

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> Any:
        return self.tiles(num_dimensions)


def _side(size: int, count: int, position: int) -> slice:
    step = size // count
    return slice(None) if count == 1 else slice(position * step, (position + 1) * step)


def _same(a: Any, b: Any) -> bool:
    """Return whether two HLO shardings place each tile alike."""
    if a.is_replicated() or b.is_replicated():
        return a.is_replicated() and b.is_replicated()
    (counts, coordinates), (other_counts, other_coordinates) = _places(a), _places(b)
    return counts == other_counts and all((x == y).all() for x, y in zip(coordinates, other_coordinates, strict=True))


def _places(hlo: Any) -> tuple[list[int], list[Any]]:
    """Return the number of tiles along each axis, and for each axis the tile that each device has."""
    counts = list(hlo.tile_assignment_dimensions())
    device_at = np.argsort(np.array(hlo.tile_assignment_devices()))
    coordinates = list(np.unravel_index(device_at, counts))
    rank = len(counts) - (hlo.replicate_on_last_tile_dim() or len(hlo.subgroup_types()) > 0)
    return counts[:rank], coordinates[:rank]


class TiledSharding(OnSeveral):
    """Sharding in a tiling of XLA's that no axes of a mesh describe."""

    def __init__(self, devices: tuple[Any, ...], hlo: Any) -> None:
        self.devices, self._tiles = devices, hlo

    def cuts(self, rank: int) -> tuple[int, ...]:
        """Return into how many parts each axis is partitioned."""
        return tuple(_places(self._tiles)[0])

    def tiles(self, rank: int) -> Any:
        """Return XLA's sharding."""
        return self._tiles

    @property
    def is_fully_replicated(self) -> bool:
        """Return whether each device has the whole array."""
        return bool(self._tiles.is_replicated())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TiledSharding) and self.devices == other.devices and _same(self._tiles, other._tiles)

    def __hash__(self) -> int:
        return hash(self.devices)

    def __repr__(self) -> str:
        return f"TiledSharding({len(self.devices)} devices, {self._tiles})"


class NamedSharding(OnSeveral):
    """Sharding along axes of a mesh, as a :class:`PartitionSpec` says; replicated along the others.

    Raises TypeError for a value that is not a mesh or not a spec, ValueError for a spec that does not fit the mesh.
    """

    __slots__ = ("_hash", "devices", "mesh", "spec")

    def __init__(self, mesh: Mesh, spec: PartitionSpec, *, memory_kind: str | None = None) -> None:
        if not isinstance(mesh, Mesh):
            raise TypeError(
                f"NamedSharding takes a Mesh, got {mesh!r} of type {type(mesh).__name__}{where_text(user_line())}"
            )
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"NamedSharding takes a PartitionSpec, got {spec!r} of type {type(spec).__name__}"
                f"{where_text(user_line())}: write PartitionSpec('x', None)"
            )
        if memory_kind not in (None, "device"):
            raise NotImplementedError(f"the only kind of memory here is 'device', got {memory_kind!r}")
        check_spec("NamedSharding", mesh, spec)
        self.mesh, self.spec, self.devices = mesh, spec, mesh.flat
        self._hash = hash((mesh, spec))

    @property
    def is_fully_replicated(self) -> bool:
        """Return whether each device has the whole array."""
        sizes = self.mesh.shape
        return all(sizes[name] == 1 for part in self.spec for name in names_of(part))

    def with_spec(self, spec: Any) -> NamedSharding:
        """Return a sharding on the same mesh with another spec."""
        return NamedSharding(self.mesh, spec if isinstance(spec, PartitionSpec) else PartitionSpec(*spec))

    def cuts(self, rank: int) -> tuple[int, ...]:
        """Return into how many parts each axis of an array of that rank is partitioned."""
        sizes = self.mesh.shape
        counts = [math.prod(sizes[name] for name in names_of(part)) for part in self.spec]
        return (*counts, *[1] * (rank - len(counts)))

    def tiles(self, rank: int) -> Any:
        """Return XLA's sharding of an array of that rank."""
        return tiles_of(self, rank)

    def parts_text(self, axis: int, parts: int) -> str:
        """Return what an axis is split over, for a message."""
        names = names_of(self.spec[axis])
        spec = ", ".join(map(repr, self.spec))
        axes = f"mesh axis {names[0]!r}" if len(names) == 1 else f"mesh axes {', '.join(map(repr, names))}"
        return f"the {parts} devices of {axes} (P({spec}))"

    def check_shape(self, user: str, shape: Sequence[int]) -> None:
        """Raise ValueError if a shape does not fit, for which XLA would abort the process."""
        if len(self.spec) > len(shape):
            raise ValueError(
                f"{user}: {self.spec} says how {len(self.spec)} axes are cut, and an array of shape {tuple(shape)} has "
                f"{len(shape)}{where_text(user_line())}{see('shardings')}"
            )
        super().check_shape(user, shape)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, NamedSharding) and (self.mesh, self.spec) == (other.mesh, other.spec)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:
        return NamedSharding, (self.mesh, self.spec)

    def __repr__(self) -> str:
        return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}, memory_kind=device)"


def tiles_of(sharding: NamedSharding, rank: int) -> Any:
    """Return XLA's sharding of an array of that rank."""
    mesh, sizes = sharding.mesh, sharding.mesh.shape
    counts = sharding.cuts(rank)
    if math.prod(counts) == 1:
        return xla_client.HloSharding.replicate()
    used = [name for part in sharding.spec for name in names_of(part)]
    unused = [name for name in mesh.axis_names if name not in used]
    copies = math.prod(sizes[name] for name in unused)
    order = tuple(mesh.axis_names.index(name) for name in (*used, *unused))
    if copies == 1:
        return xla_client.HloSharding.iota_tile(counts, mesh.axis_sizes, order, ())
    return xla_client.HloSharding.iota_tile((*counts, copies), mesh.axis_sizes, order, (_REPLICATED,))


class Tiles(_jax.GSPMDSharding):
    """Sharding that an array on several devices holds.

    jaxlib treats two with equal tiles as the same; meshes whose axes have other names or kinds give other types, so
    these are compared by identity.
    """

    __slots__ = ("__weakref__", "named")
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    named: OnSeveral

    # Attributes that jaxlib needs of a sharding of another class than its own.

    @property
    def memory_kind(self) -> str:
        """Return the kind of memory that the array is in."""
        return self.named.memory_kind

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of each device's shard of an array."""
        return self.named.shard_shape(global_shape)

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> Any:
        return self._hlo_sharding


#: Shardings that are referenced somewhere, and those used most recently.
_living: WeakValueDictionary[tuple[OnSeveral, int], Tiles] = WeakValueDictionary()
_held: Recent[tuple[OnSeveral, int], Any] = Recent(512)
_making = threading.RLock()


def held_sharding(sharding: OnSeveral, rank: int) -> Any:
    """Return the sharding that an array of that rank holds: one object for equal shardings."""
    key = (sharding, rank)
    ranked = _held.get(key) or _held.again(key)
    if ranked is None:
        with _making:
            ranked = _living.get(key)
            if ranked is None:
                ranked = Tiles(devices_list(sharding.devices), sharding.tiles(rank))
                ranked.named = sharding
                _living[key] = ranked
            ranked = _held.keep(key, ranked)
    return ranked


def typed(aval: ShapedArray, sharding: Any) -> ShapedArray:
    """Return the type of an array with that sharding, which names the explicit axes that partition it."""
    return laid(aval, explicit_of(sharding, len(aval.shape)))


def explicit_of(sharding: Any, rank: int) -> NamedSharding | None:
    """Return the part of a sharding that types mention; None where no explicit axis partitions the array."""
    if not isinstance(sharding, NamedSharding) or not sharding.mesh.has_explicit:
        return None
    kinds = dict(zip(sharding.mesh.axis_names, sharding.mesh.axis_types, strict=True))
    parts = [
        tuple(name for name in names_of(part) if kinds[name] is AxisType.Explicit)
        for part in (*sharding.spec, *[None] * (rank - len(sharding.spec)))
    ]
    return sharding.with_spec(parts) if any(parts) else None


def of_users(sharding: Any) -> Any:
    """Return the sharding that users see for the one that an array holds."""
    return sharding.named if isinstance(sharding, Tiles) else sharding


def first_device(sharding: Any) -> Any:
    """Return the first device of the sharding that an array holds."""
    return sharding.named.devices[0] if isinstance(sharding, Tiles) else sharding._device


def spec_of_tiles(mesh: Mesh, hlo: Any) -> PartitionSpec | None:
    """Return the spec that is equal to XLA's sharding; None where no axes of the mesh give that partitioning."""
    if hlo.is_replicated():
        return PartitionSpec()
    counts, coordinates = _places(hlo)
    positions = np.unravel_index(np.arange(mesh.size), mesh.axis_sizes)
    mesh_coordinates = dict(zip(mesh.axis_names, positions, strict=True))
    parts: list[Any] = []
    for count, positions_on_axis in zip(counts, coordinates, strict=True):
        names = () if count == 1 else _names_that_cut(mesh, mesh_coordinates, positions_on_axis, count)
        if names is None:
            return None
        parts.append(names)
    while parts and not parts[-1]:
        parts.pop()
    return PartitionSpec(*parts)


def _names_that_cut(mesh: Mesh, coordinates: Any, positions: Any, count: int) -> tuple[Any, ...] | None:
    """Return the mesh axes, major first, that number the tiles as ``positions`` does for each device."""
    sizes = {name: size for name, size in mesh.shape_tuple if size > 1}
    for length in range(1, len(sizes) + 1):
        for names in itertools.permutations(sizes, length):
            if math.prod(sizes[name] for name in names) != count:
                continue
            part = np.zeros(mesh.size, np.int64)
            for name in names:
                part = part * sizes[name] + coordinates[name]
            if (part == positions).all():
                return names
    return None
