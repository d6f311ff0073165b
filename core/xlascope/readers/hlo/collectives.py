"""What kernels do across devices: which collective a kernel is, or holds, between how many, and its bytes."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable

from ...records.compiled import Collective
from .layouts import result_type
from .text import Computation, Instruction, type_bytes

#: The opcodes of collectives, without the ``-start`` of those that run beside other work.
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

#: Devices up to which groups are kept.
MOST_LISTED = 64

_LISTED = re.compile(r"\breplica_groups=\{(\{[\d,{}]*\})\}")
_NUMBERED = re.compile(r"\breplica_groups=\[(\d+),(\d+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_OF_MESH = re.compile(r"\breplica_groups=mesh\[([^\]]*)\]([^{]*)\{([^{}]*)\}")
_AXIS = re.compile(r"'([^']*)'=(\d+)")
_NAME = re.compile(r"'([^']*)'(?::\(\d+\)(\d+))?")
_PAIRS = re.compile(r"\bsource_target_pairs=\{((?:\{\d+,\d+\},?)*)\}")


def collective_in(steps: Iterable[tuple[Computation, Instruction]]) -> Collective | None:
    """What a kernel does across devices, of which these are the instructions: the first collective among them.

    A TPU's compiler puts collectives into fusions.

    >>> from .text import read_module
    >>> entry = read_module('''HloModule m
    ... ENTRY %main (x: f32[2,4]) -> f32[8,4] {
    ...   %x = f32[2,4]{1,0} parameter(0)
    ...   ROOT %all-gather = f32[8,4]{1,0} all-gather(%x), replica_groups=[2,4]<=[8], dimensions={0}
    ... }''').entry
    >>> collective_in([(entry, entry.root)])
    Collective(kind='all-gather', devices=4, operand_bytes=32, result_bytes=128, groups=((0, 1, 2, 3), (4, 5, 6, 7)))
    """
    for where, each in steps:
        kind = each.opcode.removesuffix("-start")
        if kind in COLLECTIVES:
            operands = (where.instructions.get(name) for name in each.operands)
            given = sum(operand.bytes for operand in operands if operand is not None)
            devices, groups = _between(each.attributes)
            kept = groups if sum(map(len, groups)) <= MOST_LISTED else ()
            return Collective(kind, devices, given, type_bytes(result_type(where, each)), kept)
    return None


Groups = tuple[tuple[int, ...], ...]


def _between(attributes: str) -> tuple[int, Groups]:
    """Between how many devices a collective is, and which ones; 0 and () where no form is written that is known here.

    XLA writes groups as lists, as what is left of numbering (``[2,4]<=[8]``: two groups of four), or by the axes of a
    mesh; a permutation has pairs, all of which wait for each other.
    """
    pairs = _PAIRS.search(attributes)
    if pairs:
        every = tuple(sorted(set(_numbers(pairs[1]))))
        return len(every), (every,) if every else ()
    if listed := _LISTED.search(attributes):
        groups = tuple(_numbers(each) for each in listed[1].strip("{}").split("},{"))
        return len(groups[0]), groups
    if numbered := _NUMBERED.search(attributes):
        _, size, shape, order = numbered.groups()
        sizes = _numbers(shape)
        return int(size), _rows(_places(sizes, _numbers(order) if order else tuple(range(len(sizes)))), int(size))
    if of_mesh := _OF_MESH.search(attributes):
        return _along(dict(_AXIS.findall(of_mesh[1])), of_mesh[2].strip(), _NAME.findall(of_mesh[3]))
    return 0, ()


def _along(mesh: dict[str, str], numbers: str, crossed: list[tuple[str, str]]) -> tuple[int, Groups]:
    """Groups along axes of a mesh; which devices is not said here where axes are split, or numbered otherwise."""
    size = math.prod(int(part or mesh.get(name, "0")) for name, part in crossed)
    if numbers or any(part for _, part in crossed) or not size:
        return size, ()
    names, sizes = list(mesh), tuple(map(int, mesh.values()))
    inner = [names.index(name) for name, _ in crossed]
    outer = [axis for axis in range(len(names)) if axis not in inner]
    return size, _rows(_places(sizes, (*outer, *inner)), size)


def _places(sizes: tuple[int, ...], order: tuple[int, ...]) -> list[int]:
    """Row-major numbers of an array's elements, in the order of its axes transposed."""
    if math.prod(sizes) > MOST_LISTED:
        return []
    steps = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    return [
        sum(place * steps[axis] for place, axis in zip(at, order, strict=True))
        for at in itertools.product(*(range(sizes[axis]) for axis in order))
    ]


def _rows(places: list[int], size: int) -> Groups:
    return tuple(tuple(places[start : start + size]) for start in range(0, len(places), size))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))
