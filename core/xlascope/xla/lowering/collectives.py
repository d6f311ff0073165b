"""StableHLO's collective operations, for the part of a program in which each device has its own values."""

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
    """Part of a program with manual axes: the mesh, the manual axes, and the partition over all devices."""

    mesh: Any
    names: tuple[Hashable, ...]
    partition: Partition

    @property
    def partial(self) -> bool:
        """Return whether some axes of the mesh are left to XLA."""
        return set(self.names) != set(self.mesh.axis_names)

    @property
    def others(self) -> tuple[Hashable, ...]:
        """Return the axes that are left to XLA."""
        return tuple(name for name in self.mesh.axis_names if name not in self.names)

    def numbers(self) -> np.ndarray[Any, Any]:
        """Return XLA's number of each device, in the mesh's shape."""
        number_of = {device: i for i, device in enumerate(self.partition.devices)}
        return np.array([number_of[device] for device in self.mesh.flat]).reshape(self.mesh.axis_sizes)

    def groups(self, axes: Sequence[Hashable]) -> np.ndarray[Any, Any]:
        """Return the devices that communicate across those axes: a row per group, in row-major order."""
        crossed = [self.mesh.axis_names.index(name) for name in axes]
        remaining = [i for i in range(len(self.mesh.axis_names)) if i not in crossed]
        numbers = self.numbers()
        count = int(np.prod([numbers.shape[i] for i in crossed], dtype=np.int64))
        return numbers.transpose(*remaining, *crossed).reshape(-1, count)

    def own(self, axes: Sequence[Hashable]) -> np.ndarray[Any, Any]:
        """Return the position in its group for each of XLA's device numbers."""
        positions = np.zeros(self.mesh.size, np.int32)
        for group in self.groups(axes):
            positions[group] = np.arange(len(group))
        return positions


def _attributes(groups: np.ndarray[Any, Any]) -> dict[str, Any]:
    rows, columns = groups.shape
    return {
        "replica_groups": attribute(f"dense<{groups.tolist()}> : tensor<{rows}x{columns}xi64>"),
        "channel_handle": attribute(f"#stablehlo.channel_handle<handle = {next(_channels)}, type = 1>"),
        "use_global_device_ids": ir.UnitAttr.get(),
    }


def reduced(builder: Any, x: Any, aval: ShapedArray, axes: Sequence[Hashable], operation: str) -> Any:
    """Combine the operands of all devices across the axes by an operation of StableHLO."""
    result = builder.operation("stablehlo.all_reduce", [x], _attributes(builder.manual.groups(axes)), [aval], regions=1)
    _combine(builder, result, aval, operation)
    return result.results[0]


def scattered(builder: Any, x: Any, aval: ShapedArray, axes: Sequence[Hashable], dimension: int) -> Any:
    """Sum all devices' operands and keep a block of the sum along a dimension; ``aval`` is the block's type."""
    attributes = {
        **_attributes(builder.manual.groups(axes)),
        "scatter_dimension": attribute(f"{dimension} : i64"),
    }
    collective = builder.operation("stablehlo.reduce_scatter", [x], attributes, [aval], regions=1)
    _combine(builder, collective, aval, "stablehlo.add")
    return collective.results[0]


def _combine(builder: Any, collective: Any, aval: ShapedArray, operation: str) -> None:
    scalar = shaped((), aval.dtype)
    builder.fill_region(collective, [scalar, scalar], lambda x, y: [builder.emit1(operation, [x, y], scalar)])


def gathered(builder: Any, x: Any, aval: ShapedArray, axes: Sequence[Hashable], dimension: int) -> Any:
    """Concatenate the blocks of all devices across the axes along a dimension of the operand."""
    attributes = {
        **_attributes(builder.manual.groups(axes)),
        "all_gather_dim": attribute(f"{dimension} : i64"),
    }
    return builder.operation("stablehlo.all_gather", [x], attributes, [aval]).results[0]


def exchanged(builder: Any, x: Any, aval: ShapedArray, axes: Sequence[Hashable], split: int, concatenated: int) -> Any:
    """Exchange blocks: device i gets block i of every device's operand, concatenated along another dimension."""
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
    """Send operands between devices by pairs (source, target) of positions; zeros for devices that receive none."""
    device_pairs = [(int(group[s]), int(group[t])) for group in builder.manual.groups(axes) for s, t in pairs]
    table = f"dense<{[list(pair) for pair in device_pairs]}> : tensor<{len(device_pairs)}x2xi64>"
    attributes = _attributes(builder.manual.groups(axes))
    del attributes["replica_groups"], attributes["use_global_device_ids"]
    attributes["source_target_pairs"] = attribute(table if device_pairs else "dense<> : tensor<0x2xi64>")
    return builder.operation("stablehlo.collective_permute", [x], attributes, [aval]).results[0]


def own_place(builder: Any, axes: Sequence[Hashable]) -> Any:
    """Return the position of the executing device across the axes, in row-major order, as an int32."""
    if builder.manual.partial:  # partition_id is valid only where all axes are manual
        mesh = builder.manual.mesh
        names = ", ".join(axis_text(mesh, name) for name in builder.manual.others)
        attributes = {
            "in_shardings": attribute("#sdy.sharding_per_value<[]>"),
            "out_shardings": attribute(f"#sdy.sharding_per_value<[<@{builder.lowering.mesh_symbol(mesh)}, []>]>"),
            "manual_axes": attribute(f"#sdy<manual_axes{{{names}}}>"),
        }
        computation = builder.operation("sdy.manual_computation", [], attributes, [_I32], regions=1)
        builder.fill_region(computation, [], lambda: [_place_among(builder, axes)], end="sdy.return")
        return computation.results[0]
    return _place_among(builder, axes)


def _place_among(builder: Any, axes: Sequence[Hashable]) -> Any:
    number = builder.emit1("stablehlo.partition_id", [], shaped((), np.dtype(np.uint32)))
    number = builder.emit1("stablehlo.convert", [number], _I32)
    positions = builder.manual.own(axes)
    table = builder.constant(positions, shaped(positions.shape, np.dtype(np.int32)))
    single = shaped((1,), np.dtype(np.int32))
    part = builder.emit1("stablehlo.dynamic_slice", [table, number], single, {"slice_sizes": integers((1,))})
    return builder.emit1("stablehlo.reshape", [part], _I32)
