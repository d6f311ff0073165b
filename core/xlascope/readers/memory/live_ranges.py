"""Live ranges of buffers: from the kernel that defines a buffer to the last one that reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..hlo.kernels import iter_executed
from ..hlo.text import Computation, Instruction, Module


class BufferDefinition(NamedTuple):
    """Definition of a buffer: the instruction whose result it holds.

    ``part`` is the index into the result if that is a tuple, otherwise empty.
    """

    computation: str
    instruction: str
    part: tuple[int, ...]


#: The buffers that may hold a value, by the index into it where it is a tuple.
ValueBuffers = dict[tuple[int, ...], frozenset[int]]

#: Opcodes that only rename a value.
_ALIAS_OPCODES = frozenset(
    {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "opt-barrier"}
)
_CONTROL_FLOW_OPCODES = frozenset({"while", "conditional"})
_MAX_NESTING_DEPTH = 64


class LiveRanges:
    """Live ranges of a module's buffers, as positions in the sequence of its kernels.

    A loop's carry is live throughout the loop, an argument or a constant throughout the program, and a result from
    its definition to the end. ``definitions`` numbers the buffers.
    """

    def __init__(self, module: Module, definitions: dict[BufferDefinition, int]) -> None:
        self._module = module
        self._definitions: dict[tuple[str, str], ValueBuffers] = {}
        for definition, number in definitions.items():
            local_buffers = self._definitions.setdefault((definition.computation, definition.instruction), {})
            local_buffers[definition.part] = frozenset([number])
        self._position = {
            (computation.name, instruction.name): i
            for i, (computation, instruction) in enumerate(iter_executed(module))
        }
        self._ends = self._compute_body_ends()
        self._ranges: dict[int, tuple[int, int]] = {}
        self._results: dict[str, ValueBuffers] = {}
        self._current = 0
        self._last = max(len(self._position) - 1, 0)
        self._extend_ranges(self._evaluate(module.entry, [], 0), self._last)

    def of(self, number: int) -> tuple[int, int]:
        """Return the positions of the first and the last kernel that need a buffer; all kernels if it is unknown."""
        return self._ranges.get(number, (0, self._last))

    def _compute_body_ends(self) -> dict[str, int]:
        """Return for each computation the position of its last kernel, also in computations it calls."""
        ends: dict[str, int] = {}
        for (computation, name), position in reversed(self._position.items()):
            callees = self._module.computations[computation].instructions[name].called
            last = max([position, *(ends.get(body, 0) for body in callees)])
            ends[computation] = max(ends.get(computation, 0), last)
        return ends

    def _evaluate(self, computation: Computation, arguments: list[ValueBuffers], depth: int) -> ValueBuffers:
        """Return the buffers of a computation's result, updating live ranges on the way.

        ``arguments`` are the buffers of its operands, ``depth`` is how many computations contain it.
        """
        if computation.name in self._results or depth > _MAX_NESTING_DEPTH:
            return self._results.get(computation.name, {})
        values: dict[str, ValueBuffers] = {}
        for instruction in computation.instructions.values():
            self._current = self._position.get((computation.name, instruction.name), self._current)
            value = self._evaluate_instruction(computation, instruction, values, arguments, depth)
            defined = self._definitions.get((computation.name, instruction.name), {})
            self._start_ranges(computation, instruction, defined)
            values[instruction.name] = {**value, **defined} if defined else value
        root = values.get(computation.root.name, {}) if computation.root else {}
        self._results[computation.name] = root
        return root

    def _evaluate_instruction(
        self,
        computation: Computation,
        instruction: Instruction,
        values: dict[str, ValueBuffers],
        arguments: list[ValueBuffers],
        depth: int,
    ) -> ValueBuffers:
        """Return the buffers that hold an instruction's result without those it defines itself.

        ``values`` are those of the computation's earlier instructions, ``arguments`` those of its operands.
        """
        operands = [values.get(name, {}) for name in instruction.operands]
        if instruction.opcode == "parameter":
            number = instruction.attribute("parameter")
            return arguments[int(number)] if number.isdigit() and int(number) < len(arguments) else {}
        if instruction.opcode == "tuple":
            return {(i, *path): buffers for i, value in enumerate(operands) for path, buffers in value.items()}
        if instruction.opcode == "get-tuple-element":
            index = (int(instruction.attribute("index")),)
            return {path[1:]: buffers for path, buffers in operands[0].items() if path[:1] == index} if operands else {}
        if instruction.opcode in _ALIAS_OPCODES:
            return operands[0] if operands else {}
        return self._evaluate_kernel(computation, instruction, operands, depth)

    def _evaluate_kernel(
        self, computation: Computation, instruction: Instruction, operands: list[ValueBuffers], depth: int
    ) -> ValueBuffers:
        """Return the buffers that a kernel passes on, a called computation's result or a loop's carry.

        The live ranges of its operands are extended to the end of the kernel.
        """
        bodies = list(self._iter_bodies(instruction))
        until = max([self._current, *(self._ends.get(body.name, 0) for body in bodies)])
        for operand in operands:
            self._extend_ranges(operand, until)
        chooses = instruction.opcode == "conditional"
        results = [
            self._evaluate(body, operands[i + 1 : i + 2] if chooses else operands, depth + 1)
            for i, body in enumerate(bodies)
        ]
        # The result of a loop's condition, its first body, is read in every step.
        for result in results[-1:] if instruction.opcode == "while" else results:
            self._extend_ranges(result, until)
        self._current = max(self._current, until)
        if instruction.opcode == "while":
            return operands[0] if operands else {}
        return results[-1] if instruction.opcode == "call" and results else {}

    def _iter_bodies(self, instruction: Instruction) -> Iterator[Computation]:
        if instruction.opcode == "call" or instruction.opcode in _CONTROL_FLOW_OPCODES:
            for name in instruction.called:
                if name in self._module.computations:
                    yield self._module.computations[name]

    def _start_ranges(self, computation: Computation, instruction: Instruction, defined: ValueBuffers) -> None:
        outermost = computation is self._module.entry
        for number in (number for buffers in defined.values() for number in buffers):
            if instruction.opcode == "constant" or (instruction.opcode == "parameter" and outermost):
                self._ranges[number] = (0, self._last)
            else:
                self._ranges.setdefault(number, (self._current, self._current))

    def _extend_ranges(self, value: ValueBuffers, until: int) -> None:
        for number in (number for buffers in value.values() for number in buffers):
            first, last = self._ranges.get(number, (self._current, self._current))
            self._ranges[number] = first, max(last, until)
