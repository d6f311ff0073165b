"""Collectives in optimized HLO: their kind, participating devices and bytes."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable

from ...records.compiled import Collective
from .layouts import result_type
from .text import Computation, Instruction, type_bytes

#: The opcodes of collectives, without the ``-start`` suffix of asynchronous ones.
COLLECTIVES = frozenset(
    {
        "all-reduce",
        "all-gather",
        "reduce-scatter",
        "all-to-all",
        "ragged-all-to-all",
        "collective-permute",
        "collective-broadcast",
    }
)

#: Groups are recorded up to this number of devices.
MAX_LISTED_DEVICES = 64

_EXPLICIT_GROUPS = re.compile(r"\breplica_groups=\{(\{[\d,{}]*\})\}")
_IOTA_GROUPS = re.compile(r"\breplica_groups=\[(\d+),(\d+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_MESH_GROUPS = re.compile(r"\breplica_groups=mesh\[([^\]]*)\]([^{]*)\{([^{}]*)\}")
_MESH_AXIS = re.compile(r"'([^']*)'=(\d+)")
_AXIS_NAME = re.compile(r"'([^']*)'(?::\(\d+\)(\d+))?")
_PAIRS = re.compile(r"\bsource_target_pairs=\{((?:\{\d+,\d+\},?)*)\}")


def find_collective(instructions: Iterable[tuple[Computation, Instruction]]) -> Collective | None:
    """Return the first collective among the instructions of a kernel, each with its computation, or None.

    A TPU's compiler puts collectives into fusions, so all instructions of a kernel are examined.

    >>> from .text import read_module
    >>> entry = read_module('''HloModule m
    ... ENTRY %main (x: f32[2,4]) -> f32[8,4] {
    ...   %x = f32[2,4]{1,0} parameter(0)
    ...   ROOT %all-gather = f32[8,4]{1,0} all-gather(%x), replica_groups=[2,4]<=[8], dimensions={0}
    ... }''').entry
    >>> find_collective([(entry, entry.root)])
    Collective(kind='all-gather', devices=4, operand_bytes=32, result_bytes=128, groups=((0, 1, 2, 3), (4, 5, 6, 7)))
    """
    for computation, instruction in instructions:
        kind = instruction.opcode.removesuffix("-start")
        if kind in COLLECTIVES:
            operands = (computation.instructions.get(name) for name in instruction.operands)
            operand_bytes = sum(operand.bytes for operand in operands if operand is not None)
            devices, groups = _parse_devices(instruction.attributes)
            listed_groups = groups if sum(map(len, groups)) <= MAX_LISTED_DEVICES else ()
            return Collective(
                kind, devices, operand_bytes, type_bytes(result_type(computation, instruction)), listed_groups
            )
    return None


ReplicaGroups = tuple[tuple[int, ...], ...]


def _parse_devices(attributes: str) -> tuple[int, ReplicaGroups]:
    """Return the number of devices that exchange data and their groups, or 0 and () for an unknown notation.

    XLA writes groups as explicit lists, as a reshaped iota (``[2,4]<=[8]``: two groups of four), or by the axes of a
    mesh. The pairs of a permutation count as one group, because all its devices wait for each other. ``attributes``
    is the text of a collective's attributes.
    """
    pairs = _PAIRS.search(attributes)
    if pairs:
        devices = tuple(sorted(set(_parse_ints(pairs[1]))))
        return len(devices), (devices,) if devices else ()
    if listed := _EXPLICIT_GROUPS.search(attributes):
        groups = tuple(_parse_ints(group) for group in listed[1].strip("{}").split("},{"))
        return len(groups[0]), groups
    if numbered := _IOTA_GROUPS.search(attributes):
        _, size, shape, order = numbered.groups()
        sizes = _parse_ints(shape)
        return int(size), _split_rows(
            _transposed_iota(sizes, _parse_ints(order) if order else tuple(range(len(sizes)))), int(size)
        )
    if of_mesh := _MESH_GROUPS.search(attributes):
        return _mesh_groups(dict(_MESH_AXIS.findall(of_mesh[1])), of_mesh[2].strip(), _AXIS_NAME.findall(of_mesh[3]))
    return 0, ()


def _mesh_groups(mesh: dict[str, str], numbers: str, axes: list[tuple[str, str]]) -> tuple[int, ReplicaGroups]:
    """Return the size of the groups along axes of a mesh, and the groups.

    ``mesh`` has the sizes of axes by name, ``numbers`` is the text of explicit device numbers (``""``: row-major),
    and ``axes`` are (axis, size if the axis is split). There are no groups where axes are split or devices numbered.
    """
    size = math.prod(int(part or mesh.get(name, "0")) for name, part in axes)
    if numbers or any(part for _, part in axes) or not size:
        return size, ()
    names, sizes = list(mesh), tuple(map(int, mesh.values()))
    inner = [names.index(name) for name, _ in axes]
    outer = [axis for axis in range(len(names)) if axis not in inner]
    return size, _split_rows(_transposed_iota(sizes, (*outer, *inner)), size)


def _transposed_iota(sizes: tuple[int, ...], order: tuple[int, ...]) -> list[int]:
    """Return the numbers of an array's elements, counted row by row, in the order of its transposed axes.

    ``sizes`` is the shape, ``order`` the permutation of the axes. Empty for too many devices.
    """
    if math.prod(sizes) > MAX_LISTED_DEVICES:
        return []
    strides = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    return [
        sum(coordinate * strides[axis] for coordinate, axis in zip(index, order, strict=True))
        for index in itertools.product(*(range(sizes[axis]) for axis in order))
    ]


def _split_rows(devices: list[int], size: int) -> ReplicaGroups:
    return tuple(tuple(devices[start : start + size]) for start in range(0, len(devices), size))


def _parse_ints(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))
