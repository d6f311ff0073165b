"""Live ranges of buffers: from the kernel that defines a buffer to the last one that reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..hlo.kernels import running
from ..hlo.text import Computation, Instruction, Module


class Place(NamedTuple):
    """Definition of a buffer: an instruction of a computation, and the index into its result if that is a tuple."""

    computation: str
    instruction: str
    part: tuple[int, ...]


#: The buffers that may hold a value, by the index into it where it is a tuple.
Value = dict[tuple[int, ...], frozenset[int]]

#: Opcodes that only rename a value.
_NAMES = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "opt-barrier"})
_LOOPS = frozenset({"while", "conditional"})
_MOST_NESTED = 64


class Lives:
    """Live ranges of the buffers numbered in ``definitions``, as positions in the sequence of a module's kernels.

    A loop's carry is live throughout the loop, an argument or a constant throughout the program, and a result
    from its definition to the end.
    """

    def __init__(self, module: Module, definitions: dict[Place, int]) -> None:
        self._module = module
        self._made: dict[tuple[str, str], Value] = {}
        for definition, number in definitions.items():
            local_buffers = self._made.setdefault((definition.computation, definition.instruction), {})
            local_buffers[definition.part] = frozenset([number])
        self._position = {
            (computation.name, instruction.name): i for i, (computation, instruction) in enumerate(running(module))
        }
        self._ends = self._ends_of_bodies()
        self._lives: dict[int, tuple[int, int]] = {}
        self._done: dict[str, Value] = {}
        self._at = 0
        self._last = max(len(self._position) - 1, 0)
        self._use(self._evaluate(module.entry, [], 0), self._last)

    def of(self, number: int) -> tuple[int, int]:
        """Return the first and the last position at which a buffer is live; the whole program if it is unknown."""
        return self._lives.get(number, (0, self._last))

    def _ends_of_bodies(self) -> dict[str, int]:
        """Return for each computation the position of its last kernel, including computations it calls."""
        ends: dict[str, int] = {}
        for (computation, name), position in reversed(self._position.items()):
            called = self._module.computations[computation].instructions[name].called
            last = max([position, *(ends.get(body, 0) for body in called)])
            ends[computation] = max(ends.get(computation, 0), last)
        return ends

    def _evaluate(self, computation: Computation, arguments: list[Value], depth: int) -> Value:
        """Return the buffers of a computation's result, updating live ranges on the way."""
        if computation.name in self._done or depth > _MOST_NESTED:
            return self._done.get(computation.name, {})
        values: dict[str, Value] = {}
        for instruction in computation.instructions.values():
            self._at = self._position.get((computation.name, instruction.name), self._at)
            value = self._value(computation, instruction, values, arguments, depth)
            defined = self._made.get((computation.name, instruction.name), {})
            self._make(computation, instruction, defined)
            values[instruction.name] = {**value, **defined} if defined else value
        root = values.get(computation.root.name, {}) if computation.root else {}
        self._done[computation.name] = root
        return root

    def _value(
        self,
        computation: Computation,
        instruction: Instruction,
        values: dict[str, Value],
        arguments: list[Value],
        depth: int,
    ) -> Value:
        operands = [values.get(name, {}) for name in instruction.operands]
        if instruction.opcode == "parameter":
            number = instruction.attribute("parameter")
            return arguments[int(number)] if number.isdigit() and int(number) < len(arguments) else {}
        if instruction.opcode == "tuple":
            return {(i, *path): buffers for i, value in enumerate(operands) for path, buffers in value.items()}
        if instruction.opcode == "get-tuple-element":
            index = (int(instruction.attribute("index")),)
            return {path[1:]: buffers for path, buffers in operands[0].items() if path[:1] == index} if operands else {}
        if instruction.opcode in _NAMES:
            return operands[0] if operands else {}
        return self._run(computation, instruction, operands, depth)

    def _run(self, computation: Computation, instruction: Instruction, operands: list[Value], depth: int) -> Value:
        """Return the buffers that a kernel passes on: a called computation's result or a loop's carry."""
        bodies = list(self._bodies(instruction))
        until = max([self._at, *(self._ends.get(body.name, 0) for body in bodies)])
        for operand in operands:
            self._use(operand, until)
        chooses = instruction.opcode == "conditional"
        results = [
            self._evaluate(body, operands[i + 1 : i + 2] if chooses else operands, depth + 1)
            for i, body in enumerate(bodies)
        ]
        # The result of a loop's condition, its first body, is read in every step.
        for result in results[-1:] if instruction.opcode == "while" else results:
            self._use(result, until)
        self._at = max(self._at, until)
        if instruction.opcode == "while":
            return operands[0] if operands else {}
        return results[-1] if instruction.opcode == "call" and results else {}

    def _bodies(self, instruction: Instruction) -> Iterator[Computation]:
        if instruction.opcode == "call" or instruction.opcode in _LOOPS:
            for name in instruction.called:
                if name in self._module.computations:
                    yield self._module.computations[name]

    def _make(self, computation: Computation, instruction: Instruction, defined: Value) -> None:
        outermost = computation is self._module.entry
        for number in (number for buffers in defined.values() for number in buffers):
            if instruction.opcode == "constant" or (instruction.opcode == "parameter" and outermost):
                self._lives[number] = (0, self._last)
            else:
                self._lives.setdefault(number, (self._at, self._at))

    def _use(self, value: Value, until: int) -> None:
        for number in (number for buffers in value.values() for number in buffers):
            first, last = self._lives.get(number, (self._at, self._at))
            self._lives[number] = first, max(last, until)
