"""Bytes that a kernel reads and writes, counting only the slices that it touches."""

from __future__ import annotations

from collections import defaultdict

from .text import Computation, Instruction, Module

#: Opcodes that read only as much of their first operand as they return.
_SLICE_OPCODES = frozenset({"slice", "dynamic-slice", "gather"})
#: Opcodes that update a part of their first operand in place, with the index of the operand holding that part.
_UPDATE_OPERANDS = {"dynamic-update-slice": 1, "scatter": 2}


class Traffic:
    """Counter of the bytes that the instructions of a module read and write.

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
        """Return the bytes read and the bytes written by one run of an instruction; ``computation`` contains it."""
        sizes = [_operand_bytes(computation, name) for name in instruction.operands]
        fused = self._fused_computation(instruction)
        if fused is None:
            return _unfused_bytes(computation, instruction, sizes)
        users: dict[str, list[Instruction]] = defaultdict(list)
        for instruction_inside in fused.instructions.values():
            for name in instruction_inside.operands:
                users[name].append(instruction_inside)
        parameters = {
            int(instruction_inside.attribute("parameter")): instruction_inside
            for instruction_inside in fused.instructions.values()
            if instruction_inside.opcode == "parameter" and instruction_inside.attribute("parameter").isdigit()
        }
        read = sum(
            min(size, _parameter_bytes_read(fused, parameters[i], users)) if i in parameters else size
            for i, size in enumerate(sizes)
        )
        return read, _bytes_written(fused, instruction)

    def _fused_computation(self, instruction: Instruction) -> Computation | None:
        if instruction.opcode != "fusion" or not instruction.called:
            return None
        return self._module.computations.get(instruction.called[0])


def _unfused_bytes(computation: Computation, instruction: Instruction, sizes: list[int]) -> tuple[int, int]:
    """Return the bytes read and written by an instruction that is no fusion; ``sizes`` are those of its operands."""
    if instruction.opcode in _SLICE_OPCODES and sizes:
        return instruction.bytes + sum(sizes[1:]), instruction.bytes
    part = _UPDATE_OPERANDS.get(instruction.opcode)
    if part is not None and part < len(sizes):
        return sum(sizes[1:]), sizes[part]
    return sum(sizes), instruction.bytes


def _parameter_bytes_read(
    fused: Computation, value: Instruction, users: dict[str, list[Instruction]], depth: int = 8
) -> int:
    """Return the bytes read of a parameter: its slices, nothing where it is updated in place, or all of it.

    ``value`` is the parameter or a bitcast of it, ``users`` are the instructions that use each value, and ``depth``
    limits how many bitcasts are followed.
    """
    total = 0
    for user in users[value.name]:
        first = user.operands[0] == value.name and user.operands.count(value.name) == 1
        if first and user.opcode in _SLICE_OPCODES:
            total += user.bytes
        elif first and user.opcode == "bitcast" and depth:
            total += _parameter_bytes_read(fused, user, users, depth - 1)
        elif not (first and user.opcode in _UPDATE_OPERANDS and _is_in_place_update(fused, user, users)):
            return value.bytes
    return total


def _bytes_written(fused: Computation, instruction: Instruction) -> int:
    root = fused.root
    if root is None:
        return instruction.bytes
    results = [fused.instructions.get(name) for name in root.operands] if root.opcode == "tuple" else [root]
    return sum(_result_bytes_written(fused, result) for result in results if result is not None)


def _result_bytes_written(fused: Computation, result: Instruction) -> int:
    """Return the bytes written of a fusion's result: for an in-place update only the updated part.

    ``fused`` is the computation inside the fusion.
    """
    value = result
    while value.opcode == "bitcast" and value.operands and value.operands[0] in fused.instructions:
        value = fused.instructions[value.operands[0]]
    part = _UPDATE_OPERANDS.get(value.opcode)
    if part is not None and part < len(value.operands):
        return _operand_bytes(fused, value.operands[part])
    return result.bytes


def _is_in_place_update(fused: Computation, update: Instruction, users: dict[str, list[Instruction]]) -> bool:
    """Return whether an update happens in place: its value is a result of the fusion and has no other use.

    ``users`` are the instructions of the fusion that use each value.
    """
    return update.root or all(user.opcode in ("tuple", "bitcast") for user in users[update.name])


def _operand_bytes(computation: Computation, name: str) -> int:
    instruction = computation.instructions.get(name)
    return instruction.bytes if instruction else 0
