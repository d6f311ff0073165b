"""The compiler's plan of memory: every array it reserves a place for, and while which kernels each is needed.

XLA says which arrays there are, what makes each, and where it lies (a ``BufferAssignmentProto``). While which kernels
an array is needed follows from the order in which they run (:mod:`xlascope.readers.memory.lives`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from ...records.compiled import Buffer
from ..format_error import FormatError
from ..hlo.provenance import Known, Paths
from ..hlo.text import Module
from .lives import Lives, Place
from .wire_format import fields, first_of, numbers, packed

Kind = Literal["argument", "result", "constant", "temporary"]


_PLAN, _MODULE = "XLA's plan of memory (a BufferAssignmentProto)", "XLA's module (an HloModuleProto)"


class _Lying(NamedTuple):
    """Where one buffer lies; ``parameter`` is the number of the argument it is, -1 for others."""

    kind: Kind
    allocation: int
    offset: int
    bytes: int
    parameter: int


def read_buffers(assignment: bytes, module_proto: bytes, module: Module, known: Known) -> tuple[Buffer, ...]:
    """The buffers of a compiled module, largest first.

    ``assignment`` is ``executable.get_compiled_memory_stats().serialized_buffer_assignment_proto``, ``module_proto``
    is ``executable.hlo_modules()[0].as_serialized_hlo_module_proto()``, ``module`` the same module's text, read, and
    ``known`` whose data each instruction gives (:func:`~xlascope.readers.hlo.provenance.data_of`). Tables of addresses
    and the scratch numbers of reductions are left out. Raises FormatError for bytes that are neither.
    """
    places = _places(assignment, _names(module_proto, module))
    lives = Lives(module, {place: number for number, (place, _) in places.items()})
    found = (
        _buffer(module, place, lying, known.get((place.computation, place.instruction), ()), lives.of(number))
        for number, (place, lying) in places.items()
    )
    return tuple(sorted(filter(None, found), key=lambda buffer: (-buffer.bytes, buffer.first, buffer.maker)))


def _buffer(module: Module, place: Place, lying: _Lying, equations: Paths, life: tuple[int, int]) -> Buffer | None:
    """The record of a buffer; None of one that holds the addresses of a tuple's parts rather than an array."""
    computation = module.computations.get(place.computation)
    instruction = computation.instructions.get(place.instruction) if computation else None
    if instruction is None or (not place.part and instruction.type_text.startswith("(")):
        return None
    kind, allocation, offset, size, parameter = lying
    if instruction.opcode == "parameter" and computation is module.entry:
        return Buffer(place.instruction, "argument", (), allocation, offset, size, *life, parameter)
    return Buffer(place.instruction, kind, equations, allocation, offset, size, *life)


def _names(module_proto: bytes, module: Module) -> dict[int, tuple[str, str]]:
    """The computation and the name of every instruction by its number (an ``HloModuleProto``)."""
    found = {}
    for field, value in fields(module_proto):
        if field == 3 and isinstance(value, bytes):
            computation = ""
            for part, content in fields(value):
                if part == 1 and isinstance(content, bytes):
                    computation = content.decode(errors="replace")
                elif part == 2 and isinstance(content, bytes):
                    name, number = first_of(content, 1, 35)
                    found[number] = computation, name.decode(errors="replace")
    known = {
        (computation.name, name) for computation in module.computations.values() for name in computation.instructions
    }
    if known.isdisjoint(found.values()):
        raise FormatError(
            _MODULE, f"expected the {len(known):,} instructions of {module.name}, found {len(found):,} others"
        )
    return found


def _places(assignment: bytes, names: dict[int, tuple[str, str]]) -> dict[int, tuple[Place, _Lying]]:
    """Every buffer by its number: what makes it, and where it lies (a ``BufferAssignmentProto``)."""
    made: dict[int, Place] = {}
    allocations = []
    for field, value in fields(assignment):
        if isinstance(value, bytes) and field == 1:
            number, instruction, index = _logical_buffer(value)
            if instruction in names:
                made[number] = Place(*names[instruction], index)
        elif isinstance(value, bytes) and field == 3:
            allocations.append(value)
    if not made or not allocations:
        found = f"{len(made):,} of the first and {len(allocations):,} of the second"
        raise FormatError(_PLAN, f"expected logical buffers in field 1 and allocations in field 3, found {found}")
    return {
        number: (made[number], lying)
        for allocation in allocations
        for number, lying in _assigned(allocation)
        if number in made
    }


def _logical_buffer(data: bytes) -> tuple[int, int, tuple[int, ...]]:
    """A ``LogicalBufferProto``: its number, the number of the instruction that makes it, the path into its result."""
    message = dict(fields(data))
    where = message.get(3, b"")
    index: list[int] = []
    instruction = 0
    for field, value in fields(where) if isinstance(where, bytes) else ():
        if field == 3:
            index.extend(packed(value))
        elif field == 4 and isinstance(value, int):
            instruction = value
    return numbers(message, 1), instruction, tuple(index)


def _assigned(data: bytes) -> Iterator[tuple[int, _Lying]]:
    """A ``BufferAllocationProto``: the buffers in it. Scratch of the threads is none of the program's memory."""
    content = list(fields(data))
    message = dict(content)
    if numbers(message, 3):
        return
    kind: Kind = "constant" if numbers(message, 12) else "result" if numbers(message, 7) else "temporary"
    parameter = numbers(message, 6) if numbers(message, 5) else -1
    for inside in (dict(fields(value)) for field, value in content if field == 9 and isinstance(value, bytes)):
        offset, size = numbers(inside, 2), numbers(inside, 3)
        yield numbers(inside, 1), _Lying(kind, numbers(message, 1), offset, size, parameter)
