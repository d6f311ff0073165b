"""Meshes: devices in an array whose axes have names; and which axes of a mesh an array's axes are cut along."""

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
from ...ir.sources import user_line, where_text
from ...runtime import boot
from ..devices.backend import devices

AxisName = Hashable


class AxisType(enum.Enum):
    """Who decides how arrays lie along an axis of a mesh: XLA (``Auto``), the types of values (``Explicit``), or the
    program itself, inside of ``shard_map`` (``Manual``).
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class _Axes:
    """Names, sizes and kinds of a mesh's axes."""

    axis_names: tuple[AxisName, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    @property
    def shape(self) -> MappingProxyType[AxisName, int]:
        """The size of each axis by its name."""
        return MappingProxyType(dict(self.shape_tuple))

    @property
    def shape_tuple(self) -> tuple[tuple[AxisName, int], ...]:
        """Names and sizes of the axes."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> int:
        """The number of devices."""
        return math.prod(self.axis_sizes)

    @property
    def empty(self) -> bool:
        """Whether there is no axis."""
        return not self.axis_names

    @property
    def has_explicit(self) -> bool:
        """Whether the types of values say how these lie along one of the axes."""
        return AxisType.Explicit in self.axis_types

    @property
    def all_explicit(self) -> bool:
        """Whether they say it along each of the axes."""
        return bool(self.axis_types) and set(self.axis_types) == {AxisType.Explicit}

    def _checked_types(self, what: str, axis_types: Any) -> tuple[AxisType, ...]:
        if axis_types is None:
            return (AxisType.Auto,) * len(self.axis_names)
        types = axis_types if isinstance(axis_types, tuple | list) else (axis_types,)
        if len(types) != len(self.axis_names) or not all(isinstance(each, AxisType) for each in types):
            raise ValueError(
                f"{what}: axis_types has an AxisType for each of the {len(self.axis_names)} axes, got {axis_types!r}"
                f"{where_text(user_line())}"
            )
        return tuple(types)

    def _sizes_text(self) -> str:
        return ", ".join(f"{name!r}: {size}" for name, size in self.shape_tuple)

    def _types_text(self) -> str:
        return repr(self.axis_types)


def _names(what: str, axis_names: Any, rank: int) -> tuple[AxisName, ...]:
    names = tuple(axis_names) if isinstance(axis_names, tuple | list) else (axis_names,)
    if len(names) != rank:
        raise ValueError(
            f"{what}: {rank} axes of devices need as many names, got {axis_names!r}{where_text(user_line())}"
        )
    if len(set(names)) < len(names) or None in names:
        raise ValueError(
            f"{what}: the names of axes are different and none is None, got {axis_names!r}{where_text(user_line())}"
        )
    return names


class AbstractMesh(_Axes):
    """Names, sizes and kinds of axes, without devices: what types and programs know of a mesh."""

    def __init__(
        self, axis_sizes: Sequence[int], axis_names: Sequence[AxisName], axis_types: Any = None, **unknown: Any
    ) -> None:
        if unknown:
            raise TypeError(f"AbstractMesh has no argument {next(iter(unknown))!r}{where_text(user_line())}")
        self.axis_sizes = tuple(axis_sizes)
        self.axis_names = _names("AbstractMesh", axis_names, len(self.axis_sizes))
        self.axis_types = self._checked_types("AbstractMesh", axis_types)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh itself."""
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


class Mesh(_Axes):
    """Devices in an array whose axes have names.

    ``devices`` is an array (or nested lists) of devices, ``axis_names`` has a name for each of its axes. Raises
    ValueError when they do not fit, or when a device comes twice.

    >>> import numpy as np, xlascope as xs
    >>> mesh = xs.sharding.Mesh(np.array(xs.devices()[:1]), ("batch",))
    >>> dict(mesh.shape), mesh.size
    ({'batch': 1}, 1)
    """

    def __init__(self, devices: Any, axis_names: Any, axis_types: Any = None) -> None:
        held = np.array(devices, dtype=object)
        held.flags.writeable = False
        self.devices = held
        self.axis_sizes = held.shape
        self.axis_names = _names("Mesh", axis_names, held.ndim)
        self.axis_types = self._checked_types("Mesh", axis_types)
        self.flat: tuple[Any, ...] = tuple(held.flat)
        for each in self.flat:
            if not hasattr(each, "device_kind"):
                raise TypeError(
                    f"Mesh takes devices, such as xlascope.devices(), not {each!r}{where_text(user_line())}"
                )
        if len(set(self.flat)) < len(self.flat):
            raise ValueError(f"Mesh: a device stands in it twice{where_text(user_line())}")
        self._hash = hash((self.flat, self.shape_tuple, self.axis_types))

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The same axes without devices."""
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    @property
    def device_ids(self) -> np.ndarray[Any, Any]:
        """The devices' numbers, in the mesh's shape."""
        return np.array([each.id for each in self.flat], dtype=np.int64).reshape(self.axis_sizes)

    @property
    def local_devices(self) -> list[Any]:
        """The devices of this process."""
        own = [each for each in self.flat if each.process_index == each.client.process_index()]
        return own

    @property
    def is_multi_process(self) -> bool:
        """Whether devices of other processes are among them."""
        return len(self.local_devices) < len(self.flat)

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> Mesh:
        """The mesh with other devices, names or kinds of axes."""
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
        return _mesh_again, (self.device_ids, self.axis_names, [each.name for each in self.axis_types])

    def __enter__(self) -> Mesh:
        _enter([*_CURRENT.entered, self])
        return self

    def __exit__(self, *_: object) -> None:
        _enter(_CURRENT.entered[:-1])

    def __repr__(self) -> str:
        if self.empty:
            return "Mesh()"
        return f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, axis_types={self._types_text()})"

    def __str__(self) -> str:
        return "Mesh()" if self.empty else f"Mesh({self._sizes_text()}, axis_types={self._types_text()})"


def _mesh_again(ids: Any, names: Any, types: Sequence[str]) -> Mesh:
    """The mesh that was pickled, of this process's devices with those numbers."""
    known = {each.id: each for each in devices()}
    found = np.array([known[int(i)] for i in np.asarray(ids).flat], dtype=object)
    return Mesh(found.reshape(np.shape(ids)), names, tuple(AxisType[each] for each in types))


# The current mesh ---------------------------------------------------------------------------------------------------


class _Current(threading.local):
    def __init__(self) -> None:
        #: Of ``with mesh:`` and ``set_mesh``, the innermost last.
        self.entered: list[Mesh] = []


_CURRENT = _Current()


def _enter(meshes: list[Mesh]) -> None:
    _CURRENT.entered = meshes
    boot.note_mesh(meshes[-1] if meshes else None)


def current_mesh() -> Mesh | None:
    """The mesh that ``with mesh:`` or ``set_mesh`` made current on this thread, if one did."""
    return _CURRENT.entered[-1] if _CURRENT.entered else None


def get_mesh() -> Mesh:
    """The current mesh: that of the innermost ``set_mesh`` (or ``with mesh:``); one without axes when there is none."""
    return current_mesh() or _no_mesh()


@functools.cache
def _no_mesh() -> Mesh:
    """The mesh without axes, which has no devices either."""
    found = Mesh.__new__(Mesh)
    found.devices = np.empty((0,), object)
    found.axis_sizes = found.axis_names = found.axis_types = found.flat = ()
    found._hash = hash(())
    return found


def get_abstract_mesh() -> AbstractMesh:
    """The axes of the current mesh."""
    found = current_mesh()
    return AbstractMesh((), ()) if found is None else found.abstract_mesh


class _SetMesh(contextlib.AbstractContextManager[Mesh]):
    """A mesh made current at once; leaving the block, if it is used as one, takes that back."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._before = list(_CURRENT.entered)
        _enter([*self._before, mesh])

    def __enter__(self) -> Mesh:
        return self._mesh

    def __exit__(self, *_: object) -> None:
        _enter(self._before)


def set_mesh(mesh: Mesh) -> _SetMesh:
    """Make a mesh the current one, for good; as the head of a ``with`` block, until its end.

    Shardings may then be given by a PartitionSpec alone. Raises TypeError for what is no mesh.
    """
    if not isinstance(mesh, Mesh):
        raise TypeError(f"set_mesh takes a Mesh, got {mesh!r} of type {type(mesh).__name__}{where_text(user_line())}")
    return _SetMesh(mesh)


@contextlib.contextmanager
def use_mesh(mesh: Mesh) -> Iterator[Mesh]:
    """A block in which a mesh is the current one."""
    with set_mesh(mesh) as made:
        yield made


def required_mesh(what: str) -> Mesh:
    """The current mesh; raises RuntimeError when there is none."""
    found = current_mesh()
    if found is None:
        raise RuntimeError(
            f"{what} was given a PartitionSpec, and there is no current mesh that its names could be of"
            f"{where_text(user_line())}. Give a NamedSharding(mesh, spec), or open `with xlascope.set_mesh(mesh):`."
        )
    return found


# PartitionSpec ------------------------------------------------------------------------------------------------------


class _Unconstrained:
    """Leaves it to XLA how an axis is cut."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "_UNCONSTRAINED"


_UNCONSTRAINED = _Unconstrained()


class PartitionSpec:
    """For each axis of an array the axis of a mesh that it is cut along, several of them as a tuple, or None.

    Axes beyond those given are whole. ``PartitionSpec.UNCONSTRAINED`` leaves an axis to XLA.

    >>> from xlascope.sharding import PartitionSpec as P
    >>> P("x", None), P(("x", "y")) == P(["x", "y"])
    (P('x', None), True)
    """

    __slots__ = ("_parts",)
    UNCONSTRAINED = _UNCONSTRAINED

    def __init__(self, *partitions: Any) -> None:
        self._parts = tuple(_part(each) for each in partitions)

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
        """The first axis that is cut like this."""
        return self._parts.index(_part(value))

    def count(self, value: Any) -> int:
        """How many axes are cut like this."""
        return self._parts.count(_part(value))

    def __repr__(self) -> str:
        return f"P({', '.join(map(repr, self._parts))}{',' if len(self._parts) == 1 else ''})"


#: By its short name.
P = PartitionSpec


def _part(given: Any) -> Any:
    """One way to write what cuts an axis: a tuple of one name is the name, one of none is None."""
    if isinstance(given, tuple | list):
        return None if not given else given[0] if len(given) == 1 else tuple(given)
    return given


def names_of(part: Any) -> tuple[AxisName, ...]:
    """The axes of a mesh that cut one axis of an array."""
    if part is None or part is _UNCONSTRAINED:
        return ()
    return part if isinstance(part, tuple) else (part,)


def check_spec(what: str, mesh: _Axes, spec: PartitionSpec) -> None:
    """Raise ValueError for a spec with a name that the mesh lacks, or with one that comes twice."""
    used = [name for part in spec for name in names_of(part)]
    for name in used:
        if name not in mesh.axis_names:
            raise ValueError(
                f"{what}: {spec} names {name!r}, which is no axis of {mesh}; its axes are "
                f"{', '.join(map(repr, mesh.axis_names))}{where_text(user_line())}{see('shardings')}"
            )
    if len(set(used)) < len(used):
        twice = next(name for name in used if used.count(name) > 1)
        raise ValueError(f"{what}: {spec} cuts along {twice!r} twice{where_text(user_line())}{see('shardings')}")
