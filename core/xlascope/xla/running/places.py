"""Where a program runs: the device, or the devices that share it, by its operands and by what it says itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ir.jaxpr import ClosedJaxpr
from ...ir.sources import user_line, where_text
from ..arrays.key_array import held
from ..devices.backend import ArrayImpl, default_device
from ..devices.faces import is_ours
from ..sharding.meshes import Mesh, PartitionSpec
from ..sharding.named_shardings import NamedSharding, OnSeveral
from ..sharding.partitions import Partition
from ..sharding.spread import is_spread, lies


class Place(NamedTuple):
    """A device, and whether a user chose it (results then stay there) or it is just the default one; for a program
    that several devices share the first of them, and how.
    """

    device: Any
    committed: bool
    partition: Partition | None = None


def place_of(operands: Sequence[Any]) -> Place:
    """Where operands are committed to, or the default device; raises ValueError when they disagree."""
    found = None
    for x in operands:
        x = held(x)
        if isinstance(x, ArrayImpl) and x._committed and is_ours(x):
            if is_spread(x):
                return _place_on_several(operands)
            device = x._sharding._device
            if found is not None and device != found:
                raise ValueError(
                    f"operands live on different devices, {found} and {device}; move them together with device_put"
                )
            found = device
    return Place(default_device(), False) if found is None else Place(found, True)


def _place_on_several(operands: Sequence[Any]) -> Place:
    """Where operands are of which some lie on several devices; raises ValueError when they are not the same ones."""
    shardings = [_lying(held(x)) for x in operands]
    mesh = next((each.mesh for each in shardings if isinstance(each, NamedSharding)), None)
    known = [each for each in shardings if each is not None]
    if mesh is None:  # XLA's own ways to cut only
        mesh = Mesh(np.array(known[0].devices), ("devices",))
    return Place(mesh.flat[0], True, partition_over(mesh, shardings))


def _lying(x: Any) -> Any:
    """How an operand lies that is committed; None for others."""
    if not (isinstance(x, ArrayImpl) and x._committed and is_ours(x)):
        return None
    return lies(x) if is_spread(x) else x._sharding


def partition_over(mesh: Mesh, shardings: Sequence[Any], results: Sequence[Any] = ()) -> Partition:
    """Operands that lie so (None: anywhere, they come to be whole everywhere) on the devices of a mesh.

    Raises ValueError for one that is on other devices.
    """
    whole = NamedSharding(mesh, PartitionSpec())
    for each in shardings:
        if each is not None and set(each.device_set) != set(mesh.flat):
            raise ValueError(
                f"operands live on different devices, {_devices_text(mesh.flat)} and "
                f"{_devices_text(each.device_set)}{where_text(user_line())}; move them together with device_put"
            )
    lying = tuple(each if isinstance(each, OnSeveral) else whole for each in shardings)
    return Partition(mesh, lying, tuple(results))


def _devices_text(devices: Any) -> str:
    listed = sorted(f"{each.platform}:{each.id}" for each in devices)
    return ", ".join(listed) if len(listed) <= 4 else f"{listed[0]}, …, {listed[-1]} ({len(listed)} devices)"


def with_meshes(program: ClosedJaxpr, place: Place) -> Place:
    """Where a program runs of which equations name a mesh: on its devices, whatever the operands say."""
    mesh = mesh_of(program)
    if mesh is None:
        return _with_types(program, place)
    if place.partition is None:
        if place.committed and place.device not in mesh.flat:
            raise ValueError(
                f"{program.name} runs on {_devices_text(mesh.flat)}, and its operands are committed to "
                f"{_devices_text([place.device])}{where_text(user_line())}; move them with device_put"
            )
        return _with_types(program, Place(mesh.flat[0], True, partition_over(mesh, wishes_of(program))))
    if set(place.partition.devices) != set(mesh.flat):
        raise ValueError(
            f"{program.name} runs on {_devices_text(mesh.flat)}, and its operands are on "
            f"{_devices_text(place.partition.devices)}{where_text(user_line())}; move them with device_put"
        )
    return _with_types(program, place)


def _with_types(program: ClosedJaxpr, place: Place) -> Place:
    """The place with results that lie as their types say; a type that says nothing of explicit axes says "whole"."""
    partition = place.partition
    if partition is None or partition.results or not partition.mesh.has_explicit:
        return place
    other = partition.whole if partition.mesh.all_explicit else None
    results = tuple(aval.explicit or other for aval in program.out_avals)
    return place._replace(partition=partition._replace(results=results)) if any(results) else place


def wishes_of(program: ClosedJaxpr) -> list[NamedSharding | None]:
    """For each operand how the first equation that says so wants it to lie, also in calls; None where none does."""
    found = program.derived.get("wishes")
    if found is None:
        known = {id(v): v.aval.explicit for v in program.jaxpr.invars if v.aval.explicit is not None}
        for operation, inputs, *_ in program.jaxpr.raw:
            whole = operation.whole()
            told = operation.wishes() if whole is None else wishes_of(whole)
            for x, wish in zip(inputs, told, strict=False):
                if wish is not None:
                    known.setdefault(id(x), wish)
        found = program.derived["wishes"] = [known.get(id(v)) for v in program.jaxpr.invars]
    return found


def mesh_of(program: ClosedJaxpr) -> Mesh | None:
    """The mesh that equations of a program name, those of the programs that it holds as well; None for no mesh."""
    found = program.derived.get("mesh", False)
    if found is False:
        found = next((aval.explicit.mesh for aval in program.in_avals if aval.explicit is not None), None)
        for raw in program.jaxpr.raw if found is None else ():
            operation = raw[0]
            found = operation.mesh or next(filter(None, map(mesh_of, operation.bodies())), None)
            if found is not None:
                break
        program.derived["mesh"] = found
    return found
