"""A call as it would be on devices that are not here: a mesh of places for them, and arguments that lie over it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import records, tree
from ...api import abstract
from ...control.jit.arguments import Options
from ...control.jit.functions import jit_function
from ...control.jit.placing import told
from ...control.programs.prefixes import leaves_of_prefix
from ...ir.avals import ShapeDtypeStruct
from ...xla.sharding.meshes import Mesh, PartitionSpec, names_of, set_mesh
from ...xla.sharding.named_shardings import NamedSharding
from ..producers import Asked
from ..program import Program, QuestionError, Source
from .calls import Call, jitted_of, traced_call
from .lowered import lowered_for


@dataclass(frozen=True, slots=True)
class PlannedDevice:
    """A device of a target, by its number: enough to write a program for it, and nothing can be put there."""

    id: int
    platform: str
    device_kind: str
    process_index: int = 0

    def __repr__(self) -> str:
        return f"PlannedDevice({self.device_kind!r}, id={self.id})"


class Plan:
    """How the devices of a target are to stand, and how arguments are to lie on them.

    ``mesh`` has the size of each axis by its name, one of them None: as many as there are. ``specs`` is a prefix of the
    tree of arguments, its leaves PartitionSpecs (None: whole); without it each lies as the argument itself does on a
    mesh. ``growing`` are axes of the mesh along which arguments have their size on each device.
    """

    def __init__(self, asked: Asked, mesh: Mapping[str, int | None], specs: Any, growing: Sequence[str]) -> None:
        open_axes = [name for name, size in mesh.items() if size is None]
        if not mesh or len(open_axes) > 1:
            raise ValueError(
                f"mesh has the size of each axis by its name, one of them None, got {dict(mesh)!r}. Example: "
                'mesh={"data": None, "model": 4}'
            )
        for name, size in mesh.items():
            if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
                raise ValueError(f"mesh: axis {name!r} has a size of at least 1, or None, got {size!r}")
        for name in growing:
            if name not in mesh:
                raise ValueError(f"growing names {name!r}, which is no axis of mesh; its axes are {', '.join(mesh)}")
        self.asked, self.mesh, self.growing = asked, dict(mesh), tuple(growing)
        jitted = jitted_of(asked.function)
        if jitted is not None and (jitted.options.in_shardings or jitted.options.out_shardings):
            raise QuestionError(
                f"{jitted.name} was jitted with shardings, on devices of its own: ask about the function without them, "
                "and say by specs how its arguments lie"
            )
        self._function = asked.function if jitted is None else jitted.function
        self._options = Options() if jitted is None else jitted.options
        if self._options.static_argnums or self._options.static_argnames or asked.kwargs:
            raise QuestionError(
                "arguments that are static, or given by keyword: bind them first, with functools.partial"
            )
        self._leaves, self._structure = tree.flatten(asked.args)
        self._specs = self._told(specs)

    def _told(self, specs: Any) -> list[PartitionSpec]:
        if specs is None:
            own = [getattr(leaf, "sharding", None) for leaf in self._leaves]
            return [each.spec if isinstance(each, NamedSharding) else PartitionSpec() for each in own]
        if len(self.asked.args) == 1 and not isinstance(specs, tuple | list):
            specs = (specs,)
        whole = PartitionSpec()
        found = leaves_of_prefix("scaling", "specs", specs, self.asked.args, lambda x: x is None or _is_spec(x))
        for each in found:
            if each is not None and not _is_spec(each):
                raise TypeError(f"specs holds PartitionSpecs or None, got {each!r} of type {type(each).__name__}")
        return [whole if each is None else each for each in found]

    def sizes(self, devices: int) -> dict[str, int]:
        """The mesh of so many devices; raises ValueError where they cannot stand so."""
        known = math.prod(size for size in self.mesh.values() if size is not None)
        rest = [name for name, size in self.mesh.items() if size is None]
        if devices % known or (not rest and devices != known):
            wanted = ", ".join(f"{name}={size}" for name, size in self.mesh.items() if size is not None)
            raise ValueError(f"its {devices} devices do not make a mesh with {wanted}")
        return {name: devices // known if size is None else size for name, size in self.mesh.items()}

    def program(self, devices: int, platform: str, kind: str) -> Program:
        """The call for so many devices; raises ValueError where an argument cannot be cut so."""
        sizes = self.sizes(devices)
        places = np.array([PlannedDevice(i, platform, kind) for i in range(devices)], dtype=object)
        mesh = Mesh(places.reshape(tuple(sizes.values())), tuple(sizes))
        args = self._structure.unflatten(
            [self._grown(leaf, spec, sizes) for leaf, spec in zip(self._leaves, self._specs, strict=True)]
        )
        lying = self._structure.unflatten([NamedSharding(mesh, spec) for spec in self._specs])
        options = self._options._replace(in_shardings=told("in_shardings", lying), device=None)
        with set_mesh(mesh):
            call, traced = traced_call(jit_function(self._function, options), args, {})
            return _program(call, traced)

    def _grown(self, leaf: Any, spec: PartitionSpec, sizes: dict[str, int]) -> ShapeDtypeStruct:
        aval = abstract(leaf)
        parts = [*spec, *[None] * (len(aval.shape) - len(spec))]
        grown = [
            size * math.prod(sizes[name] for name in names_of(part) if name in self.growing)
            for size, part in zip(aval.shape, parts, strict=False)
        ]
        return ShapeDtypeStruct(grown, aval.dtype, aval.weak_type)


def _is_spec(x: Any) -> bool:
    return isinstance(x, PartitionSpec)


def _program(call: Call, traced: records.Traced) -> Program:
    """A call on devices that are not here, lowered for them alone: nothing can be done with it in this process."""

    def lowered(platform: str) -> Source:
        return lowered_for(call, platform)

    call.place  # noqa: B018  what cannot lie so is said now
    return Program(lowered, traced, options=call.jitted.options.compile.flags)
