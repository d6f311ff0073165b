"""A call on devices that are not present: a mesh of placeholder devices, and shardings of the arguments over it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import records, tree
from ...api import abstract
from ...control.jit.arguments import JitOptions
from ...control.jit.jit_function import jit_function
from ...control.jit.shardings import resolve_shardings
from ...control.programs.tree_prefixes import broadcast_prefix_leaves
from ...ir.avals import ShapeDtypeStruct
from ...xla.sharding.meshes import Mesh, PartitionSpec, axis_names_of, set_mesh
from ...xla.sharding.named_shardings import NamedSharding
from ..producers import Query
from ..program import Program, QuestionError, Source
from .lowering import lower_for
from .traced_calls import InspectedCall, jitted_of, trace_with_record


@dataclass(frozen=True, slots=True)
class PlannedDevice:
    """Placeholder for a device of a target: programs can be lowered for it, but it holds no data."""

    id: int
    platform: str
    device_kind: str
    process_index: int = 0

    def __repr__(self) -> str:
        return f"PlannedDevice({self.device_kind!r}, id={self.id})"


class ScalingPlan:
    """Mesh of a target's devices, and shardings of the arguments on it.

    ``mesh`` has the size of each axis by its name, one of them None: the remaining devices. ``specs`` is a prefix
    of the tree of arguments whose leaves are PartitionSpecs (None: replicated); without it each argument keeps
    its own sharding. ``growing`` are axes of the mesh along which arguments have their size on each device.
    """

    def __init__(self, query: Query, mesh: Mapping[str, int | None], specs: Any, growing: Sequence[str]) -> None:
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
        self.asked, self.mesh, self.growing = query, dict(mesh), tuple(growing)
        jitted = jitted_of(query.function)
        if jitted is not None and (jitted.options.in_shardings or jitted.options.out_shardings):
            raise QuestionError(
                f"{jitted.name} was jitted with shardings, on devices of its own: ask about the function without them, "
                "and say by specs how its arguments lie"
            )
        self._function = query.function if jitted is None else jitted.function
        self._options = JitOptions() if jitted is None else jitted.options
        if self._options.static_argnums or self._options.static_argnames or query.kwargs:
            raise QuestionError(
                "arguments that are static, or given by keyword: bind them first, with functools.partial"
            )
        self._leaves, self._structure = tree.flatten(query.args)
        self._specs = self._resolve_specs(specs)

    def _resolve_specs(self, specs: Any) -> list[PartitionSpec]:
        """Return a PartitionSpec for each leaf of the arguments; raise TypeError if ``specs`` holds anything else."""
        if specs is None:
            shardings = [getattr(leaf, "sharding", None) for leaf in self._leaves]
            return [item.spec if isinstance(item, NamedSharding) else PartitionSpec() for item in shardings]
        if len(self.asked.args) == 1 and not isinstance(specs, tuple | list):
            specs = (specs,)
        replicated = PartitionSpec()
        leaf_specs = broadcast_prefix_leaves(
            "scaling", "specs", specs, self.asked.args, lambda x: x is None or _is_spec(x)
        )
        for item in leaf_specs:
            if item is not None and not _is_spec(item):
                raise TypeError(f"specs holds PartitionSpecs or None, got {item!r} of type {type(item).__name__}")
        return [replicated if item is None else item for item in leaf_specs]

    def sizes(self, devices: int) -> dict[str, int]:
        """Return the size of each mesh axis for a number of devices; raise ValueError if they do not fill the mesh."""
        fixed = math.prod(size for size in self.mesh.values() if size is not None)
        open_axes = [name for name, size in self.mesh.items() if size is None]
        if devices % fixed or (not open_axes and devices != fixed):
            mesh_text = ", ".join(f"{name}={size}" for name, size in self.mesh.items() if size is not None)
            raise ValueError(f"its {devices} devices do not make a mesh with {mesh_text}")
        return {name: devices // fixed if size is None else size for name, size in self.mesh.items()}

    def program(self, devices: int, platform: str, kind: str) -> Program:
        """Trace the call for a number of devices; raise ValueError if an argument cannot be sharded so.

        ``platform`` and ``kind`` are the platform and the device kind of the placeholder devices.
        """
        sizes = self.sizes(devices)
        planned_devices = np.array([PlannedDevice(i, platform, kind) for i in range(devices)], dtype=object)
        mesh = Mesh(planned_devices.reshape(tuple(sizes.values())), tuple(sizes))
        args = self._structure.unflatten(
            [self._grow_leaf(leaf, spec, sizes) for leaf, spec in zip(self._leaves, self._specs, strict=True)]
        )
        shardings = self._structure.unflatten([NamedSharding(mesh, spec) for spec in self._specs])
        options = self._options._replace(in_shardings=resolve_shardings("in_shardings", shardings), device=None)
        with set_mesh(mesh):
            call, traced = trace_with_record(jit_function(self._function, options), args, {})
            return _as_program(call, traced)

    def _grow_leaf(self, leaf: Any, spec: PartitionSpec, sizes: dict[str, int]) -> ShapeDtypeStruct:
        """Return the type of an argument on the whole mesh, larger along the growing mesh axes that cut it.

        ``leaf`` is an array or type, ``spec`` its partition spec, ``sizes`` the number of devices along each mesh axis.
        An axis of the array is multiplied by those of the growing mesh axes that cut it.
        """
        aval = abstract(leaf)
        parts = [*spec, *[None] * (len(aval.shape) - len(spec))]
        shape = [
            size * math.prod(sizes[name] for name in axis_names_of(part) if name in self.growing)
            for size, part in zip(aval.shape, parts, strict=False)
        ]
        return ShapeDtypeStruct(shape, aval.dtype, aval.weak_type)


def _is_spec(x: Any) -> bool:
    return isinstance(x, PartitionSpec)


def _as_program(call: InspectedCall, traced: records.Traced) -> Program:
    """Return a call on absent devices as a program, which can be lowered but not run in this process."""

    def lower(platform: str) -> Source:
        return lower_for(call, platform)

    call.place  # noqa: B018  raises now for an invalid sharding
    return Program(lower, traced, options=call.jitted.options.compile.flags)
