"""What kernels do across devices: which collective a kernel is, or holds, between how many, and its bytes."""

from __future__ import annotations

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

_GROUPS = re.compile(r"\breplica_groups=(?:\[(\d+),(\d+)\]<=|\{\{([\d,]*)\}|mesh\[([^\]]*)\][^{]*\{([^{}]*)\})")
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
    Collective(kind='all-gather', devices=4, operand_bytes=32, result_bytes=128)
    """
    for where, each in steps:
        kind = each.opcode.removesuffix("-start")
        if kind in COLLECTIVES:
            operands = (where.instructions.get(name) for name in each.operands)
            given = sum(operand.bytes for operand in operands if operand is not None)
            return Collective(kind, devices_of(each), given, type_bytes(result_type(where, each)))
    return None


def devices_of(instruction: Instruction) -> int:
    """How many devices a collective is between; 0 where that is not written, or in a form that nobody knows here.

    XLA writes groups as lists, as what is left of numbering (``[2,4]<=[8]``: two groups of four), or by the axes of a
    mesh; a permutation has pairs.
    """
    pairs = _PAIRS.search(instruction.attributes)
    if pairs:
        return len(set(re.findall(r"\d+", pairs[1])))
    found = _GROUPS.search(instruction.attributes)
    if found is None:
        return 0
    _, size, listed, mesh, names = found.groups()
    if size:
        return int(size)
    if mesh is None:
        return listed.count(",") + 1 if listed else 0
    sizes = dict(_AXIS.findall(mesh))
    return math.prod(int(part or sizes.get(name, 0)) for name, part in _NAME.findall(names))
