"""Partitioning of one program over several devices: the input of XLA's partitioner, and the result shardings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxlib import xla_client

from ...ir.avals import ShapedArray, in_words
from ...ir.describe import spec_text
from .meshes import PartitionSpec, names_of
from .named_shardings import NamedSharding, OnSeveral, TiledSharding, spec_of_tiles


class Partition(NamedTuple):
    """Mesh whose devices share a program, with the shardings of its operands and results (None: XLA chooses)."""

    mesh: Any
    operands: tuple[OnSeveral, ...]
    results: tuple[OnSeveral | None, ...] = ()

    @property
    def devices(self) -> tuple[Any, ...]:
        """Return the devices, in the order in which XLA numbers them."""
        return self.mesh.flat

    @property
    def whole(self) -> NamedSharding:
        """Return the sharding that replicates an array on each device."""
        return NamedSharding(self.mesh, PartitionSpec())


def set_partition(options: Any, devices: Sequence[Any], result_count: int) -> None:
    """Have XLA partition a program over devices, and choose the result shardings that are not specified."""
    build = options.executable_build_options
    assignment = xla_client.DeviceAssignment.create(np.array([[device.id for device in devices]], np.int32))
    for options_part in (options, build):
        options_part.num_partitions = len(devices)
        options_part.device_assignment = assignment
    build.use_spmd_partitioning = True
    build.use_shardy_partitioner = True
    build.allow_spmd_sharding_propagation_to_output = [True] * max(result_count, 1)


def results_of_partition(executable: Any, partition: Partition, avals: Sequence[ShapedArray]) -> list[OnSeveral]:
    """Return the shardings of a partitioned program's results."""
    requested = partition.results or (None,) * len(avals)
    reported = executable.get_output_shardings()
    if reported is None:
        return [partition.whole if sharding is None else sharding for sharding in requested]
    return [
        request if request is not None else _result(partition, xla_client.HloSharding.from_proto(proto), aval)
        for request, proto, aval in zip(requested, reported, avals, strict=False)  # a token may follow
    ]


def _result(partition: Partition, hlo: Any, aval: ShapedArray) -> OnSeveral:
    spec = spec_of_tiles(partition.mesh, hlo)
    if spec is None:
        return TiledSharding(partition.devices, hlo)
    return NamedSharding(partition.mesh, spec)


def is_even(sharding: OnSeveral, aval: ShapedArray) -> bool:
    """Return whether each device gets an equal part."""
    shape = in_words(aval).shape
    return all(size % parts == 0 for size, parts in zip(shape, sharding.cuts(len(shape)), strict=True))


def lying_texts(partition: Partition, operands: int) -> dict[str, Any]:
    """Describe a program's mesh and the shardings of its operands (constants first) and results as text."""
    constants = [partition.whole] * (operands - len(partition.operands))
    return {
        "mesh": ", ".join(f"{name}={size}" for name, size in partition.mesh.shape_tuple),
        "inputs_lie": tuple(map(_lying_text, (*constants, *partition.operands))),
        "outputs_lie": tuple(map(_lying_text, partition.results)),
    }


def _lying_text(sharding: OnSeveral | None) -> str:
    return spec_text(sharding.spec) if isinstance(sharding, NamedSharding) else "" if sharding is None else "in tiles"


# Shardings in modules -----------------------------------------------------------------------------------------------


def mesh_text(mesh: Any, devices: Sequence[Any]) -> str:
    """Return the attribute of a mesh in Shardy's dialect; ``devices`` are those of the program, in its order."""
    axes = ", ".join(f"{axis_text(mesh, name)}={size}" for name, size in mesh.shape_tuple)
    positions = {device: i for i, device in enumerate(devices)}
    order = [positions[device] for device in mesh.flat]
    ids = "" if order == list(range(len(order))) else f", device_ids={order}"
    return f"#sdy.mesh<[{axes}]{ids}>"


def axis_text(mesh: Any, name: Any) -> str:
    """Return the name of a mesh axis in a module: the name itself if it is an identifier, else its number."""
    if isinstance(name, str) and name.isidentifier():
        return f'"{name}"'
    return f'"axis.{mesh.axis_names.index(name)}"'


def sharding_text(sharding: NamedSharding, rank: int, symbol: str, *, is_open: bool = False) -> str:
    """Return the sharding of a value of that rank over the mesh ``symbol`` in Shardy's dialect.

    With ``is_open`` XLA may partition the axes further.
    """
    mesh, spec = sharding.mesh, tuple(sharding.spec)
    axes = []
    for axis in range(rank):
        part = spec[axis] if axis < len(spec) else None
        if part is PartitionSpec.UNCONSTRAINED:
            axes.append("{?}")
        else:
            suffix = ["?"] if is_open else []
            axes.append("{" + ", ".join([*(axis_text(mesh, name) for name in names_of(part)), *suffix]) + "}")
    return f"<@{symbol}, [{', '.join(axes)}]>"
