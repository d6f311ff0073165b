"""StableHLO's collective operations, for the part of a program in which each device has its own values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxlib.mlir import ir

from ...ir.avals import ShapedArray, make_aval, physical_aval
from ..mlir.builder import attribute, int64_array
from ..sharding.meshes import PartitionSpec
from ..sharding.named_shardings import NamedSharding
from ..sharding.partitions import Partition, axis_text, sharding_text

_I32 = make_aval((), np.dtype(np.int32))
_channels = itertools.count(1)

#: Groups of positions across mesh axes, within which devices communicate; None for one group of all.
IndexGroups = Sequence[Sequence[int]] | None


class ManualMesh(NamedTuple):
    """Mesh inside of ``shard_map``, with the names of its manual axes and the partition of the whole program."""

    mesh: Any
    names: tuple[Hashable, ...]
    partition: Partition

    @property
    def is_partial(self) -> bool:
        """Return whether some axes of the mesh are not manual: XLA partitions along them."""
        return set(self.names) != set(self.mesh.axis_names)

    @property
    def automatic_axes(self) -> tuple[Hashable, ...]:
        """Return the names of the axes that are not manual: XLA partitions along them."""
        return tuple(name for name in self.mesh.axis_names if name not in self.names)

    def device_numbers(self) -> np.ndarray[Any, Any]:
        """Return the number by which XLA knows each device, in an array of the mesh's shape."""
        number_of = {device: i for i, device in enumerate(self.partition.devices)}
        return np.array([number_of[device] for device in self.mesh.flat]).reshape(self.mesh.axis_sizes)

    def groups(self, axes: Sequence[Hashable], index_groups: IndexGroups = None) -> np.ndarray[Any, Any]:
        """Return the groups of devices that communicate across the given mesh axes.

        Each row of the array has XLA's numbers of the devices of a group, in row-major order of ``axes``. With
        ``index_groups`` these are cut into groups of devices at those positions; -1 stands at the end of smaller ones.
        """
        axis_indices = [self.mesh.axis_names.index(name) for name in axes]
        remaining = [i for i in range(len(self.mesh.axis_names)) if i not in axis_indices]
        numbers = self.device_numbers()
        count = int(np.prod([numbers.shape[i] for i in axis_indices], dtype=np.int64))
        groups = numbers.transpose(*remaining, *axis_indices).reshape(-1, count)
        if index_groups is None:
            return groups
        positions = np.full((len(index_groups), max(map(len, index_groups))), -1)
        for row, index_group in zip(positions, index_groups, strict=True):
            row[: len(index_group)] = index_group
        return np.where(positions < 0, -1, groups[:, positions]).reshape(-1, positions.shape[1])

    def positions_in_group(self, axes: Sequence[Hashable]) -> np.ndarray[Any, Any]:
        """Return the position in its group (:meth:`groups`) for each of XLA's device numbers."""
        positions = np.zeros(self.mesh.size, np.int32)
        for group in self.groups(axes):
            positions[group] = np.arange(len(group))
        return positions


def _collective_attributes(groups: np.ndarray[Any, Any]) -> dict[str, Any]:
    rows, columns = groups.shape
    return {
        "replica_groups": attribute(f"dense<{groups.tolist()}> : tensor<{rows}x{columns}xi64>"),
        "channel_handle": attribute(f"#stablehlo.channel_handle<handle = {next(_channels)}, type = 1>"),
        "use_global_device_ids": ir.UnitAttr.get(),
    }


def all_reduce(
    builder: Any, x: Any, aval: ShapedArray, axes: Sequence[Hashable], operation: str, index_groups: IndexGroups = None
) -> Any:
    """Emit a reduction of ``x`` over all devices across the given mesh axes, and return its value.

    ``aval`` is the type of ``x`` and of the result; ``operation`` is that of StableHLO that combines two elements
    (``stablehlo.add``). ``index_groups`` are groups of positions across the axes; each is reduced by itself.
    """
    attributes = _collective_attributes(builder.manual.groups(axes, index_groups))
    result = builder.operation("stablehlo.all_reduce", [x], attributes, [aval], regions=1)
    _fill_combiner(builder, result, aval, operation)
    return result.results[0]


def sum_or_any(builder: Any, x: Any, aval: ShapedArray, axes: Sequence[Hashable]) -> Any:
    """Emit the sum of ``x`` over all devices across the given mesh axes, of booleans whether one is True."""
    return all_reduce(builder, x, aval, axes, "stablehlo.or" if aval.dtype.kind == "b" else "stablehlo.add")


def reduce_scatter(
    builder: Any, x: Any, aval: ShapedArray, axes: Sequence[Hashable], dimension: int, index_groups: IndexGroups = None
) -> Any:
    """Emit a sum of ``x`` over all devices across mesh axes, of which each device keeps a block; return the block.

    The sum is cut along ``dimension``; ``aval`` is the type of a block. ``index_groups`` are those of
    :func:`all_reduce`.
    """
    attributes = {
        **_collective_attributes(builder.manual.groups(axes, index_groups)),
        "scatter_dimension": attribute(f"{dimension} : i64"),
    }
    collective = builder.operation("stablehlo.reduce_scatter", [x], attributes, [aval], regions=1)
    _fill_combiner(builder, collective, aval, "stablehlo.add")
    return collective.results[0]


def _fill_combiner(builder: Any, collective: Any, aval: ShapedArray, operation: str) -> None:
    scalar = make_aval((), aval.dtype)
    builder.fill_region(collective, [scalar, scalar], lambda x, y: [builder.emit1(operation, [x, y], scalar)])


def all_gather(
    builder: Any, x: Any, aval: ShapedArray, axes: Sequence[Hashable], dimension: int, index_groups: IndexGroups = None
) -> Any:
    """Concatenate the operands of all devices across the given mesh axes along ``dimension``, and return the result.

    ``aval`` is the type of the result. ``index_groups`` are those of :func:`all_reduce`.
    """
    attributes = {
        **_collective_attributes(builder.manual.groups(axes, index_groups)),
        "all_gather_dim": attribute(f"{dimension} : i64"),
    }
    return builder.operation("stablehlo.all_gather", [x], attributes, [aval]).results[0]


def all_to_all(
    builder: Any,
    x: Any,
    aval: ShapedArray,
    axes: Sequence[Hashable],
    split: int,
    concatenated: int,
    index_groups: IndexGroups = None,
) -> Any:
    """Exchange blocks across mesh axes: device i gets block i of every device's operand.

    Operands are cut along axis ``split``, and the blocks concatenated along axis ``concatenated``. ``aval`` is the
    type of the result, which is returned. ``index_groups`` are those of :func:`all_reduce`.
    """
    groups = builder.manual.groups(axes, index_groups)
    attributes = _collective_attributes(groups)
    del attributes["use_global_device_ids"]
    attributes["split_dimension"] = attribute(f"{split} : i64")
    attributes["concat_dimension"] = attribute(f"{concatenated} : i64")
    attributes["split_count"] = attribute(f"{groups.shape[1]} : i64")
    return builder.operation("stablehlo.all_to_all", [x], attributes, [aval]).results[0]


def collective_permute(
    builder: Any, x: Any, aval: ShapedArray, axes: Sequence[Hashable], pairs: Sequence[tuple[int, int]]
) -> Any:
    """Send operands between devices across mesh axes and return what each receives; zeros for devices without a source.

    ``pairs`` are (source, target) as positions across ``axes``, in row-major order; ``aval`` is the type of the
    operand.
    """
    device_pairs = [(int(group[s]), int(group[t])) for group in builder.manual.groups(axes) for s, t in pairs]
    table = f"dense<{[list(pair) for pair in device_pairs]}> : tensor<{len(device_pairs)}x2xi64>"
    attributes = _collective_attributes(builder.manual.groups(axes))
    del attributes["replica_groups"], attributes["use_global_device_ids"]
    attributes["source_target_pairs"] = attribute(table if device_pairs else "dense<> : tensor<0x2xi64>")
    return builder.operation("stablehlo.collective_permute", [x], attributes, [aval]).results[0]


def axis_index(builder: Any, axes: Sequence[Hashable]) -> Any:
    """Emit the position of the executing device across the given mesh axes, in row-major order, as an int32."""
    if builder.manual.is_partial:  # partition_id is valid only where all axes are manual
        return run_on_automatic_axes(builder, [], [], [_I32], lambda: [_position_in_group(builder, axes)])[0]
    return _position_in_group(builder, axes)


def run_on_automatic_axes(
    builder: Any,
    operands: Sequence[Any],
    in_avals: Sequence[ShapedArray],
    out_avals: Sequence[ShapedArray],
    write: Callable[..., list[Any]],
) -> list[Any]:
    """Emit operations for which the automatic axes of ``shard_map`` are manual as well, and return their results.

    Operands and results, with the types ``in_avals`` and ``out_avals``, are replicated along these axes. ``write`` gets
    the operands, emits the operations and returns the results, which have to be equal on these devices.
    """
    outer: ManualMesh = builder.manual
    mesh, symbol = outer.mesh, builder.lowering.mesh_symbol(outer.mesh)
    names = ", ".join(axis_text(mesh, name) for name in outer.automatic_axes)
    replicated = NamedSharding(mesh, PartitionSpec())
    shardings = [
        ", ".join(sharding_text(replicated, len(physical_aval(aval).shape), symbol) for aval in avals)
        for avals in (in_avals, out_avals)
    ]
    attributes = {
        "in_shardings": attribute(f"#sdy.sharding_per_value<[{shardings[0]}]>"),
        "out_shardings": attribute(f"#sdy.sharding_per_value<[{shardings[1]}]>"),
        "manual_axes": attribute(f"#sdy<manual_axes{{{names}}}>"),
    }
    computation = builder.operation("sdy.manual_computation", operands, attributes, out_avals, regions=1)
    builder.manual = outer._replace(names=mesh.axis_names)
    try:
        builder.fill_region(computation, in_avals, write, end="sdy.return")
    finally:
        builder.manual = outer
    return list(computation.results)


def _position_in_group(builder: Any, axes: Sequence[Hashable]) -> Any:
    number = builder.emit1("stablehlo.partition_id", [], make_aval((), np.dtype(np.uint32)))
    number = builder.emit1("stablehlo.convert", [number], _I32)
    positions = builder.manual.positions_in_group(axes)
    table = builder.constant(positions, make_aval(positions.shape, np.dtype(np.int32)))
    single = make_aval((1,), np.dtype(np.int32))
    part = builder.emit1("stablehlo.dynamic_slice", [table, number], single, {"slice_sizes": int64_array((1,))})
    return builder.emit1("stablehlo.reshape", [part], _I32)
