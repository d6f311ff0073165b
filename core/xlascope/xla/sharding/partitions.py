"""One program on several devices: what XLA's partitioner is told, and how the results then lie."""

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
    """The mesh whose devices share a program, how its operands lie there, and its results (None: as XLA likes)."""

    mesh: Any
    operands: tuple[OnSeveral, ...]
    results: tuple[OnSeveral | None, ...] = ()

    @property
    def devices(self) -> tuple[Any, ...]:
        """The devices, in the order in which XLA numbers them."""
        return self.mesh.flat

    @property
    def whole(self) -> NamedSharding:
        """On each device all of it."""
        return NamedSharding(self.mesh, PartitionSpec())


def set_partition(options: Any, devices: Sequence[Any], results: int) -> None:
    """Have XLA partition a program over devices, and choose how its results lie where nothing is said of them."""
    build = options.executable_build_options
    assignment = xla_client.DeviceAssignment.create(np.array([[device.id for device in devices]], np.int32))
    for each in (options, build):
        each.num_partitions = len(devices)
        each.device_assignment = assignment
    build.use_spmd_partitioning = True
    build.use_shardy_partitioner = True
    build.allow_spmd_sharding_propagation_to_output = [True] * max(results, 1)


def results_of_partition(executable: Any, partition: Partition, avals: Sequence[ShapedArray]) -> list[OnSeveral]:
    """How the results of a partitioned program lie."""
    chosen = partition.results or (None,) * len(avals)
    told = executable.get_output_shardings()
    if told is None:
        return [partition.whole if each is None else each for each in chosen]
    return [
        given if given is not None else _result(partition, xla_client.HloSharding.from_proto(proto), aval)
        for given, proto, aval in zip(chosen, told, avals, strict=False)  # a token may follow
    ]


def _result(partition: Partition, tiles: Any, aval: ShapedArray) -> OnSeveral:
    spec = spec_of_tiles(partition.mesh, tiles)
    if spec is None:
        return TiledSharding(partition.devices, tiles)
    return NamedSharding(partition.mesh, spec)


def is_even(sharding: OnSeveral, aval: ShapedArray) -> bool:
    """Whether each device gets an equal part."""
    shape = in_words(aval).shape
    return all(size % parts == 0 for size, parts in zip(shape, sharding.cuts(len(shape)), strict=True))


def lying_texts(partition: Partition, operands: int) -> dict[str, Any]:
    """How a program's devices stand, and how its operands (the constants first) and results lie there, as text."""
    constants = [partition.whole] * (operands - len(partition.operands))
    return {
        "mesh": ", ".join(f"{name}={size}" for name, size in partition.mesh.shape_tuple),
        "inputs_lie": tuple(map(_lying_text, (*constants, *partition.operands))),
        "outputs_lie": tuple(map(_lying_text, partition.results)),
    }


def _lying_text(sharding: OnSeveral | None) -> str:
    return spec_text(sharding.spec) if isinstance(sharding, NamedSharding) else "" if sharding is None else "in tiles"


# What stands in the module ------------------------------------------------------------------------------------------


def mesh_text(mesh: Any, devices: Sequence[Any]) -> str:
    """The attribute of a mesh in Shardy's dialect; ``devices`` are those of the program, in its order."""
    axes = ", ".join(f"{axis_text(mesh, name)}={size}" for name, size in mesh.shape_tuple)
    place = {device: i for i, device in enumerate(devices)}
    order = [place[device] for device in mesh.flat]
    ids = "" if order == list(range(len(order))) else f", device_ids={order}"
    return f"#sdy.mesh<[{axes}]{ids}>"


def axis_text(mesh: Any, name: Any) -> str:
    """The name of a mesh's axis in a module: its own where that is a plain text, else its number."""
    if isinstance(name, str) and name.isidentifier():
        return f'"{name}"'
    return f'"axis.{mesh.axis_names.index(name)}"'


def sharding_text(sharding: NamedSharding, rank: int, symbol: str, *, cut_on: bool = False) -> str:
    """How a value of that rank lies on the mesh that has this symbol, in Shardy's dialect; with ``cut_on`` XLA may cut
    parts further.
    """
    mesh, spec = sharding.mesh, tuple(sharding.spec)
    axes = []
    for axis in range(rank):
        part = spec[axis] if axis < len(spec) else None
        if part is PartitionSpec.UNCONSTRAINED:
            axes.append("{?}")
        else:
            more = ["?"] if cut_on else []
            axes.append("{" + ", ".join([*(axis_text(mesh, name) for name in names_of(part)), *more]) + "}")
    return f"<@{symbol}, [{', '.join(axes)}]>"
