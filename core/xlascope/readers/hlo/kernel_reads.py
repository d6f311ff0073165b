"""Arrays that each kernel reads from other kernels through memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...records.compiled import Read
from .layouts import is_wait, memory_bytes
from .text import Computation, Instruction, Module, without_layout

#: Opcodes that rename or reshape a value without moving it.
_ALIAS_OPCODES = frozenset({"bitcast", "opt-barrier", "get-tuple-element", "tuple"})


class KernelReads:
    """Reads of a module's kernels from the results of other kernels, through renaming instructions and calls."""

    def __init__(self, module: Module, executed: Iterable[tuple[Computation, Instruction]]) -> None:
        self._module = module
        #: The caller of each computation whose operands are passed one by one: a `call`, not a loop.
        self._callers: dict[str, tuple[Computation, Instruction]] = {}
        #: The loop or branch that a computation belongs to.
        self._holders: dict[str, Instruction] = {}
        for computation, instruction in executed:
            for name in instruction.called:
                if instruction.opcode == "call":
                    self._callers.setdefault(name, (computation, instruction))
                elif instruction.opcode in ("while", "conditional"):
                    self._holders.setdefault(name, instruction)

    def of(self, computation: Computation, instruction: Instruction) -> tuple[Read, ...]:
        """Return the results of other kernels that an instruction reads, each once, in the order of its operands.

        ``computation`` is the one that contains the instruction.
        """
        reads = (read for name in instruction.operands for read in self._iter_sources(computation, name, (), ""))
        return tuple(dict.fromkeys(read for read in reads if read.kernel != instruction.name))

    def _iter_sources(
        self, computation: Computation, name: str, path: tuple[int, ...], type_text: str
    ) -> Iterator[Read]:
        """Yield the reads of the kernels that produce the value ``name`` in a computation.

        ``path`` holds the tuple indices that select an element of the value, the outermost first. ``type_text`` is
        the type of that element, ``""`` until it is known.
        """
        visited: set[tuple[str, str, tuple[int, ...]]] = set()
        while (computation.name, name, path) not in visited:
            visited.add((computation.name, name, path))
            instruction = computation.instructions.get(name)
            if instruction is None or instruction.opcode == "constant":
                return
            if instruction.opcode == "tuple" and not path:
                for operand in instruction.operands:
                    yield from self._iter_sources(computation, operand, (), "")
                return
            target = self._resolve_alias(computation, instruction, path)
            if target is None:
                kernel = self._producing_kernel(computation, instruction)
                if kernel is not None:
                    yield _make_read(kernel, path, type_text or instruction.type_text)
                return
            type_text = _type_of_part(instruction, type_text)
            computation, name, path = target

    def _resolve_alias(
        self, computation: Computation, instruction: Instruction, path: tuple[int, ...]
    ) -> tuple[Computation, str, tuple[int, ...]] | None:
        """Return (computation, name, path) of the value that an instruction renames; None if it computes one."""
        if instruction.opcode == "parameter":
            return self._resolve_argument(computation, instruction, path)
        if instruction.opcode == "call":
            body = next(
                (self._module.computations[n] for n in instruction.called if n in self._module.computations), None
            )
            return (body, body.root.name, path) if body is not None and body.root is not None else None
        if is_wait(instruction) and instruction.operands:
            return computation, instruction.operands[0], (0, *path)
        if instruction.opcode not in _ALIAS_OPCODES or not instruction.operands:
            return None
        if instruction.opcode == "get-tuple-element":
            return computation, instruction.operands[0], (_parse_number(instruction.attribute("index")), *path)
        if instruction.opcode == "tuple":
            return (
                (computation, instruction.operands[path[0]], path[1:]) if path[0] < len(instruction.operands) else None
            )
        return computation, instruction.operands[0], path

    def _resolve_argument(
        self, computation: Computation, parameter: Instruction, path: tuple[int, ...]
    ) -> tuple[Computation, str, tuple[int, ...]] | None:
        """Return (computation, name, path) of the value that a caller passes for a parameter; None if unknown."""
        outer, call = self._callers.get(computation.name, (None, None))
        number = _parse_number(parameter.attribute("parameter"))
        if outer is None or call is None or number >= len(call.operands):
            return None
        return outer, call.operands[number], path

    def _producing_kernel(self, computation: Computation, instruction: Instruction) -> str | None:
        """Return the name of the kernel that computed a value: a loop for its carry, None for an argument."""
        if instruction.opcode != "parameter":
            return (
                None if instruction.opcode in _ALIAS_OPCODES or instruction.opcode == "after-all" else instruction.name
            )
        holder = self._holders.get(computation.name)
        return holder.name if holder is not None else None


def _type_of_part(instruction: Instruction, type_text: str) -> str:
    """Return the type of the selected element after following one more instruction toward the kernel that produces it.

    ``type_text`` is the type so far; ``""`` means that it is unknown.
    """
    if instruction.opcode == "get-tuple-element" or is_wait(instruction):
        return instruction.type_text
    return "" if instruction.opcode in ("tuple", "bitcast") else type_text


def _make_read(kernel: str, path: tuple[int, ...], type_text: str) -> Read:
    return Read(kernel, path[0] if path else 0, without_layout(type_text), memory_bytes(type_text))


def _parse_number(text: str) -> int:
    return int(text) if text.isdecimal() else 0
