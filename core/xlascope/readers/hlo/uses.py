"""Who takes the result of an instruction: fusions are looked into, and what only hands a value on is looked through."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .text import Instruction, Module

#: Opcodes that hand a value on as it is, under another name, shape or place.
MOVES = frozenset({"bitcast", "reshape", "transpose", "copy", "copy-start", "copy-done", "get-tuple-element"})


class Place(NamedTuple):
    """An instruction, by the name of its computation and its own."""

    computation: str
    instruction: str


class Uses:
    """The edges of a module's values, from each instruction to those that take its result.

    A fusion's operand is what the parameter inside stands for, and its result is the root inside: neither is a use.
    ``passes`` says of what only moves a value whether it is looked through too.

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
    >>> uses = Uses(module, lambda each: True)
    >>> uses.takers(Place("main", "x")), uses.takers(Place("main", "sin"))
    ([Place(computation='main', instruction='sin')], [None])
    """

    def __init__(self, module: Module, passes: Callable[[Instruction], bool]) -> None:
        self._module = module
        self._passes = passes
        #: The users within a computation, made when the first of its values is asked about.
        self._within: dict[str, dict[str, list[Instruction]]] = {}
        self._fusions = {
            each.called[0]: Place(computation.name, each.name)
            for computation in module.computations.values()
            for each in computation.instructions.values()
            if each.opcode == "fusion" and each.called
        }

    def takers(self, place: Place) -> list[Place | None]:
        """The instructions that take a value, each once; None stands for what leaves the program, a loop or a branch
        with it.
        """
        found: dict[Place | None, None] = {}
        pending, seen = [place], {place}
        while pending:
            users = self._users(pending.pop())
            if not users:
                found[None] = None
            for user in users:
                if not self._looked_through(user):
                    found[user] = None
                elif user not in seen:
                    seen.add(user)
                    pending.append(user)
        return list(found)

    def at(self, place: Place) -> Instruction:
        """The instruction of a place."""
        return self._module.computations[place.computation].instructions[place.instruction]

    def fusion(self, computation: str) -> Place | None:
        """The fusion that a computation is the inside of."""
        return self._fusions.get(computation)

    def _looked_through(self, place: Place) -> bool:
        each = self.at(place)
        return each.opcode in ("parameter", "fusion") or (each.opcode in MOVES and self._passes(each))

    def _users(self, place: Place) -> list[Place]:
        name, instruction = place
        users = self._table(name).get(instruction, ())
        found = [taker for user in users for taker in self._entered(name, user, instruction)]
        if self.at(place).root and name in self._fusions:
            found.append(self._fusions[name])
        return found

    def _table(self, name: str) -> dict[str, list[Instruction]]:
        known = self._within.get(name)
        if known is None:
            known = self._within[name] = defaultdict(list)
            for each in self._module.computations[name].instructions.values():
                for operand in dict.fromkeys(each.operands):
                    known[operand].append(each)
        return known

    def _entered(self, computation: str, user: Instruction, value: str) -> Iterator[Place]:
        """The user of a value itself; of a fusion the parameters inside that stand for the value."""
        inside = self._module.computations.get(user.called[0]) if user.opcode == "fusion" and user.called else None
        if inside is None:
            yield Place(computation, user.name)
            return
        numbers = {str(number) for number, operand in enumerate(user.operands) if operand == value}
        for each in inside.instructions.values():
            if each.opcode == "parameter" and each.attribute("parameter") in numbers:
                yield Place(inside.name, each.name)
