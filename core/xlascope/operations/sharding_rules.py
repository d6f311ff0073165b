"""Sharding of results along explicit axes of a mesh: a rule for each family of operations.

Each is a ``sharding_rule``: see ``ir/explicit_sharding.py``. A rule takes the operation, the partitions of its operands
(for each axis the mesh axes it is cut along) and the types of operands and results, and returns the partitions of the
results. The rules agree with JAX's and cover a few more cases. Nothing is guessed: where a result could be sharded in
several ways they raise ShardingTypeError, and the user has to choose.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..ir.avals import ShapedArray
from ..ir.explicit_sharding import Parts, unclear

Types = Sequence[ShapedArray]
_RESHARD_HINT = "Make that axis whole with reshard first, or run this part under auto_axes"


def elementwise(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Partition results as their operands are; operands that are not partitioned follow the others.

    ``parts`` has a tuple for each operand: for each axis, the mesh axes that cut it. Returns such a tuple for each
    result.
    """
    shape = results[0].shape
    return [merge_parts(operation, parts, operands, shape)] * len(results)


def merge_parts(
    operation: Any,
    parts: Sequence[Parts],
    operands: Types,
    shape: Sequence[int],
    shapes: Sequence[Sequence[int]] | None = None,
) -> Parts:
    """Merge the partitions of operands into that of a result of shape ``shape``, axis by axis.

    Operands of another rank, and axes of another size than the result's, are ignored. ``shapes`` are the sizes of the
    axes that ``parts`` describe, by default the operands' shapes. Raises ShardingTypeError where operands disagree.
    """
    result: list[tuple[Any, ...]] = [()] * len(shape)
    for operand_parts, sizes in zip(parts, shapes or [aval.shape for aval in operands], strict=True):
        if len(sizes) != len(shape):
            continue
        for axis, part in enumerate(operand_parts):
            if not part or sizes[axis] != shape[axis]:
                continue
            if result[axis] and result[axis] != part:
                raise unclear(operation, operands, f"along axis {axis} operands are cut in different ways")
            result[axis] = part
    return tuple(result)


def same_as_first(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Partition each result as the first operand, which has its shape.

    ``parts`` has a tuple for each operand: for each axis, the mesh axes that cut it. Returns such a tuple for each
    result.
    """
    return [parts[0]] * len(results)


def pass_through(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Return the partitions of the operands: each result is an operand, in order.

    ``parts`` has a tuple for each operand: for each axis, the mesh axes that cut it. Returns such a tuple for each
    result.
    """
    return list(parts)


def replicate(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Return no mesh axes for any axis of the results: each device has them whole.

    ``parts`` is ignored. The list has a tuple for each result, with ``()`` for each axis.
    """
    return [((),) * len(aval.shape) for aval in results]


def resize(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Partition results as the first operand; they have as many axes, some of other sizes.

    ``parts`` has a tuple for each operand: for each axis, the mesh axes that cut it. Returns such a tuple for each
    result.
    """
    return [parts[0]] * len(results)


def without_axes(parts: Parts, axes: Sequence[int]) -> Parts:
    """Return the partitions of an array without those of ``axes``."""
    return tuple(part for axis, part in enumerate(parts) if axis not in axes)


def reduce(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Drop the reduced axes: XLA combines the partial results of the devices.

    ``parts`` has a tuple for each operand: for each axis, the mesh axes that cut it. Returns such a tuple for each
    result.
    """
    return [without_axes(parts[0], operation.axes)] * len(results)


def along_axes(
    operation: Any, parts: Sequence[Parts], operands: Types, results: Types, axes: Sequence[int]
) -> list[Parts]:
    """Partition results as the operands; the operation works along ``axes``, which must not be partitioned.

    ``parts`` has a tuple for each operand: for each axis, the mesh axes that cut it. Returns such a tuple for each
    result.
    """
    for operand_parts in parts:
        for axis in axes:
            if axis < len(operand_parts) and operand_parts[axis]:
                raise unclear(operation, operands, f"it goes along axis {axis}, which is cut", _RESHARD_HINT)
    result = merge_parts(operation, parts, operands, operands[0].shape)
    return [result] * len(results)


def slide_windows(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Partition results as the first operand, over which windows slide.

    ``parts`` has a tuple for each operand: for each axis, the mesh axes that cut it. Returns such a tuple for each
    result.
    """
    return [parts[0]] * len(results)


def matrix_stacks(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Partition the stack axes of results as those of the operands are; the matrices themselves must be whole.

    The last two axes are those of the matrices. ``parts`` has a tuple for each operand: for each axis, the mesh axes
    that cut it. Returns such a tuple for each result. Raises ShardingTypeError if a matrix is cut, or if operands are
    cut differently along a stack axis.
    """
    return stacks_of_rank(operation, parts, operands, results, max(len(aval.shape) for aval in operands) - 2)


def stacks_of_rank(operation: Any, parts: Sequence[Parts], operands: Types, results: Types, rank: int) -> list[Parts]:
    """Partition results with ``rank`` leading stack axes; all other axes have to be unpartitioned.

    ``parts`` has a tuple for each operand: for each axis, the mesh axes that cut it. Returns such a tuple for each
    result.
    """
    for operand_parts in parts:
        if any(operand_parts[rank:]):
            raise unclear(operation, operands, "a matrix is cut, and has to be whole on a device", _RESHARD_HINT)
    leading = [operand_parts[:rank] for operand_parts in parts]
    stack = merge_parts(operation, leading, operands, operands[0].shape[:rank], [x.shape[:rank] for x in operands])
    return [(*stack, *[()] * (len(aval.shape) - rank)) for aval in results]


def broadcast(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Move partitions to the result's axes; new and broadcast axes are unpartitioned.

    ``parts`` has a tuple for each operand: for each axis, the mesh axes that cut it. Returns such a tuple for each
    result.
    """
    ((operand_parts,), (x,)) = parts, operands
    result: list[tuple[Any, ...]] = [()] * len(operation.shape)
    for axis, result_axis in enumerate(operation.broadcast_dimensions):
        if x.shape[axis] == operation.shape[result_axis]:
            result[result_axis] = operand_parts[axis]
    return [tuple(result)]


def reshape(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Partition the result of a reshape.

    ``parts`` has a tuple for each operand: for each axis, the mesh axes that cut it. Returns such a tuple for each
    result. An axis that is split passes its mesh axes on to the new axes, beginning with the slowest one; axes that are
    merged have to be partitioned from the slowest one on. Otherwise ShardingTypeError is raised.
    """
    ((operand_parts,), (x,), (y,)) = parts, operands, results
    sizes = next(aval.explicit for aval in operands if aval.explicit is not None).mesh.shape
    result: list[tuple[Any, ...]] = [()] * len(y.shape)
    for ins, outs in _matching_axis_groups(x.shape, y.shape):
        names = _merged_mesh_axes([(x.shape[i], operand_parts[i]) for i in ins], sizes)
        out_parts = None if names is None else _split_mesh_axes(names, [y.shape[i] for i in outs], sizes)
        if out_parts is None:
            raise unclear(
                operation,
                operands,
                f"to {y.shape} leaves open how the result lies",
                "Say it: reshape(..., out_sharding=PartitionSpec(...))",
            )
        for axis, part in zip(outs, out_parts, strict=True):
            result[axis] = part
    return [tuple(result)]


def _matching_axis_groups(ins: Sequence[int], outs: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Return the smallest groups of successive axes, of operand and result, that hold the same elements.

    ``ins`` and ``outs`` are the two shapes; a group is a pair of lists of axes. Axes of size 1 are in no group, and
    there are no groups if there are no elements.
    """
    if 0 in ins or 0 in outs:
        return []
    in_axes = [i for i, size in enumerate(ins) if size != 1]
    out_axes = [i for i, size in enumerate(outs) if size != 1]
    groups = []
    while in_axes and out_axes:
        group: tuple[list[int], list[int]] = ([in_axes.pop(0)], [out_axes.pop(0)])
        while True:
            a, b = math.prod(ins[i] for i in group[0]), math.prod(outs[i] for i in group[1])
            if a == b:
                break
            if a < b:
                group[0].append(in_axes.pop(0))
            else:
                group[1].append(out_axes.pop(0))
        groups.append(group)
    return groups


def _merged_mesh_axes(axes: Sequence[tuple[int, tuple[Any, ...]]], sizes: Any) -> tuple[Any, ...] | None:
    """Return the mesh axes that partition merged successive axes; None where the parts are not contiguous.

    ``axes`` are pairs of the size of an axis and its mesh axes; ``sizes`` are the sizes of the mesh axes by name.
    """
    names: list[Any] = []
    complete = True
    for size, part in axes:
        if part and not complete:
            return None
        names += part
        complete = complete and math.prod(sizes[name] for name in part) == size
    return tuple(names)


def _split_mesh_axes(names: Sequence[Any], axes: Sequence[int], sizes: Any) -> list[tuple[Any, ...]] | None:
    """Distribute mesh axes over the axes that one axis is split into.

    ``names`` are the mesh axes, ``axes`` the sizes of the new axes, ``sizes`` those of the mesh axes by name. Returns
    the mesh axes of each new axis, None if they cannot be distributed evenly.
    """
    remaining, result = list(names), []
    for size in axes:
        part: list[Any] = []
        while remaining and size % sizes[remaining[0]] == 0:
            size //= sizes[remaining[0]]
            part.append(remaining.pop(0))
        if remaining and size != 1:
            return None
        result.append(tuple(part))
    return result


def concatenate(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Partition the result of a concatenation.

    ``parts`` has a tuple for each operand: for each axis, the mesh axes that cut it. Returns such a tuple for each
    result. The axis along which operands are joined has to be partitioned in the same way in all of them.
    """
    axis = operation.dimension
    if len({operand_parts[axis] for operand_parts in parts}) > 1:
        raise unclear(operation, operands, f"along axis {axis}, where they are joined, they are cut in different ways")
    sizes = list(results[0].shape)
    sizes[axis] = -1  # excluded from the comparison of sizes
    common = merge_parts(operation, parts, operands, sizes)
    return [(*common[:axis], parts[0][axis], *common[axis + 1 :])]


def update(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Partition the result as the first operand, into which the others are written.

    ``parts`` has a tuple for each operand: for each axis, the mesh axes that cut it. Returns such a tuple for each
    result.
    """
    return [parts[0]] * len(results)


def scatter(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Partition the result as the first operand; the axes that are indexed have to be unpartitioned.

    ``parts`` has a tuple for each operand: for each axis, the mesh axes that cut it. Returns such a tuple for each
    result.
    """
    for axis in operation.dimension_numbers.scatter_dims_to_operand_dims:
        if parts[0][axis]:
            raise unclear(
                operation,
                operands,
                f"indices are of axis {axis}, which is cut",
                "Say how the result lies: x.at[...].set(..., out_sharding=PartitionSpec(...))",
            )
    return [parts[0]]


def gather(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Keep the partitions of unindexed axes and those of the indices; indexed axes have to be unpartitioned.

    ``parts`` has a tuple for each operand: for each axis, the mesh axes that cut it. Returns such a tuple for each
    result.
    """
    numbers = operation.dimension_numbers
    (x_parts, of_indices), (x, _), (result,) = parts, operands, results
    for axis in numbers.start_index_map:
        if x_parts[axis]:
            raise unclear(
                operation,
                operands,
                f"indices are of axis {axis}, which is cut",
                "Say how the result lies: x.at[...].get(out_sharding=PartitionSpec(...))",
            )
    dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    window = iter(
        [
            part if size == whole_size else ()
            for axis, (part, size, whole_size) in enumerate(zip(x_parts, operation.slice_sizes, x.shape, strict=True))
            if axis not in dropped
        ]
    )
    batch = list(of_indices[:-1])
    for axis, batch_axis in zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True):
        batch[batch_axis] = batch[batch_axis] or x_parts[axis]
    batched = iter(batch)
    return [tuple(next(window) if axis in numbers.offset_dims else next(batched) for axis in range(result.ndim))]


def product(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Keep the partitions of free axes; axes that are summed must not be partitioned in both operands.

    ``parts`` has a tuple for each operand: for each axis, the mesh axes that cut it. Returns such a tuple for each
    result.
    """
    (contract_x, contract_y), (batch_x, batch_y) = operation.dimension_numbers
    lhs, rhs = parts[:2]
    for i, j in zip(contract_x, contract_y, strict=True):
        if lhs[i] and rhs[j]:
            why = f"axes {i} and {j}, which are summed, are cut"
            if lhs[i] != rhs[j]:
                raise unclear(operation, operands, why + " in different ways")
            raise unclear(
                operation,
                operands,
                why + ", and the sum may lie in several ways",
                "Say how: dot(..., out_sharding=PartitionSpec(...)); PartitionSpec() is whole everywhere",
            )
    batch = []
    for i, j in zip(batch_x, batch_y, strict=True):
        if lhs[i] and rhs[j] and lhs[i] != rhs[j]:
            raise unclear(operation, operands, f"axes {i} and {j} go together, and are cut in different ways")
        batch.append(lhs[i] or rhs[j])
    free = without_axes(lhs, (*contract_x, *batch_x)), without_axes(rhs, (*contract_y, *batch_y))
    return [(*batch, *free[0], *free[1])]


def convolve(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Keep the partitions of batch and spatial axes; output features are partitioned as the kernel's.

    ``parts`` has a tuple for each operand: for each axis, the mesh axes that cut it. Returns such a tuple for each
    result. Other axes of the kernel have to be unpartitioned.
    """
    (lhs_parts, rhs_parts), (lhs, rhs, out) = parts, operation.dimension_numbers
    is_partitioned = lhs_parts[lhs[1]] or rhs_parts[rhs[1]] or any(rhs_parts[axis] for axis in rhs[2:])
    if is_partitioned or ((operation.feature_group_count > 1 or operation.batch_group_count > 1) and rhs_parts[rhs[0]]):
        raise unclear(operation, operands, "channels that are summed, or places of the kernel, are cut", _RESHARD_HINT)
    result: list[tuple[Any, ...]] = [()] * len(out)
    for source, target in zip((lhs[0], *lhs[2:]), (out[0], *out[2:]), strict=True):
        result[target] = lhs_parts[source]
    result[out[1]] = rhs_parts[rhs[0]]
    return [tuple(result)]


def same_as_second(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Partition results as the second operand, which has their shape.

    ``parts`` has a tuple for each operand: for each axis, the mesh axes that cut it. Returns such a tuple for each
    result.
    """
    return [parts[1]] * len(results)
