"""Reader of XLA's buffer assignment: every array with its memory location and live range.

XLA reports which arrays there are, the instruction that defines each, and its location (a
``BufferAssignmentProto``). Live ranges follow from the order of the kernels
(:mod:`xlascope.readers.memory.live_ranges`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from ...records.compiled import Buffer
from ..format_error import FormatError
from ..hlo.provenance import EquationPaths, ProvenanceMap
from ..hlo.text import Module
from .live_ranges import BufferDefinition, LiveRanges
from .wire_format import int_field, iter_fields, read_text_and_number, unpack_ints

BufferKind = Literal["argument", "result", "constant", "temporary"]


_ASSIGNMENT_SUBJECT, _MODULE_SUBJECT = (
    "XLA's plan of memory (a BufferAssignmentProto)",
    "XLA's module (an HloModuleProto)",
)


class _BufferSlice(NamedTuple):
    """Location of one buffer: ``bytes`` at ``offset`` of an allocation.

    ``parameter`` is the number of the argument that it holds, or -1.
    """

    kind: BufferKind
    allocation: int
    offset: int
    bytes: int
    parameter: int


def read_buffers(assignment: bytes, module_proto: bytes, module: Module, data: ProvenanceMap) -> tuple[Buffer, ...]:
    """Return the buffers of a compiled module, largest first.

    ``assignment`` is ``executable.get_compiled_memory_stats().serialized_buffer_assignment_proto``,
    ``module_proto`` is ``executable.hlo_modules()[0].as_serialized_hlo_module_proto()``, ``module`` is the parsed
    text of the same module, and ``data`` gives the equations whose data each instruction holds
    (:func:`~xlascope.readers.hlo.provenance.data_of`). Tables of addresses and the scratch numbers of reductions
    are left out. Raises FormatError for bytes that are neither.
    """
    definitions = _read_definitions(assignment, _read_instruction_names(module_proto, module))
    live_ranges = LiveRanges(module, {definition: number for number, (definition, _) in definitions.items()})
    buffers = (
        _build_buffer(
            module,
            definition,
            buffer_slice,
            data.get((definition.computation, definition.instruction), ()),
            live_ranges.of(number),
        )
        for number, (definition, buffer_slice) in definitions.items()
    )
    return tuple(sorted(filter(None, buffers), key=lambda buffer: (-buffer.bytes, buffer.first, buffer.maker)))


def _build_buffer(
    module: Module,
    definition: BufferDefinition,
    buffer_slice: _BufferSlice,
    equations: EquationPaths,
    live_range: tuple[int, int],
) -> Buffer | None:
    """Return the record of a buffer, or None if it holds the addresses of a tuple's elements instead of an array.

    ``equations`` are those whose results it holds, ``live_range`` the indices of the first and the last kernel that
    need it.
    """
    computation = module.computations.get(definition.computation)
    instruction = computation.instructions.get(definition.instruction) if computation else None
    if instruction is None or (not definition.part and instruction.type_text.startswith("(")):
        return None
    kind, allocation, offset, size, parameter = buffer_slice
    if instruction.opcode == "parameter" and computation is module.entry:
        return Buffer(definition.instruction, "argument", (), allocation, offset, size, *live_range, parameter)
    return Buffer(definition.instruction, kind, equations, allocation, offset, size, *live_range)


def _read_instruction_names(module_proto: bytes, module: Module) -> dict[int, tuple[str, str]]:
    """Return (computation, name) of every instruction of an ``HloModuleProto``, by the instruction's number.

    Raises FormatError if none of them is in ``module``.
    """
    by_number = {}
    for field, value in iter_fields(module_proto):
        if field == 3 and isinstance(value, bytes):
            computation = ""
            for part, content in iter_fields(value):
                if part == 1 and isinstance(content, bytes):
                    computation = content.decode(errors="replace")
                elif part == 2 and isinstance(content, bytes):
                    name, number = read_text_and_number(content, 1, 35)
                    by_number[number] = computation, name.decode(errors="replace")
    expected = {
        (computation.name, name) for computation in module.computations.values() for name in computation.instructions
    }
    if expected.isdisjoint(by_number.values()):
        raise FormatError(
            _MODULE_SUBJECT,
            f"expected the {len(expected):,} instructions of {module.name}, found {len(by_number):,} others",
        )
    return by_number


def _read_definitions(
    assignment: bytes, names: dict[int, tuple[str, str]]
) -> dict[int, tuple[BufferDefinition, _BufferSlice]]:
    """Return the definition and the location of every buffer of a ``BufferAssignmentProto``, by its number.

    ``names`` are (computation, instruction) by the instruction's number.
    """
    definitions: dict[int, BufferDefinition] = {}
    allocations = []
    for field, value in iter_fields(assignment):
        if isinstance(value, bytes) and field == 1:
            number, instruction, index = _parse_logical_buffer(value)
            if instruction in names:
                definitions[number] = BufferDefinition(*names[instruction], index)
        elif isinstance(value, bytes) and field == 3:
            allocations.append(value)
    if not definitions or not allocations:
        counts = f"{len(definitions):,} of the first and {len(allocations):,} of the second"
        raise FormatError(
            _ASSIGNMENT_SUBJECT, f"expected logical buffers in field 1 and allocations in field 3, found {counts}"
        )
    return {
        number: (definitions[number], buffer_slice)
        for allocation in allocations
        for number, buffer_slice in _parse_allocation(allocation)
        if number in definitions
    }


def _parse_logical_buffer(data: bytes) -> tuple[int, int, tuple[int, ...]]:
    """Return a ``LogicalBufferProto``'s number, its instruction's number, and the index into that one's result."""
    message = dict(iter_fields(data))
    location = message.get(3, b"")
    index: list[int] = []
    instruction = 0
    for field, value in iter_fields(location) if isinstance(location, bytes) else ():
        if field == 3:
            index.extend(unpack_ints(value))
        elif field == 4 and isinstance(value, int):
            instruction = value
    return int_field(message, 1), instruction, tuple(index)


def _parse_allocation(data: bytes) -> Iterator[tuple[int, _BufferSlice]]:
    """Yield (number, location) of the buffers of a ``BufferAllocationProto``, without scratch memory of threads."""
    content = list(iter_fields(data))
    message = dict(content)
    if int_field(message, 3):
        return
    kind: BufferKind = "constant" if int_field(message, 12) else "result" if int_field(message, 7) else "temporary"
    parameter = int_field(message, 6) if int_field(message, 5) else -1
    for assigned in (dict(iter_fields(value)) for field, value in content if field == 9 and isinstance(value, bytes)):
        offset, size = int_field(assigned, 2), int_field(assigned, 3)
        yield int_field(assigned, 1), _BufferSlice(kind, int_field(message, 1), offset, size, parameter)
