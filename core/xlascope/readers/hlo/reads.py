"""What still crosses memory: for each kernel, the arrays that it reads from other kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...records.compiled import Read
from .layouts import is_wait, memory_bytes
from .text import Computation, Instruction, Module, without_layout

#: Opcodes that give a new name, or another shape, to what is in memory already.
_RENAMES = frozenset({"bitcast", "opt-barrier", "get-tuple-element", "tuple"})


class Reads:
    """Answers, for the instructions of a module that run, which kernels' results they read."""

    def __init__(self, module: Module, running: Iterable[tuple[Computation, Instruction]]) -> None:
        self._module = module
        #: Who calls a computation with operands of its own, one by one: a `call`, not a loop that passes one tuple.
        self._callers: dict[str, tuple[Computation, Instruction]] = {}
        #: The loop or branch that a computation belongs to.
        self._holders: dict[str, Instruction] = {}
        for computation, each in running:
            for name in each.called:
                if each.opcode == "call":
                    self._callers.setdefault(name, (computation, each))
                elif each.opcode in ("while", "conditional"):
                    self._holders.setdefault(name, each)

    def of(self, computation: Computation, instruction: Instruction) -> tuple[Read, ...]:
        """The results of other kernels that an instruction reads, each once, in the order of its operands."""
        found = (read for name in instruction.operands for read in self._sources(computation, name, (), ""))
        return tuple(dict.fromkeys(read for read in found if read.kernel != instruction.name))

    def _sources(self, computation: Computation, name: str, path: tuple[int, ...], type_text: str) -> Iterator[Read]:
        """The kernels behind a name. ``path`` are the parts of tuples still to be taken, the next one first, and
        ``type_text`` is the type of the part, once it is known.
        """
        seen: set[tuple[str, str, tuple[int, ...]]] = set()
        while (computation.name, name, path) not in seen:
            seen.add((computation.name, name, path))
            each = computation.instructions.get(name)
            if each is None or each.opcode == "constant":
                return
            if each.opcode == "tuple" and not path:
                for operand in each.operands:
                    yield from self._sources(computation, operand, (), "")
                return
            step = self._step(computation, each, path)
            if step is None:
                kernel = self._kernel(computation, each)
                if kernel is not None:
                    yield _read(kernel, path, type_text or each.type_text)
                return
            type_text = _part_type(each, type_text)
            computation, name, path = step

    def _step(
        self, computation: Computation, each: Instruction, path: tuple[int, ...]
    ) -> tuple[Computation, str, tuple[int, ...]] | None:
        """One step from a name to what it names; None where something was computed."""
        if each.opcode == "parameter":
            return self._argument(computation, each, path)
        if each.opcode == "call":
            body = next((self._module.computations[n] for n in each.called if n in self._module.computations), None)
            return (body, body.root.name, path) if body is not None and body.root is not None else None
        if is_wait(each) and each.operands:
            return computation, each.operands[0], (0, *path)
        if each.opcode not in _RENAMES or not each.operands:
            return None
        if each.opcode == "get-tuple-element":
            return computation, each.operands[0], (_number(each.attribute("index")), *path)
        if each.opcode == "tuple":
            return (computation, each.operands[path[0]], path[1:]) if path[0] < len(each.operands) else None
        return computation, each.operands[0], path

    def _argument(
        self, computation: Computation, each: Instruction, path: tuple[int, ...]
    ) -> tuple[Computation, str, tuple[int, ...]] | None:
        outer, call = self._callers.get(computation.name, (None, None))
        number = _number(each.attribute("parameter"))
        if outer is None or call is None or number >= len(call.operands):
            return None
        return outer, call.operands[number], path

    def _kernel(self, computation: Computation, each: Instruction) -> str | None:
        """The kernel that computed something: the loop itself for its state, None for the program's arguments."""
        if each.opcode != "parameter":
            return None if each.opcode in _RENAMES or each.opcode == "after-all" else each.name
        holder = self._holders.get(computation.name)
        return holder.name if holder is not None else None


def _part_type(each: Instruction, type_text: str) -> str:
    """The type of the part that is read, taken from the name that is nearest to the kernel that wrote it."""
    if each.opcode == "get-tuple-element" or is_wait(each):
        return each.type_text
    return "" if each.opcode in ("tuple", "bitcast") else type_text


def _read(kernel: str, path: tuple[int, ...], type_text: str) -> Read:
    return Read(kernel, path[0] if path else 0, without_layout(type_text), memory_bytes(type_text))


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0
