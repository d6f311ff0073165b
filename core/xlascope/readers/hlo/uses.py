"""Def-use edges of an HLO module, seen through fusions and instructions that only move values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .text import Instruction, Module

#: Opcodes that pass a value on unchanged, under another name, shape or location.
MOVE_OPCODES = frozenset({"bitcast", "reshape", "transpose", "copy", "copy-start", "copy-done", "get-tuple-element"})


class InstructionRef(NamedTuple):
    """Reference to an instruction by the names of its computation and of itself."""

    computation: str
    instruction: str


class UseGraph:
    """Graph from each instruction to the users of its result.

    An operand of a fusion corresponds to the parameter inside, and its result to the root inside: neither counts
    as a use. ``sees_through`` decides for each instruction that only moves a value whether its users count
    instead.

    >>> from .text import read_module
    >>> module = read_module('''HloModule m
    ... %fused (p: f32[4]) -> f32[2,2] {
    ...   %p = f32[4]{0} parameter(0)
    ...   ROOT %b = f32[2,2]{1,0} bitcast(%p)
    ... }
    ... ENTRY %main (x: f32[4]) -> f32[2,2] {
    ...   %x = f32[4]{0} parameter(0)
    ...   %f = f32[2,2]{1,0} fusion(%x), kind=kLoop, calls=%fused
    ...   ROOT %sin = f32[2,2]{1,0} sine(%f)
    ... }''')
    >>> uses = UseGraph(module, lambda instruction: True)
    >>> uses.find_users(InstructionRef("main", "x")), uses.find_users(InstructionRef("main", "sin"))
    ([InstructionRef(computation='main', instruction='sin')], [None])
    """

    def __init__(self, module: Module, sees_through: Callable[[Instruction], bool]) -> None:
        self._module = module
        self._sees_through = sees_through
        #: The users within a computation, built on first access.
        self._user_tables: dict[str, dict[str, list[Instruction]]] = {}
        self._fusions = {
            instruction.called[0]: InstructionRef(computation.name, instruction.name)
            for computation in module.computations.values()
            for instruction in computation.instructions.values()
            if instruction.opcode == "fusion" and instruction.called
        }

    def find_users(self, ref: InstructionRef) -> list[InstructionRef | None]:
        """Return the users of a value, each once.

        None stands for a use outside: the value leaves the program, a loop or a branch.
        """
        result: dict[InstructionRef | None, None] = {}
        pending, visited = [ref], {ref}
        while pending:
            users = self._direct_users(pending.pop())
            if not users:
                result[None] = None
            for user in users:
                if not self._is_transparent(user):
                    result[user] = None
                elif user not in visited:
                    visited.add(user)
                    pending.append(user)
        return list(result)

    def resolve(self, ref: InstructionRef) -> Instruction:
        """Return the instruction that a reference names."""
        return self._module.computations[ref.computation].instructions[ref.instruction]

    def enclosing_fusion(self, computation: str) -> InstructionRef | None:
        """Return the fusion that has a computation as its body, or None."""
        return self._fusions.get(computation)

    def _is_transparent(self, ref: InstructionRef) -> bool:
        instruction = self.resolve(ref)
        return instruction.opcode in ("parameter", "fusion") or (
            instruction.opcode in MOVE_OPCODES and self._sees_through(instruction)
        )

    def _direct_users(self, ref: InstructionRef) -> list[InstructionRef]:
        name, instruction = ref
        users = self._users_by_operand(name).get(instruction, ())
        refs = [entered for user in users for entered in self._enter_fusion(name, user, instruction)]
        if self.resolve(ref).root and name in self._fusions:
            refs.append(self._fusions[name])
        return refs

    def _users_by_operand(self, name: str) -> dict[str, list[Instruction]]:
        table = self._user_tables.get(name)
        if table is None:
            table = self._user_tables[name] = defaultdict(list)
            for instruction in self._module.computations[name].instructions.values():
                for operand in dict.fromkeys(instruction.operands):
                    table[operand].append(instruction)
        return table

    def _enter_fusion(self, computation: str, user: Instruction, value: str) -> Iterator[InstructionRef]:
        """Yield the user of a value in a computation; for a fusion, the parameters inside that stand for the value."""
        fused = self._module.computations.get(user.called[0]) if user.opcode == "fusion" and user.called else None
        if fused is None:
            yield InstructionRef(computation, user.name)
            return
        numbers = {str(number) for number, operand in enumerate(user.operands) if operand == value}
        for parameter in fused.instructions.values():
            if parameter.opcode == "parameter" and parameter.attribute("parameter") in numbers:
                yield InstructionRef(fused.name, parameter.name)
