"""Def-use edges of an HLO module, seen through fusions and instructions that only move values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .text import Instruction, Module

#: Opcodes that pass a value on unchanged, under another name, shape or location.
MOVES = frozenset({"bitcast", "reshape", "transpose", "copy", "copy-start", "copy-done", "get-tuple-element"})


class Place(NamedTuple):
    """Reference to an instruction by the names of its computation and of itself."""

    computation: str
    instruction: str


class Uses:
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
        self._passes = sees_through
        #: The users within a computation, built on first access.
        self._within: dict[str, dict[str, list[Instruction]]] = {}
        self._fusions = {
            instruction.called[0]: Place(computation.name, instruction.name)
            for computation in module.computations.values()
            for instruction in computation.instructions.values()
            if instruction.opcode == "fusion" and instruction.called
        }

    def takers(self, ref: Place) -> list[Place | None]:
        """Return the users of a value, each once.

        None stands for a use outside: the value leaves the program, a loop or a branch.
        """
        result: dict[Place | None, None] = {}
        pending, visited = [ref], {ref}
        while pending:
            users = self._users(pending.pop())
            if not users:
                result[None] = None
            for user in users:
                if not self._looked_through(user):
                    result[user] = None
                elif user not in visited:
                    visited.add(user)
                    pending.append(user)
        return list(result)

    def at(self, ref: Place) -> Instruction:
        """Return the instruction that a reference names."""
        return self._module.computations[ref.computation].instructions[ref.instruction]

    def fusion(self, computation: str) -> Place | None:
        """Return the fusion that has a computation as its body, or None."""
        return self._fusions.get(computation)

    def _looked_through(self, ref: Place) -> bool:
        instruction = self.at(ref)
        return instruction.opcode in ("parameter", "fusion") or (
            instruction.opcode in MOVES and self._passes(instruction)
        )

    def _users(self, ref: Place) -> list[Place]:
        name, instruction = ref
        users = self._table(name).get(instruction, ())
        refs = [entered for user in users for entered in self._entered(name, user, instruction)]
        if self.at(ref).root and name in self._fusions:
            refs.append(self._fusions[name])
        return refs

    def _table(self, name: str) -> dict[str, list[Instruction]]:
        table = self._within.get(name)
        if table is None:
            table = self._within[name] = defaultdict(list)
            for instruction in self._module.computations[name].instructions.values():
                for operand in dict.fromkeys(instruction.operands):
                    table[operand].append(instruction)
        return table

    def _entered(self, computation: str, user: Instruction, value: str) -> Iterator[Place]:
        """Yield the user of a value; for a fusion, the parameters inside that stand for the value."""
        fused = self._module.computations.get(user.called[0]) if user.opcode == "fusion" and user.called else None
        if fused is None:
            yield Place(computation, user.name)
            return
        numbers = {str(number) for number, operand in enumerate(user.operands) if operand == value}
        for parameter in fused.instructions.values():
            if parameter.opcode == "parameter" and parameter.attribute("parameter") in numbers:
                yield Place(fused.name, parameter.name)
