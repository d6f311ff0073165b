"""Parts of a sharded array that one process holds, as blocks along each axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...ir.user_frames import compose_message
from .named_shardings import Index, MultiDeviceSharding


class AxisBlocks(NamedTuple):
    """Blocks of an array axis: their number, those of this process in order, and whether all processes share evenly.

    ``is_uniform`` says that any two processes have the same blocks, or equally many and none in common.
    """

    block_count: int
    local_blocks: tuple[int, ...]
    is_uniform: bool


def find_axis_blocks(sharding: MultiDeviceSharding, rank: int) -> list[AxisBlocks]:
    """Return the blocks along each axis of an array with ``rank`` axes."""
    counts = sharding.partition_counts(rank)
    by_process: dict[int, list[set[int]]] = {}
    for device, index in zip(sharding.devices, sharding.indices(counts), strict=True):
        blocks = by_process.setdefault(device.process_index, [set() for _ in counts])
        for axis, part in enumerate(index):
            blocks[axis].add(part.start or 0)
    mine = by_process[sharding.devices[0].client.process_index()]
    return [
        AxisBlocks(count, tuple(sorted(mine[axis])), _is_uniform([blocks[axis] for blocks in by_process.values()]))
        for axis, count in enumerate(counts)
    ]


def _is_uniform(blocks: Sequence[set[int]]) -> bool:
    distinct = {frozenset(part) for part in blocks}
    return len({len(part) for part in distinct}) == 1 and sum(map(len, distinct)) == len(frozenset().union(*distinct))


def infer_global_shape(
    sharding: MultiDeviceSharding, local_shape: Sequence[int], global_shape: Sequence[int | None] | None
) -> tuple[int, ...]:
    """Return the shape of the array of which this process has data of shape ``local_shape``.

    ``global_shape`` is what the user says, None for all axes or for some. Raises ValueError if that does not fit.
    """
    blocks = find_axis_blocks(sharding, len(local_shape))
    requested = (None,) * len(local_shape) if global_shape is None else tuple(global_shape)
    if len(requested) != len(local_shape):
        raise ValueError(_explain(requested, local_shape, "they have different numbers of axes."))
    return tuple(
        _axis_size(axis, part, local_shape, size, requested)
        for axis, (part, size) in enumerate(zip(blocks, requested, strict=True))
    )


def _axis_size(
    axis: int, blocks: AxisBlocks, local_shape: Sequence[int], size: int | None, requested: Sequence[int | None]
) -> int:
    """Return the size of an axis of the whole array; ``size`` is the one that the user gives, or None."""
    local_size = local_shape[axis]
    if size == local_size:
        return local_size
    if not blocks.is_uniform:
        raise ValueError(
            _explain(requested, local_shape, f"processes have different blocks of axis {axis}: give it whole.")
        )
    inferred = local_size * blocks.block_count // len(blocks.local_blocks)
    if size not in (None, inferred) or local_size * blocks.block_count % len(blocks.local_blocks):
        raise ValueError(
            _explain(
                requested,
                local_shape,
                f"this process has {len(blocks.local_blocks)} of the {blocks.block_count} blocks of axis {axis}, so "
                f"the whole axis would have size {inferred}.",
            )
        )
    return inferred


def _explain(requested: Sequence[int | None], local_shape: Sequence[int], reason: str) -> str:
    return compose_message(
        f"make_array_from_process_local_data: global_shape {tuple(requested)} does not fit data of shape "
        f"{tuple(local_shape)}: {reason}",
        "Along each axis the data are the blocks of this process, in order, or the whole axis.",
    )


def to_local_index(
    sharding: MultiDeviceSharding, index: Index, global_shape: Sequence[int], local_shape: Sequence[int]
) -> Index:
    """Return where the shard at ``index`` of the whole array is in the data of this process."""
    blocks = find_axis_blocks(sharding, len(local_shape))
    return tuple(
        part if size == local_size else _move_slice(part, size // axis.block_count, axis.local_blocks)
        for part, size, local_size, axis in zip(index, global_shape, local_shape, blocks, strict=True)
    )


def _move_slice(part: slice, block_size: int, local_blocks: Sequence[int]) -> slice:
    position: Any = local_blocks.index((part.start or 0) // block_size) if block_size else 0
    return slice(position * block_size, (position + 1) * block_size)
