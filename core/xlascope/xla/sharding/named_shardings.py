"""How an array lies over the devices of a mesh: for users by the names of axes, for XLA and jaxlib as tiles.

A :class:`NamedSharding` knows no rank, tiles do. So what an array holds is :class:`Tiles`, XLA's sharding for its rank
with the users' sharding as an attribute: one object for equal ones, which jaxlib compares when it looks for a call.
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
    """How an array lies over several devices, in their order."""

    devices: tuple[Any, ...]

    def cuts(self, rank: int) -> tuple[int, ...]:
        """Into how many parts each axis of an array of that rank is cut."""
        raise NotImplementedError

    def tiles(self, rank: int) -> Any:
        """XLA's sharding of an array of that rank."""
        raise NotImplementedError

    @property
    def memory_kind(self) -> str:
        """Where on a device the array is."""
        return "device"

    @property
    def num_devices(self) -> int:
        """The number of devices."""
        return len(self.devices)

    @property
    def device_set(self) -> set[Any]:
        """The devices."""
        return set(self.devices)

    @property
    def addressable_devices(self) -> set[Any]:
        """The devices of this process."""
        return {each for each in self.devices if each.process_index == each.client.process_index()}

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices are of this process."""
        return len(self.addressable_devices) == len(self.devices)

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device has the whole array."""
        raise NotImplementedError

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of each device's part of an array; raises ValueError where it cannot be cut so."""
        self.check_shape("shard_shape", global_shape)
        cuts = self.cuts(len(global_shape))
        return tuple(size // parts for size, parts in zip(global_shape, cuts, strict=True))

    def check_shape(self, what: str, shape: Sequence[int]) -> None:
        """Raise ValueError where an array of that shape cannot lie so: XLA would end the process."""
        for axis, (size, parts) in enumerate(zip(shape, self.cuts(len(shape)), strict=True)):
            if size % parts:
                over = self.parts_text(axis, parts)
                said = f"{what}: axis {axis} of size {size} cannot be split evenly over {over}."
                fix = f"Pad it to {-(-size // parts) * parts}, or use P() to have it whole on every device."
                raise ValueError(compose_message(said, fix) + see("shardings"))

    def parts_text(self, axis: int, parts: int) -> str:
        """Return what an axis is split over, for a message."""
        return f"{parts} parts, as {self} has it"

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Any, Index]:
        """The part of an array that each device has, as slices."""
        shape = tuple(global_shape)
        self.check_shape("devices_indices_map", shape)
        return dict(zip(self.devices, self.indices(shape), strict=True))

    def addressable_devices_indices_map(self, global_shape: Sequence[int]) -> dict[Any, Index]:
        """The same for the devices of this process."""
        own = self.addressable_devices
        return {device: index for device, index in self.devices_indices_map(global_shape).items() if device in own}

    def indices(self, shape: tuple[int, ...]) -> list[Index]:
        """The part of each device, in their order."""
        whole: Index = (slice(None),) * len(shape)
        tiles = self.tiles(len(shape))
        if tiles.is_replicated():
            return [whole] * len(self.devices)
        counts, places = _places(tiles)
        found = []
        for i in range(len(self.devices)):
            sides = zip(shape, counts, places, strict=False)
            found.append(tuple(_side(size, count, int(place[i])) for size, count, place in sides))
        return found

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        """Whether arrays of that rank lie the same way on the same devices."""
        if not isinstance(other, OnSeveral):
            return self.num_devices == 1 and getattr(other, "device_set", None) == self.device_set
        if self == other:
            return True
        return self.devices == other.devices and _same(self.tiles(ndim), other.tiles(ndim))

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> Any:
        return self.tiles(num_dimensions)


def _side(size: int, count: int, place: int) -> slice:
    step = size // count
    return slice(None) if count == 1 else slice(place * step, (place + 1) * step)


def _same(a: Any, b: Any) -> bool:
    """Whether XLA's shardings place each part alike."""
    if a.is_replicated() or b.is_replicated():
        return a.is_replicated() and b.is_replicated()
    (counts, places), (other_counts, other_places) = _places(a), _places(b)
    return counts == other_counts and all((x == y).all() for x, y in zip(places, other_places, strict=True))


def _places(tiles: Any) -> tuple[list[int], list[Any]]:
    """Into how many parts each axis is cut, and for each axis which of them each device has."""
    counts = list(tiles.tile_assignment_dimensions())
    device_at = np.argsort(np.array(tiles.tile_assignment_devices()))
    places = list(np.unravel_index(device_at, counts))
    rank = len(counts) - (tiles.replicate_on_last_tile_dim() or len(tiles.subgroup_types()) > 0)
    return counts[:rank], places[:rank]


class TiledSharding(OnSeveral):
    """An array cut in a way of XLA's own that no axes of a mesh describe."""

    def __init__(self, devices: tuple[Any, ...], tiles: Any) -> None:
        self.devices, self._tiles = devices, tiles

    def cuts(self, rank: int) -> tuple[int, ...]:
        """Into how many parts each axis is cut."""
        return tuple(_places(self._tiles)[0])

    def tiles(self, rank: int) -> Any:
        """XLA's sharding."""
        return self._tiles

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device has the whole array."""
        return bool(self._tiles.is_replicated())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TiledSharding) and self.devices == other.devices and _same(self._tiles, other._tiles)

    def __hash__(self) -> int:
        return hash(self.devices)

    def __repr__(self) -> str:
        return f"TiledSharding({len(self.devices)} devices, {self._tiles})"


class NamedSharding(OnSeveral):
    """An array cut along axes of a mesh, as a :class:`PartitionSpec` says; whole on each device where it does not.

    Raises TypeError for what is no mesh or no spec, ValueError for a spec that does not fit the mesh.
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
        """Whether each device has the whole array."""
        sizes = self.mesh.shape
        return all(sizes[name] == 1 for part in self.spec for name in names_of(part))

    def with_spec(self, spec: Any) -> NamedSharding:
        """On the same mesh, cut otherwise."""
        return NamedSharding(self.mesh, spec if isinstance(spec, PartitionSpec) else PartitionSpec(*spec))

    def cuts(self, rank: int) -> tuple[int, ...]:
        """Into how many parts each axis of an array of that rank is cut."""
        sizes = self.mesh.shape
        found = [math.prod(sizes[name] for name in names_of(part)) for part in self.spec]
        return (*found, *[1] * (rank - len(found)))

    def tiles(self, rank: int) -> Any:
        """XLA's sharding of an array of that rank."""
        return tiles_of(self, rank)

    def parts_text(self, axis: int, parts: int) -> str:
        """Return what an axis is split over, for a message."""
        names = names_of(self.spec[axis])
        spec = ", ".join(map(repr, self.spec))
        axes = f"mesh axis {names[0]!r}" if len(names) == 1 else f"mesh axes {', '.join(map(repr, names))}"
        return f"the {parts} devices of {axes} (P({spec}))"

    def check_shape(self, what: str, shape: Sequence[int]) -> None:
        """Raise ValueError where an array of that shape cannot lie so: XLA would end the process."""
        if len(self.spec) > len(shape):
            raise ValueError(
                f"{what}: {self.spec} says how {len(self.spec)} axes are cut, and an array of shape {tuple(shape)} has "
                f"{len(shape)}{where_text(user_line())}{see('shardings')}"
            )
        super().check_shape(what, shape)

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
    """XLA's sharding of an array of that rank."""
    mesh, sizes = sharding.mesh, sharding.mesh.shape
    cuts = sharding.cuts(rank)
    if math.prod(cuts) == 1:
        return xla_client.HloSharding.replicate()
    used = [name for part in sharding.spec for name in names_of(part)]
    rest = [name for name in mesh.axis_names if name not in used]
    copies = math.prod(sizes[name] for name in rest)
    order = tuple(mesh.axis_names.index(name) for name in (*used, *rest))
    if copies == 1:
        return xla_client.HloSharding.iota_tile(cuts, mesh.axis_sizes, order, ())
    return xla_client.HloSharding.iota_tile((*cuts, copies), mesh.axis_sizes, order, (_REPLICATED,))


class Tiles(_jax.GSPMDSharding):
    """What an array holds that lies on several devices. jaxlib takes two with equal tiles for the same; meshes whose
    axes have other names or kinds make other types, so these are compared by identity.
    """

    __slots__ = ("__weakref__", "named")
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    named: OnSeveral

    # What jaxlib asks of a sharding that is not of its own classes.

    @property
    def memory_kind(self) -> str:
        """Where on a device the array is."""
        return self.named.memory_kind

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of each device's part of an array."""
        return self.named.shard_shape(global_shape)

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> Any:
        return self._hlo_sharding


#: Those that somebody holds, and those used last.
_living: WeakValueDictionary[tuple[OnSeveral, int], Tiles] = WeakValueDictionary()
_held: Recent[tuple[OnSeveral, int], Any] = Recent(512)
_making = threading.RLock()


def held_sharding(sharding: OnSeveral, rank: int) -> Any:
    """What an array of that rank holds: one object for equal shardings."""
    key = (sharding, rank)
    found = _held.get(key) or _held.again(key)
    if found is None:
        with _making:
            found = _living.get(key)
            if found is None:
                found = Tiles(devices_list(sharding.devices), sharding.tiles(rank))
                found.named = sharding
                _living[key] = found
            found = _held.keep(key, found)
    return found


def typed(aval: ShapedArray, sharding: Any) -> ShapedArray:
    """The type of an array of that type that lies so: it says which explicit axes cut it, and nothing of others."""
    return laid(aval, explicit_of(sharding, len(aval.shape)))


def explicit_of(sharding: Any, rank: int) -> NamedSharding | None:
    """What the types of arrays of that rank say of how they lie; None where no explicit axis cuts them."""
    if not isinstance(sharding, NamedSharding) or not sharding.mesh.has_explicit:
        return None
    kinds = dict(zip(sharding.mesh.axis_names, sharding.mesh.axis_types, strict=True))
    parts = [
        tuple(name for name in names_of(part) if kinds[name] is AxisType.Explicit)
        for part in (*sharding.spec, *[None] * (rank - len(sharding.spec)))
    ]
    return sharding.with_spec(parts) if any(parts) else None


def of_users(held: Any) -> Any:
    """What users know of what an array holds as its sharding."""
    return held.named if isinstance(held, Tiles) else held


def first_device(held: Any) -> Any:
    """The first device of what an array holds as its sharding."""
    return held.named.devices[0] if isinstance(held, Tiles) else held._device


def spec_of_tiles(mesh: Mesh, tiles: Any) -> PartitionSpec | None:
    """The spec by which an array lies as XLA says; None where no axes of the mesh cut it so."""
    if tiles.is_replicated():
        return PartitionSpec()
    counts, places = _places(tiles)
    own = np.unravel_index(np.arange(mesh.size), mesh.axis_sizes)
    coordinates = dict(zip(mesh.axis_names, own, strict=True))
    parts: list[Any] = []
    for count, place in zip(counts, places, strict=True):
        found = () if count == 1 else _names_that_cut(mesh, coordinates, place, count)
        if found is None:
            return None
        parts.append(found)
    while parts and not parts[-1]:
        parts.pop()
    return PartitionSpec(*parts)


def _names_that_cut(mesh: Mesh, coordinates: Any, place: Any, count: int) -> tuple[Any, ...] | None:
    """The axes of a mesh, the slowest first, that number the parts as ``place`` does for each device."""
    sizes = {name: size for name, size in mesh.shape_tuple if size > 1}
    for length in range(1, len(sizes) + 1):
        for names in itertools.permutations(sizes, length):
            if math.prod(sizes[name] for name in names) != count:
                continue
            part = np.zeros(mesh.size, np.int64)
            for name in names:
                part = part * sizes[name] + coordinates[name]
            if (part == place).all():
                return names
    return None
