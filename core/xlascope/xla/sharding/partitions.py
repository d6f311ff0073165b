"""Partitioning of one program over several devices: the input of XLA's partitioner, and the result shardings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxlib import xla_client

from ...ir.avals import ShapedArray, physical_aval
from ...ir.jaxpr_record import format_spec
from .meshes import PartitionSpec, axis_names_of
from .named_shardings import MultiDeviceSharding, NamedSharding, TiledSharding, spec_of_hlo_sharding


class Partition(NamedTuple):
    """Mesh whose devices share a program, with the shardings of its operands and results (None: XLA chooses).

    Without ``results`` XLA chooses those of all results.
    """

    mesh: Any
    operands: tuple[MultiDeviceSharding, ...]
    results: tuple[MultiDeviceSharding | None, ...] = ()

    @property
    def devices(self) -> tuple[Any, ...]:
        """Return the devices, in the order in which XLA numbers them."""
        return self.mesh.flat

    @property
    def replicated_sharding(self) -> NamedSharding:
        """Return the sharding that replicates an array on each device."""
        return NamedSharding(self.mesh, PartitionSpec())


def set_partition(options: Any, devices: Sequence[Any], result_count: int) -> None:
    """Set XLA's compile options so that the program is partitioned over devices.

    XLA chooses the result shardings that the module does not specify. ``result_count`` is the number of results, with
    a token that is among them.
    """
    build = options.executable_build_options
    assignment = xla_client.DeviceAssignment.create(np.array([[device.id for device in devices]], np.int32))
    for options_part in (options, build):
        options_part.num_partitions = len(devices)
        options_part.device_assignment = assignment
    build.use_spmd_partitioning = True
    build.use_shardy_partitioner = True
    build.allow_spmd_sharding_propagation_to_output = [True] * max(result_count, 1)


def result_shardings(executable: Any, partition: Partition, avals: Sequence[ShapedArray]) -> list[MultiDeviceSharding]:
    """Return the result shardings of a partitioned program: those requested in ``partition``, else XLA's choice.

    ``avals`` are the types of the results.
    """
    requested = partition.results or (None,) * len(avals)
    reported = executable.get_output_shardings()
    if reported is None:
        return [partition.replicated_sharding if sharding is None else sharding for sharding in requested]
    return [
        request
        if request is not None
        else _to_result_sharding(partition, xla_client.HloSharding.from_proto(proto), aval)
        for request, proto, aval in zip(requested, reported, avals, strict=False)  # a token may follow
    ]


def _to_result_sharding(partition: Partition, hlo: Any, aval: ShapedArray) -> MultiDeviceSharding:
    spec = spec_of_hlo_sharding(partition.mesh, hlo)
    if spec is None:
        return TiledSharding(partition.devices, hlo)
    return NamedSharding(partition.mesh, spec)


def is_even(sharding: MultiDeviceSharding, aval: ShapedArray) -> bool:
    """Return whether a sharding cuts an array of type ``aval`` into blocks of one size."""
    shape = physical_aval(aval).shape
    return all(size % parts == 0 for size, parts in zip(shape, sharding.partition_counts(len(shape)), strict=True))


def sharding_descriptions(partition: Partition, operands: int) -> dict[str, Any]:
    """Return the mesh of a program and the shardings of its operands and results as text, as fields of its record.

    ``operands`` is the number of operands with the program's constants, which come first and are replicated.
    """
    constants = [partition.replicated_sharding] * (operands - len(partition.operands))
    return {
        "mesh": ", ".join(f"{name}={size}" for name, size in partition.mesh.shape_tuple),
        "inputs_lie": tuple(map(_sharding_description, (*constants, *partition.operands))),
        "outputs_lie": tuple(map(_sharding_description, partition.results)),
    }


def _sharding_description(sharding: MultiDeviceSharding | None) -> str:
    return format_spec(sharding.spec) if isinstance(sharding, NamedSharding) else "" if sharding is None else "in tiles"


# Shardings in modules -----------------------------------------------------------------------------------------------


def mesh_text(mesh: Any, devices: Sequence[Any]) -> str:
    """Return the attribute of a mesh in Shardy's dialect; ``devices`` are those of the program, as XLA numbers them."""
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
    """Return the attribute of a sharding in Shardy's dialect, for a value with ``rank`` axes.

    ``symbol`` is that of the mesh in the module. With ``is_open`` XLA may partition the axes further.
    """
    mesh, spec = sharding.mesh, tuple(sharding.spec)
    axes = []
    for axis in range(rank):
        part = spec[axis] if axis < len(spec) else None
        if part is PartitionSpec.UNCONSTRAINED:
            axes.append("{?}")
        else:
            suffix = ["?"] if is_open else []
            axes.append("{" + ", ".join([*(axis_text(mesh, name) for name in axis_names_of(part)), *suffix]) + "}")
    return f"<@{symbol}, [{', '.join(axes)}]>"
