"""Placement of a program: its device, or the devices that share it, by its operands and by what it requests itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...ir.user_frames import user_line, where_text
from ..arrays.key_array import to_physical
from ..devices.array_patching import is_xlascope_array
from ..devices.backend import ArrayImpl, default_device
from ..sharding.meshes import Mesh, PartitionSpec
from ..sharding.named_shardings import MultiDeviceSharding, NamedSharding
from ..sharding.partitions import Partition
from ..sharding.sharded_arrays import array_sharding, is_multi_device


class Placement(NamedTuple):
    """Device of a program, and whether a user chose it, so that its results are committed to it.

    For a program that several devices share, ``device`` is the first of them and ``partition`` has the shardings of
    its operands (None: one device).
    """

    device: Any
    committed: bool
    partition: Partition | None = None


class TypeOnlyOperand:
    """Operand of which the type is known, and the sharding if the program is to be lowered for one, but no value."""

    __slots__ = ("aval", "sharding")

    def __init__(self, aval: ShapedArray, sharding: Any = None) -> None:
        self.aval, self.sharding = aval, sharding


def placement_of(operands: Sequence[Any]) -> Placement:
    """Return the placement that the committed operands have in common, or the default device if none is committed.

    Raises ValueError when they disagree.
    """
    common = None
    for x in operands:
        sharding = committed_sharding(to_physical(x))
        if sharding is not None:
            if isinstance(sharding, MultiDeviceSharding):
                return _shared_placement(operands)
            device = sharding._device
            if common is not None and device != common:
                raise ValueError(
                    f"operands live on different devices, {common} and {device}; move them together with device_put"
                )
            common = device
    return Placement(default_device(), False) if common is None else Placement(common, True)


def _shared_placement(operands: Sequence[Any]) -> Placement:
    """Return the placement of operands of which some lie on several devices.

    The first named sharding among them gives the mesh. Raises ValueError when they are not on the same devices.
    """
    shardings = [committed_sharding(to_physical(x)) for x in operands]
    mesh = next((sharding.mesh for sharding in shardings if isinstance(sharding, NamedSharding)), None)
    given_shardings = [sharding for sharding in shardings if sharding is not None]
    if mesh is None:  # XLA's own shardings only
        mesh = Mesh(np.array(given_shardings[0].devices), ("devices",))
    return Placement(mesh.flat[0], True, partition_on_mesh(mesh, shardings))


def committed_sharding(x: Any) -> Any:
    """Return the sharding of a committed array of xlascope, or of a type that has one; None for other operands."""
    if x.__class__ is TypeOnlyOperand:
        return x.sharding
    if not (isinstance(x, ArrayImpl) and x._committed and is_xlascope_array(x)):
        return None
    return array_sharding(x) if is_multi_device(x) else x._sharding


def partition_on_mesh(mesh: Mesh, shardings: Sequence[Any], results: Sequence[Any] = ()) -> Partition:
    """Return the partition over a mesh for operands with these shardings.

    An operand whose sharding is None or names one device becomes replicated. ``results`` are the shardings requested
    for the results. Raises ValueError for an operand on other devices.
    """
    replicated = NamedSharding(mesh, PartitionSpec())
    for sharding in shardings:
        if sharding is not None and set(sharding.device_set) != set(mesh.flat):
            raise ValueError(
                f"operands live on different devices, {_devices_text(mesh.flat)} and "
                f"{_devices_text(sharding.device_set)}{where_text(user_line())}; move them together with device_put"
            )
    operand_shardings = tuple(
        sharding if isinstance(sharding, MultiDeviceSharding) else replicated for sharding in shardings
    )
    return Partition(mesh, operand_shardings, tuple(results))


def _devices_text(devices: Any) -> str:
    names = sorted(f"{device.platform}:{device.id}" for device in devices)
    return ", ".join(names) if len(names) <= 4 else f"{names[0]}, …, {names[-1]} ({len(names)} devices)"


def resolve_placement(program: ClosedJaxpr, placement: Placement) -> Placement:
    """Return where a program runs: on the mesh that its equations name, if any, else as its operands are placed.

    ``placement`` is that of the operands. Raises ValueError if they are committed to other devices than the mesh's.
    """
    mesh = find_mesh(program)
    if mesh is None:
        return _with_result_shardings(program, placement)
    if placement.partition is None:
        if placement.committed and placement.device not in mesh.flat:
            raise ValueError(
                f"{program.name} runs on {_devices_text(mesh.flat)}, and its operands are committed to "
                f"{_devices_text([placement.device])}{where_text(user_line())}; move them with device_put"
            )
        return _with_result_shardings(
            program, Placement(mesh.flat[0], True, partition_on_mesh(mesh, requested_shardings_of(program)))
        )
    if set(placement.partition.devices) != set(mesh.flat):
        raise ValueError(
            f"{program.name} runs on {_devices_text(mesh.flat)}, and its operands are on "
            f"{_devices_text(placement.partition.devices)}{where_text(user_line())}; move them with device_put"
        )
    return _with_result_shardings(program, placement)


def _with_result_shardings(program: ClosedJaxpr, placement: Placement) -> Placement:
    """Return the placement with result shardings from the results' types, unless it has some.

    A type without a sharding over explicit axes means replicated, if all axes of the mesh are explicit.
    """
    partition = placement.partition
    if partition is None or partition.results or not partition.mesh.has_explicit:
        return placement
    default = partition.replicated_sharding if partition.mesh.all_explicit else None
    results = tuple(aval.explicit or default for aval in program.out_avals)
    return placement._replace(partition=partition._replace(results=results)) if any(results) else placement


def requested_shardings_of(program: ClosedJaxpr) -> list[NamedSharding | None]:
    """Return the sharding requested for each operand by the first equation that requests one, in bodies too.

    None for operands without a request. The list is cached with the program.
    """
    by_operand = program.derived.get("wishes")
    if by_operand is None:
        by_variable = {id(v): v.aval.explicit for v in program.jaxpr.invars if v.aval.explicit is not None}
        for operation, inputs, *_ in program.jaxpr.raw:
            inner_program = operation.as_single_program()
            requested = (
                operation.requested_shardings() if inner_program is None else requested_shardings_of(inner_program)
            )
            for x, sharding in zip(inputs, requested, strict=False):
                if sharding is not None:
                    by_variable.setdefault(id(x), sharding)
        by_operand = program.derived["wishes"] = [by_variable.get(id(v)) for v in program.jaxpr.invars]
    return by_operand


def find_mesh(program: ClosedJaxpr) -> Mesh | None:
    """Return the mesh that equations of a program or of its bodies name, cached with the program; None for no mesh."""
    mesh = program.derived.get("mesh", False)
    if mesh is False:
        mesh = next((aval.explicit.mesh for aval in program.in_avals if aval.explicit is not None), None)
        for raw in program.jaxpr.raw if mesh is None else ():
            operation = raw[0]
            mesh = operation.mesh or next(filter(None, map(find_mesh, operation.bodies())), None)
            if mesh is not None:
                break
        program.derived["mesh"] = mesh
    return mesh
