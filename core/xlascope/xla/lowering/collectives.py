"""StableHLO's operations across devices, for the part of a program in which each device has its own values."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxlib.mlir import ir

from ...ir.avals import ShapedArray, shaped
from ..mlir.builder import attribute, integers
from ..sharding.partitions import Partition, axis_text

_I32 = shaped((), np.dtype(np.int32))
_channels = itertools.count(1)


class Manual(NamedTuple):
    """Where each device has its own values: the mesh, the names that may be crossed, and all the program's devices."""

    mesh: Any
    names: tuple[Hashable, ...]
    partition: Partition

    @property
    def partial(self) -> bool:
        """Whether there are axes of the mesh along which XLA may cut values."""
        return set(self.names) != set(self.mesh.axis_names)

    @property
    def others(self) -> tuple[Hashable, ...]:
        """Those axes."""
        return tuple(name for name in self.mesh.axis_names if name not in self.names)

    def numbers(self) -> np.ndarray[Any, Any]:
        """XLA's number of each device, in the mesh's shape."""
        place = {device: i for i, device in enumerate(self.partition.devices)}
        return np.array([place[device] for device in self.mesh.flat]).reshape(self.mesh.axis_sizes)

    def groups(self, axes: Sequence[Hashable]) -> np.ndarray[Any, Any]:
        """Which devices talk to each other across those axes: a row for each group, in row-major order."""
        crossed = [self.mesh.axis_names.index(name) for name in axes]
        rest = [i for i in range(len(self.mesh.axis_names)) if i not in crossed]
        numbers = self.numbers()
        count = int(np.prod([numbers.shape[i] for i in crossed], dtype=np.int64))
        return numbers.transpose(*rest, *crossed).reshape(-1, count)

    def own(self, axes: Sequence[Hashable]) -> np.ndarray[Any, Any]:
        """For each of XLA's numbers the place of that device among those that it talks to."""
        found = np.zeros(self.mesh.size, np.int32)
        for group in self.groups(axes):
            found[group] = np.arange(len(group))
        return found


def _attributes(groups: np.ndarray[Any, Any]) -> dict[str, Any]:
    rows, columns = groups.shape
    return {
        "replica_groups": attribute(f"dense<{groups.tolist()}> : tensor<{rows}x{columns}xi64>"),
        "channel_handle": attribute(f"#stablehlo.channel_handle<handle = {next(_channels)}, type = 1>"),
        "use_global_device_ids": ir.UnitAttr.get(),
    }


def reduced(builder: Any, x: Any, aval: ShapedArray, axes: Sequence[Hashable], operation: str) -> Any:
    """The operands of all devices across the axes, combined by an operation of StableHLO."""
    made = builder.operation("stablehlo.all_reduce", [x], _attributes(builder.manual.groups(axes)), [aval], regions=1)
    _combine(builder, made, aval, operation)
    return made.results[0]


def scattered(builder: Any, x: Any, aval: ShapedArray, axes: Sequence[Hashable], dimension: int) -> Any:
    """The sum of all devices' operands, of which each keeps a block along an axis; ``aval`` is that of a block."""
    attributes = {
        **_attributes(builder.manual.groups(axes)),
        "scatter_dimension": attribute(f"{dimension} : i64"),
    }
    made = builder.operation("stablehlo.reduce_scatter", [x], attributes, [aval], regions=1)
    _combine(builder, made, aval, "stablehlo.add")
    return made.results[0]


def _combine(builder: Any, made: Any, aval: ShapedArray, operation: str) -> None:
    scalar = shaped((), aval.dtype)
    builder.fill_region(made, [scalar, scalar], lambda x, y: [builder.emit1(operation, [x, y], scalar)])


def gathered(builder: Any, x: Any, aval: ShapedArray, axes: Sequence[Hashable], dimension: int) -> Any:
    """The blocks of all devices across the axes, one after the other along an axis of the operand."""
    attributes = {
        **_attributes(builder.manual.groups(axes)),
        "all_gather_dim": attribute(f"{dimension} : i64"),
    }
    return builder.operation("stablehlo.all_gather", [x], attributes, [aval]).results[0]


def exchanged(builder: Any, x: Any, aval: ShapedArray, axes: Sequence[Hashable], split: int, concatenated: int) -> Any:
    """Block i along one axis of every device's operand, for device i, one after the other along another axis."""
    groups = builder.manual.groups(axes)
    attributes = _attributes(groups)
    del attributes["use_global_device_ids"]
    attributes["split_dimension"] = attribute(f"{split} : i64")
    attributes["concat_dimension"] = attribute(f"{concatenated} : i64")
    attributes["split_count"] = attribute(f"{groups.shape[1]} : i64")
    return builder.operation("stablehlo.all_to_all", [x], attributes, [aval]).results[0]


def permuted(
    builder: Any, x: Any, aval: ShapedArray, axes: Sequence[Hashable], pairs: Sequence[tuple[int, int]]
) -> Any:
    """The operand of another device: pairs (source, target) of places across the axes; zeros where none sends."""
    sent = [(int(group[s]), int(group[t])) for group in builder.manual.groups(axes) for s, t in pairs]
    table = f"dense<{[list(pair) for pair in sent]}> : tensor<{len(sent)}x2xi64>"
    attributes = _attributes(builder.manual.groups(axes))
    del attributes["replica_groups"], attributes["use_global_device_ids"]
    attributes["source_target_pairs"] = attribute(table if sent else "dense<> : tensor<0x2xi64>")
    return builder.operation("stablehlo.collective_permute", [x], attributes, [aval]).results[0]


def own_place(builder: Any, axes: Sequence[Hashable]) -> Any:
    """The place of the device that runs the program among those across the axes, in row-major order: an int32."""
    if builder.manual.partial:  # a device's number is known where all axes are manual
        mesh = builder.manual.mesh
        names = ", ".join(axis_text(mesh, name) for name in builder.manual.others)
        attributes = {
            "in_shardings": attribute("#sdy.sharding_per_value<[]>"),
            "out_shardings": attribute(f"#sdy.sharding_per_value<[<@{builder.lowering.mesh_symbol(mesh)}, []>]>"),
            "manual_axes": attribute(f"#sdy<manual_axes{{{names}}}>"),
        }
        made = builder.operation("sdy.manual_computation", [], attributes, [_I32], regions=1)
        builder.fill_region(made, [], lambda: [_place_among(builder, axes)], end="sdy.return")
        return made.results[0]
    return _place_among(builder, axes)


def _place_among(builder: Any, axes: Sequence[Hashable]) -> Any:
    number = builder.emit1("stablehlo.partition_id", [], shaped((), np.dtype(np.uint32)))
    number = builder.emit1("stablehlo.convert", [number], _I32)
    places = builder.manual.own(axes)
    table = builder.constant(places, shaped(places.shape, np.dtype(np.int32)))
    one = shaped((1,), np.dtype(np.int32))
    part = builder.emit1("stablehlo.dynamic_slice", [table, number], one, {"slice_sizes": integers((1,))})
    return builder.emit1("stablehlo.reshape", [part], _I32)
