"""How many bytes a kernel reads and writes: its operands and results, or the slices of them that it touches."""

from __future__ import annotations

from collections import defaultdict

from .text import Computation, Instruction, Module

#: Opcodes that read of their first operand only as much as they give.
_SLICES = frozenset({"slice", "dynamic-slice", "gather"})
#: Opcodes that change a part of their first operand in place; which operand that part comes from.
_UPDATES = {"dynamic-update-slice": 1, "scatter": 2}


class Traffic:
    """Counts for the instructions of one module.

    >>> from .text import read_module
    >>> module = read_module('''HloModule m
    ... ENTRY %main (x: f32[100], i: s32[]) -> f32[2] {
    ...   %x = f32[100]{0} parameter(0)
    ...   %i = s32[] parameter(1)
    ...   ROOT %two = f32[2]{0} dynamic-slice(%x, %i), dynamic_slice_sizes={2}
    ... }''')
    >>> Traffic(module).of(module.entry, module.entry.root)
    (12, 8)
    """

    def __init__(self, module: Module) -> None:
        self._module = module

    def of(self, computation: Computation, instruction: Instruction) -> tuple[int, int]:
        """Bytes read and bytes written by one run of an instruction."""
        sizes = [_size(computation, name) for name in instruction.operands]
        inside = self._fused(instruction)
        if inside is None:
            return _alone(computation, instruction, sizes)
        users: dict[str, list[Instruction]] = defaultdict(list)
        for each in inside.instructions.values():
            for name in each.operands:
                users[name].append(each)
        parameters = {
            int(each.attribute("parameter")): each
            for each in inside.instructions.values()
            if each.opcode == "parameter" and each.attribute("parameter").isdigit()
        }
        read = sum(
            min(size, _part(inside, parameters[i], users)) if i in parameters else size for i, size in enumerate(sizes)
        )
        return read, _written(inside, instruction)

    def _fused(self, instruction: Instruction) -> Computation | None:
        if instruction.opcode != "fusion" or not instruction.called:
            return None
        return self._module.computations.get(instruction.called[0])


def _alone(computation: Computation, instruction: Instruction, sizes: list[int]) -> tuple[int, int]:
    if instruction.opcode in _SLICES and sizes:
        return instruction.bytes + sum(sizes[1:]), instruction.bytes
    part = _UPDATES.get(instruction.opcode)
    if part is not None and part < len(sizes):
        return sum(sizes[1:]), sizes[part]
    return sum(sizes), instruction.bytes


def _part(inside: Computation, value: Instruction, users: dict[str, list[Instruction]], depth: int = 8) -> int:
    """The bytes that are read of a parameter: slices of it, nothing where a part of it is replaced, or all of it."""
    total = 0
    for user in users[value.name]:
        first = user.operands[0] == value.name and user.operands.count(value.name) == 1
        if first and user.opcode in _SLICES:
            total += user.bytes
        elif first and user.opcode == "bitcast" and depth:
            total += _part(inside, user, users, depth - 1)
        elif not (first and user.opcode in _UPDATES and _is_result(inside, user, users)):
            return value.bytes
    return total


def _written(inside: Computation, instruction: Instruction) -> int:
    root = inside.root
    if root is None:
        return instruction.bytes
    results = [inside.instructions.get(name) for name in root.operands] if root.opcode == "tuple" else [root]
    return sum(_result_bytes(inside, each) for each in results if each is not None)


def _result_bytes(inside: Computation, result: Instruction) -> int:
    """The bytes that are written of a result: of one that replaces a part of an operand, that part."""
    value = result
    while value.opcode == "bitcast" and value.operands and value.operands[0] in inside.instructions:
        value = inside.instructions[value.operands[0]]
    part = _UPDATES.get(value.opcode)
    if part is not None and part < len(value.operands):
        return _size(inside, value.operands[part])
    return result.bytes


def _is_result(inside: Computation, update: Instruction, users: dict[str, list[Instruction]]) -> bool:
    """Whether an update happens in place: its value is what the fusion gives, and nothing else uses it."""
    return update.root or all(user.opcode in ("tuple", "bitcast") for user in users[update.name])


def _size(computation: Computation, name: str) -> int:
    found = computation.instructions.get(name)
    return found.bytes if found else 0
