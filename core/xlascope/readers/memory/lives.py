"""While which kernels a buffer is needed: from the one that makes it to the last one that reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..hlo.kernels import running
from ..hlo.text import Computation, Instruction, Module


class Place(NamedTuple):
    """What makes a buffer: an instruction of a computation, and the path into its result where that is a tuple."""

    computation: str
    instruction: str
    part: tuple[int, ...]


#: The buffers that a value may lie in, by the path into it where it is a tuple.
Value = dict[tuple[int, ...], frozenset[int]]

#: Opcodes that give a value a name, and do nothing.
_NAMES = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "opt-barrier"})
_LOOPS = frozenset({"while", "conditional"})
_MOST_NESTED = 64


class Lives:
    """The lives of the buffers that ``made`` numbers, in positions of the kernels of a module.

    A loop's carry is needed throughout the loop, an argument and a constant throughout the program, a result from when
    it is made to the end.
    """

    def __init__(self, module: Module, made: dict[Place, int]) -> None:
        self._module = module
        self._made: dict[tuple[str, str], Value] = {}
        for place, number in made.items():
            own = self._made.setdefault((place.computation, place.instruction), {})
            own[place.part] = frozenset([number])
        self._position = {(computation.name, each.name): i for i, (computation, each) in enumerate(running(module))}
        self._ends = self._ends_of_bodies()
        self._lives: dict[int, tuple[int, int]] = {}
        self._done: dict[str, Value] = {}
        self._at = 0
        self._last = max(len(self._position) - 1, 0)
        self._use(self._evaluate(module.entry, [], 0), self._last)

    def of(self, number: int) -> tuple[int, int]:
        """The first and the last position at which a buffer is needed; all of them where nothing is known."""
        return self._lives.get(number, (0, self._last))

    def _ends_of_bodies(self) -> dict[str, int]:
        """For each computation the position of the last kernel in it, and in those that it calls."""
        ends: dict[str, int] = {}
        for (computation, name), position in reversed(self._position.items()):
            called = self._module.computations[computation].instructions[name].called
            last = max([position, *(ends.get(each, 0) for each in called)])
            ends[computation] = max(ends.get(computation, 0), last)
        return ends

    def _evaluate(self, computation: Computation, arguments: list[Value], depth: int) -> Value:
        """The value of a computation's result; on the way, every buffer in it learns when it is made and used."""
        if computation.name in self._done or depth > _MOST_NESTED:
            return self._done.get(computation.name, {})
        values: dict[str, Value] = {}
        for each in computation.instructions.values():
            self._at = self._position.get((computation.name, each.name), self._at)
            value = self._value(computation, each, values, arguments, depth)
            own = self._made.get((computation.name, each.name), {})
            self._make(computation, each, own)
            values[each.name] = {**value, **own} if own else value
        root = values.get(computation.root.name, {}) if computation.root else {}
        self._done[computation.name] = root
        return root

    def _value(
        self, computation: Computation, each: Instruction, values: dict[str, Value], arguments: list[Value], depth: int
    ) -> Value:
        operands = [values.get(name, {}) for name in each.operands]
        if each.opcode == "parameter":
            number = each.attribute("parameter")
            return arguments[int(number)] if number.isdigit() and int(number) < len(arguments) else {}
        if each.opcode == "tuple":
            return {(i, *path): held for i, value in enumerate(operands) for path, held in value.items()}
        if each.opcode == "get-tuple-element":
            index = (int(each.attribute("index")),)
            return {path[1:]: held for path, held in operands[0].items() if path[:1] == index} if operands else {}
        if each.opcode in _NAMES:
            return operands[0] if operands else {}
        return self._run(computation, each, operands, depth)

    def _run(self, computation: Computation, each: Instruction, operands: list[Value], depth: int) -> Value:
        """What a kernel gives that is not its own: the result of the computation it calls, a loop's carry."""
        bodies = list(self._bodies(each))
        until = max([self._at, *(self._ends.get(body.name, 0) for body in bodies)])
        for operand in operands:
            self._use(operand, until)
        chooses = each.opcode == "conditional"
        results = [
            self._evaluate(body, operands[i + 1 : i + 2] if chooses else operands, depth + 1)
            for i, body in enumerate(bodies)
        ]
        # The result of a loop's condition, its first body, is looked at once a step.
        for result in results[-1:] if each.opcode == "while" else results:
            self._use(result, until)
        self._at = max(self._at, until)
        if each.opcode == "while":
            return operands[0] if operands else {}
        return results[-1] if each.opcode == "call" and results else {}

    def _bodies(self, each: Instruction) -> Iterator[Computation]:
        if each.opcode == "call" or each.opcode in _LOOPS:
            for name in each.called:
                if name in self._module.computations:
                    yield self._module.computations[name]

    def _make(self, computation: Computation, each: Instruction, own: Value) -> None:
        outermost = computation is self._module.entry
        for number in (number for held in own.values() for number in held):
            if each.opcode == "constant" or (each.opcode == "parameter" and outermost):
                self._lives[number] = (0, self._last)
            else:
                self._lives.setdefault(number, (self._at, self._at))

    def _use(self, value: Value, until: int) -> None:
        for number in (number for held in value.values() for number in held):
            first, last = self._lives.get(number, (self._at, self._at))
            self._lives[number] = first, max(last, until)
