"""How results lie along explicit axes of a mesh: a rule for each family of operations.

Each is a ``sharding_rule``: see ``ir/explicit.py``. They agree with JAX's where that has an answer, and know an answer
more here and there; nothing is guessed: where results could lie in several ways, the user says how.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..ir.avals import ShapedArray
from ..ir.explicit import Parts, unclear

Types = Sequence[ShapedArray]
_MOVED = "Make that axis whole with reshard first, or run this part under auto_axes"


def elementwise(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Results are cut as their operands are; one that is whole, or is stretched, follows the others."""
    shape = results[0].shape
    return [merged(operation, parts, operands, shape)] * len(results)


def merged(
    operation: Any,
    parts: Sequence[Parts],
    operands: Types,
    shape: Sequence[int],
    shapes: Sequence[Sequence[int]] | None = None,
) -> Parts:
    """What operands of the same rank (or none) agree upon, axis by axis; raises ShardingTypeError where they do not.

    ``shapes`` are the sizes of those of their axes that ``parts`` are about, where these are not all.
    """
    found: list[tuple[Any, ...]] = [()] * len(shape)
    for given, own in zip(parts, shapes or [aval.shape for aval in operands], strict=True):
        if len(own) != len(shape):
            continue
        for axis, part in enumerate(given):
            if not part or own[axis] != shape[axis]:
                continue
            if found[axis] and found[axis] != part:
                raise unclear(operation, operands, f"along axis {axis} operands are cut in different ways")
            found[axis] = part
    return tuple(found)


def same(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Each result is cut as the first operand is, which has its shape."""
    return [parts[0]] * len(results)


def each_alike(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """The results are the operands, in order."""
    return list(parts)


def whole(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Results are whole on each device."""
    return [((),) * len(aval.shape) for aval in results]


def resized(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Results have the first operand's axes, some of other sizes: cut in the same way, if these can be cut so."""
    return [parts[0]] * len(results)


def without_axes(parts: Parts, axes: Sequence[int]) -> Parts:
    """What is left when axes are dropped."""
    return tuple(part for axis, part in enumerate(parts) if axis not in axes)


def reduced(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Axes are combined, and gone: XLA combines what the devices have."""
    return [without_axes(parts[0], operation.axes)] * len(results)


def along(operation: Any, parts: Sequence[Parts], operands: Types, results: Types, axes: Sequence[int]) -> list[Parts]:
    """The results have the operands' axes; those that the operation goes along have to be whole."""
    for given in parts:
        for axis in axes:
            if axis < len(given) and given[axis]:
                raise unclear(operation, operands, f"it goes along axis {axis}, which is cut", _MOVED)
    found = merged(operation, parts, operands, operands[0].shape)
    return [found] * len(results)


def windowed(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Windows slide over the first operand: results are cut in the same way."""
    return [parts[0]] * len(results)


def of_stacks(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Matrices have to be whole, their stacks may be cut."""
    return stacks_of_rank(operation, parts, operands, results, max(len(aval.shape) for aval in operands) - 2)


def stacks_of_rank(operation: Any, parts: Sequence[Parts], operands: Types, results: Types, rank: int) -> list[Parts]:
    """The same for stacks that have that many axes."""
    for given in parts:
        if any(given[rank:]):
            raise unclear(operation, operands, "a matrix is cut, and has to be whole on a device", _MOVED)
    leading = [given[:rank] for given in parts]
    stack = merged(operation, leading, operands, operands[0].shape[:rank], [x.shape[:rank] for x in operands])
    return [(*stack, *[()] * (len(aval.shape) - rank)) for aval in results]


def broadcast(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Axes go to their places; new ones, and those that are stretched, are whole."""
    ((given,), (x,)) = parts, operands
    found: list[tuple[Any, ...]] = [()] * len(operation.shape)
    for axis, place in enumerate(operation.broadcast_dimensions):
        if x.shape[axis] == operation.shape[place]:
            found[place] = given[axis]
    return [tuple(found)]


def reshaped(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """An axis that is split hands its cuts to the parts, the slowest first; axes that are merged need to be cut from
    the slowest on.
    """
    ((given,), (x,), (y,)) = parts, operands, results
    sizes = next(aval.explicit for aval in operands if aval.explicit is not None).mesh.shape
    found: list[tuple[Any, ...]] = [()] * len(y.shape)
    for ins, outs in _groups(x.shape, y.shape):
        names = _names_from_slowest([(x.shape[i], given[i]) for i in ins], sizes)
        dealt = None if names is None else _dealt(names, [y.shape[i] for i in outs], sizes)
        if dealt is None:
            raise unclear(
                operation,
                operands,
                f"to {y.shape} leaves open how the result lies",
                "Say it: reshape(..., out_sharding=PartitionSpec(...))",
            )
        for axis, part in zip(outs, dealt, strict=True):
            found[axis] = part
    return [tuple(found)]


def _groups(ins: Sequence[int], outs: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The smallest groups of successive axes, of operand and result, that hold the same elements; axes of size 1 are
    in no group, nor are any where there are no elements.
    """
    if 0 in ins or 0 in outs:
        return []
    left = [i for i, size in enumerate(ins) if size != 1]
    right = [i for i, size in enumerate(outs) if size != 1]
    found = []
    while left and right:
        group: tuple[list[int], list[int]] = ([left.pop(0)], [right.pop(0)])
        while True:
            a, b = math.prod(ins[i] for i in group[0]), math.prod(outs[i] for i in group[1])
            if a == b:
                break
            if a < b:
                group[0].append(left.pop(0))
            else:
                group[1].append(right.pop(0))
        found.append(group)
    return found


def _names_from_slowest(axes: Sequence[tuple[int, tuple[Any, ...]]], sizes: Any) -> tuple[Any, ...] | None:
    """What cuts successive axes taken as one; None where it is not cut into runs of elements."""
    names: list[Any] = []
    complete = True
    for size, part in axes:
        if part and not complete:
            return None
        names += part
        complete = complete and math.prod(sizes[name] for name in part) == size
    return tuple(names)


def _dealt(names: Sequence[Any], axes: Sequence[int], sizes: Any) -> list[tuple[Any, ...]] | None:
    """What cuts the axes that one is split into; None where a cut would go through the middle of one."""
    rest, found = list(names), []
    for size in axes:
        part: list[Any] = []
        while rest and size % sizes[rest[0]] == 0:
            size //= sizes[rest[0]]
            part.append(rest.pop(0))
        if rest and size != 1:
            return None
        found.append(tuple(part))
    return found


def concatenated(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Operands agree; the axis along which they are joined is cut in the same way in all of them, or in none."""
    axis = operation.dimension
    if len({given[axis] for given in parts}) > 1:
        raise unclear(operation, operands, f"along axis {axis}, where they are joined, they are cut in different ways")
    sizes = list(results[0].shape)
    sizes[axis] = -1  # compared by place, not by size
    others = merged(operation, parts, operands, sizes)
    return [(*others[:axis], parts[0][axis], *others[axis + 1 :])]


def updated(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """The first operand with something written into it lies as before."""
    return [parts[0]] * len(results)


def scattered(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """The same, where the axes that indices are of are whole."""
    for axis in operation.dimension_numbers.scatter_dims_to_operand_dims:
        if parts[0][axis]:
            raise unclear(
                operation,
                operands,
                f"indices are of axis {axis}, which is cut",
                "Say how the result lies: x.at[...].set(..., out_sharding=PartitionSpec(...))",
            )
    return [parts[0]]


def gathered(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Axes that indices are of have to be whole; others, and those of the indices, stay as they are cut."""
    numbers = operation.dimension_numbers
    (given, of_indices), (x, _), (result,) = parts, operands, results
    for axis in numbers.start_index_map:
        if given[axis]:
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
            for axis, (part, size, whole_size) in enumerate(zip(given, operation.slice_sizes, x.shape, strict=True))
            if axis not in dropped
        ]
    )
    batch = list(of_indices[:-1])
    for axis, place in zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True):
        batch[place] = batch[place] or given[axis]
    batched = iter(batch)
    return [tuple(next(window) if axis in numbers.offset_dims else next(batched) for axis in range(result.ndim))]


def product(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Axes that are left stay as they are cut; those that are summed must not be cut in both operands."""
    (contract_x, contract_y), (batch_x, batch_y) = operation.dimension_numbers
    left, right = parts[:2]
    for i, j in zip(contract_x, contract_y, strict=True):
        if left[i] and right[j]:
            why = f"axes {i} and {j}, which are summed, are cut"
            if left[i] != right[j]:
                raise unclear(operation, operands, why + " in different ways")
            raise unclear(
                operation,
                operands,
                why + ", and the sum may lie in several ways",
                "Say how: dot(..., out_sharding=PartitionSpec(...)); PartitionSpec() is whole everywhere",
            )
    batch = []
    for i, j in zip(batch_x, batch_y, strict=True):
        if left[i] and right[j] and left[i] != right[j]:
            raise unclear(operation, operands, f"axes {i} and {j} go together, and are cut in different ways")
        batch.append(left[i] or right[j])
    free = without_axes(left, (*contract_x, *batch_x)), without_axes(right, (*contract_y, *batch_y))
    return [(*batch, *free[0], *free[1])]


def convolved(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Examples and places stay as they are cut, channels come from the kernel's; the kernel is otherwise whole."""
    (left, right), (lhs, rhs, out) = parts, operation.dimension_numbers
    cut = left[lhs[1]] or right[rhs[1]] or any(right[axis] for axis in rhs[2:])
    if cut or ((operation.feature_group_count > 1 or operation.batch_group_count > 1) and right[rhs[0]]):
        raise unclear(operation, operands, "channels that are summed, or places of the kernel, are cut", _MOVED)
    found: list[tuple[Any, ...]] = [()] * len(out)
    for source, place in zip((lhs[0], *lhs[2:]), (out[0], *out[2:]), strict=True):
        found[place] = left[source]
    found[out[1]] = right[rhs[0]]
    return [tuple(found)]


def second(operation: Any, parts: Sequence[Parts], operands: Types, results: Types) -> list[Parts]:
    """Results are cut as the second operand is, which has their shape."""
    return [parts[1]] * len(results)
