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
MOST_LISTED = 64

_LISTED = re.compile(r"\breplica_groups=\{(\{[\d,{}]*\})\}")
_NUMBERED = re.compile(r"\breplica_groups=\[(\d+),(\d+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_OF_MESH = re.compile(r"\breplica_groups=mesh\[([^\]]*)\]([^{]*)\{([^{}]*)\}")
_AXIS = re.compile(r"'([^']*)'=(\d+)")
_NAME = re.compile(r"'([^']*)'(?::\(\d+\)(\d+))?")
_PAIRS = re.compile(r"\bsource_target_pairs=\{((?:\{\d+,\d+\},?)*)\}")


def collective_in(instructions: Iterable[tuple[Computation, Instruction]]) -> Collective | None:
    """Return the first collective among the instructions of a kernel, or None.

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
            devices, groups = _between(instruction.attributes)
            listed_groups = groups if sum(map(len, groups)) <= MOST_LISTED else ()
            return Collective(
                kind, devices, operand_bytes, type_bytes(result_type(computation, instruction)), listed_groups
            )
    return None


Groups = tuple[tuple[int, ...], ...]


def _between(attributes: str) -> tuple[int, Groups]:
    """Return the number of participating devices and their groups, or 0 and () for an unknown notation.

    XLA writes groups as explicit lists, as a reshaped iota (``[2,4]<=[8]``: two groups of four), or by the axes
    of a mesh. The pairs of a permutation count as one group, because all its devices wait for each other.
    """
    pairs = _PAIRS.search(attributes)
    if pairs:
        devices = tuple(sorted(set(_numbers(pairs[1]))))
        return len(devices), (devices,) if devices else ()
    if listed := _LISTED.search(attributes):
        groups = tuple(_numbers(group) for group in listed[1].strip("{}").split("},{"))
        return len(groups[0]), groups
    if numbered := _NUMBERED.search(attributes):
        _, size, shape, order = numbered.groups()
        sizes = _numbers(shape)
        return int(size), _rows(_places(sizes, _numbers(order) if order else tuple(range(len(sizes)))), int(size))
    if of_mesh := _OF_MESH.search(attributes):
        return _along(dict(_AXIS.findall(of_mesh[1])), of_mesh[2].strip(), _NAME.findall(of_mesh[3]))
    return 0, ()


def _along(mesh: dict[str, str], numbers: str, crossed: list[tuple[str, str]]) -> tuple[int, Groups]:
    """Return the groups along axes of a mesh.

    The devices are left out where axes are split, or where the mesh has device numbers of its own.
    """
    size = math.prod(int(part or mesh.get(name, "0")) for name, part in crossed)
    if numbers or any(part for _, part in crossed) or not size:
        return size, ()
    names, sizes = list(mesh), tuple(map(int, mesh.values()))
    inner = [names.index(name) for name, _ in crossed]
    outer = [axis for axis in range(len(names)) if axis not in inner]
    return size, _rows(_places(sizes, (*outer, *inner)), size)


def _places(sizes: tuple[int, ...], order: tuple[int, ...]) -> list[int]:
    """Return the row-major indices of an array's elements, in the order of its transposed axes."""
    if math.prod(sizes) > MOST_LISTED:
        return []
    strides = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    return [
        sum(coordinate * strides[axis] for coordinate, axis in zip(index, order, strict=True))
        for index in itertools.product(*(range(sizes[axis]) for axis in order))
    ]


def _rows(devices: list[int], size: int) -> Groups:
    return tuple(tuple(devices[start : start + size]) for start in range(0, len(devices), size))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))
