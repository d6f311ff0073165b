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
from ...ir.avals import ShapedArray, with_explicit_sharding
from ...ir.user_frames import compose_message, user_line, where_text
from ...lru_cache import FastLRUCache
from ..devices.backend import devices_list
from .meshes import AxisType, Mesh, PartitionSpec, axis_names_of, check_spec

_REPLICATED = xla_client.OpSharding.Type.REPLICATED
Index = tuple[slice, ...]


def _is_local(device: Any) -> bool:
    """Return whether a device belongs to this process; a planned device, which has no client, counts as local."""
    client = getattr(device, "client", None)
    return bool(client is None or device.process_index == client.process_index())


class MultiDeviceSharding:
    """Base class of shardings over several devices; ``devices`` lists them in the order in which XLA numbers them."""

    devices: tuple[Any, ...]

    def partition_counts(self, rank: int) -> tuple[int, ...]:
        """Return into how many equal blocks each axis of an array with ``rank`` axes is cut."""
        raise NotImplementedError

    def hlo_sharding(self, rank: int) -> Any:
        """Return XLA's sharding (``HloSharding``) of an array with ``rank`` axes."""
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
        return {device for device in self.devices if _is_local(device)}

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
        counts = self.partition_counts(len(global_shape))
        return tuple(size // parts for size, parts in zip(global_shape, counts, strict=True))

    def check_shape(self, user: str, shape: Sequence[int]) -> None:
        """Raise ValueError if an array of that shape cannot be cut evenly, for which XLA would abort the process.

        ``user`` begins the message.
        """
        for axis, (size, parts) in enumerate(zip(shape, self.partition_counts(len(shape)), strict=True)):
            if size % parts:
                over = self.parts_text(axis, parts)
                problem = f"{user}: axis {axis} of size {size} cannot be split evenly over {over}."
                fix = f"Pad it to {-(-size // parts) * parts}, or use P() to have it whole on every device."
                raise ValueError(compose_message(problem, fix) + see("shardings"))

    def parts_text(self, axis: int, parts: int) -> str:
        """Return what array axis ``axis`` is split over, for an error message; ``parts`` is the number of blocks."""
        return f"{parts} parts, as {self} has it"

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Any, Index]:
        """Return the slices of the array's shard for each device; raises ValueError if it cannot be cut evenly."""
        shape = tuple(global_shape)
        self.check_shape("devices_indices_map", shape)
        return dict(zip(self.devices, self.indices(shape), strict=True))

    def addressable_devices_indices_map(self, global_shape: Sequence[int]) -> dict[Any, Index]:
        """Return the slices of the array's shard for each device of this process."""
        local = self.addressable_devices
        return {device: index for device, index in self.devices_indices_map(global_shape).items() if device in local}

    def indices(self, shape: tuple[int, ...]) -> list[Index]:
        """Return the slices of each device's shard of an array of that shape, in the order of ``devices``."""
        full_index: Index = (slice(None),) * len(shape)
        hlo = self.hlo_sharding(len(shape))
        if hlo.is_replicated():
            return [full_index] * len(self.devices)
        counts, coordinates = _tile_coordinates(hlo)
        result = []
        for i in range(len(self.devices)):
            sides = zip(shape, counts, coordinates, strict=False)
            result.append(tuple(_axis_slice(size, count, int(positions[i])) for size, count, positions in sides))
        return result

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        """Return whether arrays with ``ndim`` axes have the same shards on the same devices under both shardings."""
        if not isinstance(other, MultiDeviceSharding):
            return self.num_devices == 1 and getattr(other, "device_set", None) == self.device_set
        if self == other:
            return True
        return self.devices == other.devices and _is_same_tiling(self.hlo_sharding(ndim), other.hlo_sharding(ndim))

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> Any:
        return self.hlo_sharding(num_dimensions)


def _axis_slice(size: int, count: int, position: int) -> slice:
    step = size // count
    return slice(None) if count == 1 else slice(position * step, (position + 1) * step)


def _is_same_tiling(a: Any, b: Any) -> bool:
    """Return whether two HLO shardings give each device the same block."""
    if a.is_replicated() or b.is_replicated():
        return a.is_replicated() and b.is_replicated()
    (counts, coordinates), (other_counts, other_coordinates) = _tile_coordinates(a), _tile_coordinates(b)
    return counts == other_counts and all((x == y).all() for x, y in zip(coordinates, other_coordinates, strict=True))


def _tile_coordinates(hlo: Any) -> tuple[list[int], list[Any]]:
    """Return the number of blocks along each array axis, and for each axis the index of each device's block.

    ``hlo`` is a tiled HLO sharding; the indices are arrays with an element per device.
    """
    counts = list(hlo.tile_assignment_dimensions())
    device_at = np.argsort(np.array(hlo.tile_assignment_devices()))
    coordinates = list(np.unravel_index(device_at, counts))
    rank = len(counts) - (hlo.replicate_on_last_tile_dim() or len(hlo.subgroup_types()) > 0)
    return counts[:rank], coordinates[:rank]


class TiledSharding(MultiDeviceSharding):
    """Sharding over several devices in an HLO tiling that XLA chose and that no axes of a mesh describe."""

    def __init__(self, devices: tuple[Any, ...], hlo: Any) -> None:
        self.devices, self._hlo = devices, hlo

    def partition_counts(self, rank: int) -> tuple[int, ...]:
        """Return into how many equal blocks each axis is cut; ``rank`` is ignored, since the tiling has one."""
        return tuple(_tile_coordinates(self._hlo)[0])

    def hlo_sharding(self, rank: int) -> Any:
        """Return the HLO tiling; ``rank`` is ignored, since the tiling has one."""
        return self._hlo

    @property
    def is_fully_replicated(self) -> bool:
        """Return whether each device has the whole array."""
        return bool(self._hlo.is_replicated())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TiledSharding)
            and self.devices == other.devices
            and _is_same_tiling(self._hlo, other._hlo)
        )

    def __hash__(self) -> int:
        return hash(self.devices)

    def __repr__(self) -> str:
        return f"TiledSharding({len(self.devices)} devices, {self._hlo})"


class NamedSharding(MultiDeviceSharding):
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
        return all(sizes[name] == 1 for part in self.spec for name in axis_names_of(part))

    def with_spec(self, spec: Any) -> NamedSharding:
        """Return a sharding on the same mesh with another spec."""
        return NamedSharding(self.mesh, spec if isinstance(spec, PartitionSpec) else PartitionSpec(*spec))

    def partition_counts(self, rank: int) -> tuple[int, ...]:
        """Return into how many equal blocks each axis of an array with ``rank`` axes is cut."""
        sizes = self.mesh.shape
        counts = [math.prod(sizes[name] for name in axis_names_of(part)) for part in self.spec]
        return (*counts, *[1] * (rank - len(counts)))

    def hlo_sharding(self, rank: int) -> Any:
        """Return XLA's sharding (``HloSharding``) of an array with ``rank`` axes."""
        return hlo_sharding_of(self, rank)

    def parts_text(self, axis: int, parts: int) -> str:
        """Return what array axis ``axis`` is split over, for an error message; ``parts`` is the number of blocks."""
        names = axis_names_of(self.spec[axis])
        spec = ", ".join(map(repr, self.spec))
        axes = f"mesh axis {names[0]!r}" if len(names) == 1 else f"mesh axes {', '.join(map(repr, names))}"
        return f"the {parts} devices of {axes} (P({spec}))"

    def check_shape(self, user: str, shape: Sequence[int]) -> None:
        """Raise ValueError if an array of that shape has fewer axes than the spec, or cannot be cut evenly.

        ``user`` begins the message.
        """
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


def hlo_sharding_of(sharding: NamedSharding, rank: int) -> Any:
    """Return XLA's sharding (``HloSharding``) of an array with ``rank`` axes that has a named sharding."""
    mesh, sizes = sharding.mesh, sharding.mesh.shape
    counts = sharding.partition_counts(rank)
    if math.prod(counts) == 1:
        return xla_client.HloSharding.replicate()
    used = [name for part in sharding.spec for name in axis_names_of(part)]
    unused = [name for name in mesh.axis_names if name not in used]
    copies = math.prod(sizes[name] for name in unused)
    order = tuple(mesh.axis_names.index(name) for name in (*used, *unused))
    if copies == 1:
        return xla_client.HloSharding.iota_tile(counts, mesh.axis_sizes, order, ())
    return xla_client.HloSharding.iota_tile((*counts, copies), mesh.axis_sizes, order, (_REPLICATED,))


class RankedSharding(_jax.GSPMDSharding):
    """XLA's sharding of arrays with one number of axes, which an array on several devices holds.

    ``named`` is the sharding that users see. jaxlib would treat two with equal tiles as the same, although meshes
    whose axes have other names or kinds give arrays other types. So these are compared by identity, and
    :func:`ranked_sharding` makes one object for equal ones.
    """

    __slots__ = ("__weakref__", "named")
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    named: MultiDeviceSharding

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
_live_shardings: WeakValueDictionary[tuple[MultiDeviceSharding, int], RankedSharding] = WeakValueDictionary()
_recent_shardings: FastLRUCache[tuple[MultiDeviceSharding, int], Any] = FastLRUCache(512)
_creation_lock = threading.RLock()


def ranked_sharding(sharding: MultiDeviceSharding, rank: int) -> Any:
    """Return the sharding object that jaxlib's arrays with ``rank`` axes hold for a user's ``sharding``.

    Equal shardings have one object, while it is used.
    """
    key = (sharding, rank)
    ranked = _recent_shardings.get(key) or _recent_shardings.promote(key)
    if ranked is None:
        with _creation_lock:
            ranked = _live_shardings.get(key)
            if ranked is None:
                ranked = RankedSharding(devices_list(sharding.devices), sharding.hlo_sharding(rank))
                ranked.named = sharding
                _live_shardings[key] = ranked
            ranked = _recent_shardings.insert(key, ranked)
    return ranked


def aval_with_sharding(aval: ShapedArray, sharding: Any) -> ShapedArray:
    """Return ``aval`` with what types mention of a sharding: its explicit axes (:func:`explicit_sharding_of`)."""
    return with_explicit_sharding(aval, explicit_sharding_of(sharding, len(aval.shape)))


def explicit_sharding_of(sharding: Any, rank: int) -> NamedSharding | None:
    """Return a sharding along its explicit mesh axes only, as types mention it; None where it has none.

    ``rank`` is the number of axes of the array.
    """
    if not isinstance(sharding, NamedSharding) or not sharding.mesh.has_explicit:
        return None
    kinds = dict(zip(sharding.mesh.axis_names, sharding.mesh.axis_types, strict=True))
    parts = [
        tuple(name for name in axis_names_of(part) if kinds[name] is AxisType.Explicit)
        for part in (*sharding.spec, *[None] * (rank - len(sharding.spec)))
    ]
    return sharding.with_spec(parts) if any(parts) else None


def to_user_sharding(sharding: Any) -> Any:
    """Return the sharding that users see for the one that an array holds: for one device, the same."""
    return sharding.named if isinstance(sharding, RankedSharding) else sharding


def first_device(sharding: Any) -> Any:
    """Return the first device of the sharding that an array holds."""
    return sharding.named.devices[0] if isinstance(sharding, RankedSharding) else sharding._device


def spec_of_hlo_sharding(mesh: Mesh, hlo: Any) -> PartitionSpec | None:
    """Return the partition spec over ``mesh`` that describes an HLO sharding; None if no spec does."""
    if hlo.is_replicated():
        return PartitionSpec()
    counts, coordinates = _tile_coordinates(hlo)
    positions = np.unravel_index(np.arange(mesh.size), mesh.axis_sizes)
    mesh_coordinates = dict(zip(mesh.axis_names, positions, strict=True))
    parts: list[Any] = []
    for count, positions_on_axis in zip(counts, coordinates, strict=True):
        names = () if count == 1 else _find_partitioning_axes(mesh, mesh_coordinates, positions_on_axis, count)
        if names is None:
            return None
        parts.append(names)
    while parts and not parts[-1]:
        parts.pop()
    return PartitionSpec(*parts)


def _find_partitioning_axes(mesh: Mesh, coordinates: Any, positions: Any, count: int) -> tuple[Any, ...] | None:
    """Return the mesh axes, major first, along which one array axis is cut; None if there are none.

    ``coordinates`` maps each mesh axis to the positions of all devices along it. ``positions`` has each device's block
    along the array axis, which has ``count`` blocks.
    """
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
