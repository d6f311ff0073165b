"""Meshes: devices in an array with named axes, and partition specs, which map an array's axes to mesh axes."""

from __future__ import annotations

import contextlib
import enum
import functools
import math
import threading
from collections.abc import Hashable, Iterator, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ...errors import see
from ...ir.user_frames import user_line, where_text
from ...runtime import boot
from ..devices.backend import devices

AxisName = Hashable


class AxisType(enum.Enum):
    """Kind of a mesh axis, which says what decides the shardings of arrays along it.

    ``Auto``: XLA does; ``Explicit``: the types of values do; ``Manual``: the program itself does, inside of
    ``shard_map``.
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class _MeshAxes:
    """Base class of meshes: the names, sizes and kinds of the axes, in the same order."""

    axis_names: tuple[AxisName, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    @property
    def shape(self) -> MappingProxyType[AxisName, int]:
        """Return the size of each axis by its name."""
        return MappingProxyType(dict(self.shape_tuple))

    @property
    def shape_tuple(self) -> tuple[tuple[AxisName, int], ...]:
        """Return names and sizes of the axes."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> int:
        """Return the number of devices."""
        return math.prod(self.axis_sizes)

    @property
    def empty(self) -> bool:
        """Return whether there is no axis."""
        return not self.axis_names

    @property
    def has_explicit(self) -> bool:
        """Return whether one of the axes is explicit."""
        return AxisType.Explicit in self.axis_types

    @property
    def all_explicit(self) -> bool:
        """Return whether there are axes and all of them are explicit."""
        return bool(self.axis_types) and set(self.axis_types) == {AxisType.Explicit}

    def _normalize_types(self, caller: str, axis_types: Any) -> tuple[AxisType, ...]:
        """Return a kind for each axis as a tuple: ``Auto`` for None, and one kind alone for a mesh with one axis.

        ``caller`` begins the message of the ValueError for other values.
        """
        if axis_types is None:
            return (AxisType.Auto,) * len(self.axis_names)
        types = axis_types if isinstance(axis_types, tuple | list) else (axis_types,)
        if len(types) != len(self.axis_names) or not all(isinstance(axis_type, AxisType) for axis_type in types):
            raise ValueError(
                f"{caller}: axis_types has an AxisType for each of the {len(self.axis_names)} axes, got {axis_types!r}"
                f"{where_text(user_line())}"
            )
        return tuple(types)

    def _sizes_text(self) -> str:
        return ", ".join(f"{name!r}: {size}" for name, size in self.shape_tuple)

    def _types_text(self) -> str:
        return repr(self.axis_types)


def _normalize_names(caller: str, axis_names: Any, rank: int) -> tuple[AxisName, ...]:
    """Return the names of mesh axes as a tuple; raises ValueError unless they are ``rank`` different ones.

    A single name stands for a tuple of one. ``caller`` begins the message.
    """
    names = tuple(axis_names) if isinstance(axis_names, tuple | list) else (axis_names,)
    if len(names) != rank:
        raise ValueError(
            f"{caller}: {rank} axes of devices need as many names, got {axis_names!r}{where_text(user_line())}"
        )
    if len(set(names)) < len(names) or None in names:
        raise ValueError(
            f"{caller}: the names of axes are different and none is None, got {axis_names!r}{where_text(user_line())}"
        )
    return names


class AbstractMesh(_MeshAxes):
    """Names, sizes and kinds of mesh axes without devices, as types and programs use them."""

    def __init__(
        self, axis_sizes: Sequence[int], axis_names: Sequence[AxisName], axis_types: Any = None, **unknown: Any
    ) -> None:
        if unknown:
            raise TypeError(f"AbstractMesh has no argument {next(iter(unknown))!r}{where_text(user_line())}")
        self.axis_sizes = tuple(axis_sizes)
        self.axis_names = _normalize_names("AbstractMesh", axis_names, len(self.axis_sizes))
        self.axis_types = self._normalize_types("AbstractMesh", axis_types)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """Return the mesh itself."""
        return self

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AbstractMesh)
            and self.shape_tuple == other.shape_tuple
            and (self.axis_types == other.axis_types)
        )

    def __hash__(self) -> int:
        return hash((self.shape_tuple, self.axis_types))

    def __repr__(self) -> str:
        return f"AbstractMesh({self._sizes_text()}, axis_types={self._types_text()})"


class Mesh(_MeshAxes):
    """Array of devices with named axes.

    ``devices`` is an array (or nested lists) of devices, ``axis_names`` has a name for each of its axes. Raises
    ValueError when they do not fit, or when a device is repeated.

    >>> import numpy as np, xlascope as xs
    >>> mesh = xs.sharding.Mesh(np.array(xs.devices()[:1]), ("batch",))
    >>> dict(mesh.shape), mesh.size
    ({'batch': 1}, 1)
    """

    def __init__(self, devices: Any, axis_names: Any, axis_types: Any = None) -> None:
        device_array = np.array(devices, dtype=object)
        device_array.flags.writeable = False
        self.devices = device_array
        self.axis_sizes = device_array.shape
        self.axis_names = _normalize_names("Mesh", axis_names, device_array.ndim)
        self.axis_types = self._normalize_types("Mesh", axis_types)
        self.flat: tuple[Any, ...] = tuple(device_array.flat)
        for device in self.flat:
            if not hasattr(device, "device_kind"):
                raise TypeError(
                    f"Mesh takes devices, such as xlascope.devices(), not {device!r}{where_text(user_line())}"
                )
        if len(set(self.flat)) < len(self.flat):
            raise ValueError(f"Mesh: a device stands in it twice{where_text(user_line())}")
        self._hash = hash((self.flat, self.shape_tuple, self.axis_types))

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """Return the same axes without devices."""
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    @property
    def device_ids(self) -> np.ndarray[Any, Any]:
        """Return the ids of the devices as an array of the mesh's shape."""
        return np.array([device.id for device in self.flat], dtype=np.int64).reshape(self.axis_sizes)

    @property
    def local_devices(self) -> list[Any]:
        """Return the devices of the mesh that belong to this process."""
        local = [device for device in self.flat if device.process_index == device.client.process_index()]
        return local

    @property
    def is_multi_process(self) -> bool:
        """Return whether some devices of the mesh belong to other processes."""
        return len(self.local_devices) < len(self.flat)

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> Mesh:
        """Return a mesh with other devices, axis names or axis types; None keeps those of this mesh."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Mesh)
            and self._hash == other._hash
            and (self.flat, self.shape_tuple, self.axis_types) == (other.flat, other.shape_tuple, other.axis_types)
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:
        return _unpickle_mesh, (self.device_ids, self.axis_names, [axis_type.name for axis_type in self.axis_types])

    def __enter__(self) -> Mesh:
        _set_mesh_stack([*_CURRENT.mesh_stack, self])
        return self

    def __exit__(self, *_: object) -> None:
        _set_mesh_stack(_CURRENT.mesh_stack[:-1])

    def __repr__(self) -> str:
        if self.empty:
            return "Mesh()"
        return f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, axis_types={self._types_text()})"

    def __str__(self) -> str:
        return "Mesh()" if self.empty else f"Mesh({self._sizes_text()}, axis_types={self._types_text()})"


def _unpickle_mesh(ids: Any, names: Any, types: Sequence[str]) -> Mesh:
    """Restore a pickled mesh from this process's devices with those numbers."""
    by_id = {item.id: item for item in devices()}
    device_array = np.array([by_id[int(i)] for i in np.asarray(ids).flat], dtype=object)
    return Mesh(device_array.reshape(np.shape(ids)), names, tuple(AxisType[item] for item in types))


# The current mesh ---------------------------------------------------------------------------------------------------


class _CurrentMeshes(threading.local):
    """Stack of the meshes that are current on a thread."""

    def __init__(self) -> None:
        #: Meshes of ``with mesh:`` and ``set_mesh``, the innermost last.
        self.mesh_stack: list[Mesh] = []


_CURRENT = _CurrentMeshes()


def _set_mesh_stack(meshes: list[Mesh]) -> None:
    _CURRENT.mesh_stack = meshes
    boot.note_mesh(meshes[-1] if meshes else None)


def current_mesh() -> Mesh | None:
    """Return the mesh of the innermost ``with mesh:`` or ``set_mesh`` on this thread; None if there is none."""
    return _CURRENT.mesh_stack[-1] if _CURRENT.mesh_stack else None


def get_mesh() -> Mesh:
    """Return the current mesh, of the innermost ``set_mesh`` or ``with mesh:``; one without axes if there is none."""
    return current_mesh() or _empty_mesh()


@functools.cache
def _empty_mesh() -> Mesh:
    """Return the mesh without axes and devices."""
    mesh = Mesh.__new__(Mesh)
    mesh.devices = np.empty((0,), object)
    mesh.axis_sizes = mesh.axis_names = mesh.axis_types = mesh.flat = ()
    mesh._hash = hash(())
    return mesh


def get_abstract_mesh() -> AbstractMesh:
    """Return the axes of the current mesh without its devices; a mesh without axes if there is none."""
    mesh = current_mesh()
    return AbstractMesh((), ()) if mesh is None else mesh.abstract_mesh


class _SetMesh(contextlib.AbstractContextManager[Mesh]):
    """Context manager that makes a mesh current when it is created; the end of its block restores the former one."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._before = list(_CURRENT.mesh_stack)
        _set_mesh_stack([*self._before, mesh])

    def __enter__(self) -> Mesh:
        return self._mesh

    def __exit__(self, *_: object) -> None:
        _set_mesh_stack(self._before)


def set_mesh(mesh: Mesh) -> _SetMesh:
    """Make a mesh the current one, permanently or, in a ``with`` statement, until the end of the block.

    Shardings may then be given by a PartitionSpec alone. Raises TypeError for a value that is not a mesh.
    """
    if not isinstance(mesh, Mesh):
        raise TypeError(f"set_mesh takes a Mesh, got {mesh!r} of type {type(mesh).__name__}{where_text(user_line())}")
    return _SetMesh(mesh)


@contextlib.contextmanager
def use_mesh(mesh: Mesh) -> Iterator[Mesh]:
    """Make a mesh the current one inside of a ``with`` block."""
    with set_mesh(mesh) as current:
        yield current


def require_mesh(user: str) -> Mesh:
    """Return the current mesh; raises RuntimeError when there is none.

    ``user`` is the function that was given a partition spec alone; it begins the message.
    """
    mesh = current_mesh()
    if mesh is None:
        raise RuntimeError(
            f"{user} was given a PartitionSpec, and there is no current mesh that its names could be of"
            f"{where_text(user_line())}. Give a NamedSharding(mesh, spec), or open `with xlascope.set_mesh(mesh):`."
        )
    return mesh


# PartitionSpec ------------------------------------------------------------------------------------------------------


class _Unconstrained:
    """Marker that leaves the partitioning of an axis to XLA."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "_UNCONSTRAINED"


_UNCONSTRAINED = _Unconstrained()


class PartitionSpec:
    """Mesh axes that partition each axis of an array: a name, a tuple of names, or None.

    Axes beyond those listed are not partitioned. ``PartitionSpec.UNCONSTRAINED`` leaves an axis to XLA.

    >>> from xlascope.sharding import PartitionSpec as P
    >>> P("x", None), P(("x", "y")) == P(["x", "y"])
    (P('x', None), True)
    """

    __slots__ = ("_parts",)
    UNCONSTRAINED = _UNCONSTRAINED

    def __init__(self, *partitions: Any) -> None:
        self._parts = tuple(_normalize_part(part) for part in partitions)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, index: Any) -> Any:
        return self._parts[index]

    def __add__(self, other: Any) -> PartitionSpec:
        return PartitionSpec(*self, *other)

    def __radd__(self, other: Any) -> PartitionSpec:
        return PartitionSpec(*other, *self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, tuple):
            return self._parts == PartitionSpec(*other)._parts
        return isinstance(other, PartitionSpec) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    def __reduce__(self) -> Any:
        return PartitionSpec, self._parts

    def index(self, value: Any) -> int:
        """Return the first axis of the array whose entry is ``value``; raises ValueError if there is none."""
        return self._parts.index(_normalize_part(value))

    def count(self, value: Any) -> int:
        """Return how many axes of the array have the entry ``value``."""
        return self._parts.count(_normalize_part(value))

    def __repr__(self) -> str:
        return f"P({', '.join(map(repr, self._parts))}{',' if len(self._parts) == 1 else ''})"


#: JAX's usual short name.
P = PartitionSpec


def _normalize_part(part: Any) -> Any:
    """Normalize one entry of a partition spec: a tuple of one name becomes the name, an empty one None."""
    if isinstance(part, tuple | list):
        return None if not part else part[0] if len(part) == 1 else tuple(part)
    return part


def axis_names_of(part: Any) -> tuple[AxisName, ...]:
    """Return the mesh axes that one entry of a partition spec names, as a tuple; () for None and ``UNCONSTRAINED``."""
    if part is None or part is _UNCONSTRAINED:
        return ()
    return part if isinstance(part, tuple) else (part,)


def check_spec(caller: str, mesh: _MeshAxes, spec: PartitionSpec) -> None:
    """Raise ValueError for a partition spec with a name that the mesh lacks, or with a repeated one.

    ``caller`` begins the message.
    """
    used = [name for part in spec for name in axis_names_of(part)]
    for name in used:
        if name not in mesh.axis_names:
            raise ValueError(
                f"{caller}: {spec} names {name!r}, which is no axis of {mesh}; its axes are "
                f"{', '.join(map(repr, mesh.axis_names))}{where_text(user_line())}{see('shardings')}"
            )
    if len(set(used)) < len(used):
        repeated = next(name for name in used if used.count(name) > 1)
        raise ValueError(f"{caller}: {spec} cuts along {repeated!r} twice{where_text(user_line())}{see('shardings')}")
