"""Parser of optimized HLO text into computations and instructions, in one pass without backtracking."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field

from ..format_error import FormatError


@dataclass(frozen=True, slots=True)
class Instruction:
    """HLO instruction: ``%name = type opcode(operands), attributes``.

    ``called`` are the computations it runs or looks into (a fusion's, a while's condition and body), without
    those applied element by element (``to_apply`` of a reduction, a sort's comparator).
    """

    name: str
    type_text: str
    opcode: str
    operands: tuple[str, ...]
    called: tuple[str, ...]
    op_name: str
    attributes: str
    root: bool

    @property
    def bytes(self) -> int:
        """Return the size of the result."""
        return type_bytes(self.type_text)

    def attribute(self, name: str) -> str:
        """Return an attribute's value as it is written, without quotes, or ``""``."""
        match = re.search(rf'\b{name}=(?:"([^"]*)"|([^,\s}}]*))', self.attributes)
        return (match[1] or match[2] or "") if match else ""


@dataclass(slots=True)
class Computation:
    """Named list of instructions, in order of execution where the module is scheduled."""

    name: str
    instructions: dict[str, Instruction] = field(default_factory=dict)

    @property
    def root(self) -> Instruction | None:
        """Return the root instruction, whose result is the computation's result."""
        return next((instruction for instruction in self.instructions.values() if instruction.root), None)


@dataclass(slots=True)
class Module:
    """HLO module with its computations."""

    name: str
    entry: Computation
    computations: dict[str, Computation]


def read_module(text: str) -> Module:
    """Parse HLO text, ``executable.hlo_modules()[0].to_string()``, into its computations.

    Raises FormatError, with the line, for text that is not HLO or that stops in the middle.

    >>> module = read_module('''HloModule jit_f
    ... ENTRY %main (x: f32[4]) -> f32[4] {
    ...   %x = f32[4]{0} parameter(0)
    ...   ROOT %sin.1 = f32[4]{0} sine(%x), metadata={op_name="jit(f)/e0/sin"}
    ... }''')
    >>> module.name, module.entry.root.opcode, module.entry.root.operands
    ('jit_f', 'sine', ('x',))
    """
    name, entry, current = "", None, None
    computations: dict[str, Computation] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if current is None:
            if line.startswith("HloModule "):
                name = line.removeprefix("HloModule ").split(",", 1)[0].strip()
            elif opened := _HEADER.match(line):
                current = computations[opened[2]] = Computation(opened[2])
                entry = current if opened[1] else entry
        elif line.startswith("}"):
            if not current.instructions:
                raise FormatError(
                    _SUBJECT, f"expected instructions (%name = type opcode(…)) in {current.name}, found none"
                )
            current = None
        elif started := _INSTRUCTION.match(line):
            current.instructions[started[2]] = _parse_instruction(started, line, number)
    if current is not None:
        raise FormatError(_SUBJECT, f"it stops inside computation %{current.name}: it is truncated")
    if entry is None:
        raise FormatError(_SUBJECT, "expected an ENTRY computation, found none: it is truncated, or not an HLO module")
    return Module(name, entry, computations)


@functools.lru_cache(maxsize=4096)
def type_bytes(type_text: str) -> int:
    """Return the bytes of a value of an HLO type, without padding; a tuple's are the sum of its elements'.

    >>> type_bytes("(f32[64,128]{1,0}, pred[3], token[])")
    32771
    """
    return sum(_array_bytes(kind, sizes) for kind, sizes in _ARRAY.findall(type_text))


def without_layout(type_text: str) -> str:
    """Return an HLO type without layouts and comments.

    >>> without_layout("(f32[8,128]{1,0:T(8,128)S(1)}, /*index=1*/s32[])")
    '(f32[8,128], s32[])'
    """
    return _LAYOUT_OR_COMMENT.sub("", type_text)


_SUBJECT = "the HLO text"
_HEADER = re.compile(r"(ENTRY )?%?([^\s(]+) .*\{\s*$")
_INSTRUCTION = re.compile(r"\s+(ROOT )?%?([^\s=]+) = ")
_OPCODE = re.compile(r" ?([a-zA-Z][\w\-]*)\(")
_PARENTHESIS = re.compile(r"[()]")
_NAME = re.compile(r"%([^\s,(){}]+)")
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_CALLED = re.compile(r"\b(?:calls|to_apply|condition|body|true_computation|false_computation)=%?([^\s,{}]+)")
_BRANCHES = re.compile(r"\b(?:branch_computations|called_computations|calls)=\{([^{}]*)\}")
_ARRAY = re.compile(r"\b([a-z]\w*)\[([^\[\]]*)\]")
_LAYOUT_OR_COMMENT = re.compile(r"\{[^{}]*\}|/\*[^*]*\*/")

#: Opcodes whose `to_apply` runs as a program of its own; a reduction's or a sort's is applied to each element.
_CALLING_OPCODES = frozenset({"fusion", "call", "while", "conditional", "async", "custom-call"})


def _parse_instruction(prefix: re.Match[str], line: str, number: int) -> Instruction:
    """Return the instruction in a line; raise FormatError, with the line's ``number``, if there is none.

    ``prefix`` is the match of the name and what precedes it.
    """
    type_end = _find_type_end(line, prefix.end())
    opcode = _OPCODE.match(line, type_end) if type_end else None
    end = _find_closing_parenthesis(line, opcode.end() - 1) if opcode else 0
    if opcode is None or not end:
        raise FormatError(_SUBJECT, f"expected an instruction in line {number}, found {line.strip()[:80]!r}")
    structure, _, tail = line[end:].partition(", metadata={")
    metadata = _OP_NAME.search(tail)
    return Instruction(
        name=prefix[2],
        type_text=line[prefix.end() : type_end],
        opcode=opcode[1],
        operands=() if opcode[1] == "constant" else tuple(_NAME.findall(line, opcode.end(), end)),
        called=_parse_called(structure) if opcode[1].removesuffix("-start") in _CALLING_OPCODES else (),
        op_name=unescape(metadata[1]) if metadata else "",
        attributes=_parameter_attribute(opcode[1], line[opcode.end() : end - 1])
        + f"{structure}, {tail[metadata.end() if metadata else 0 :]}",
        root=prefix[1] is not None,
    )


def _parameter_attribute(opcode: str, inside: str) -> str:
    """Return the text of an attribute ``parameter`` for a parameter, whose number HLO writes like an operand.

    ``inside`` is what stands in the parentheses. Other opcodes have no such attribute: ``""``.
    """
    return f", parameter={inside}" if opcode == "parameter" else ""


def _find_type_end(line: str, start: int) -> int:
    return _find_closing_parenthesis(line, start) if line.startswith("(", start) else max(line.find(" ", start), 0)


def _find_closing_parenthesis(line: str, start: int) -> int:
    """Return the position after the parenthesis that closes the one at ``start``; 0 when there is none."""
    depth = 0
    for match in _PARENTHESIS.finditer(line, start):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.end()
    return 0


def _parse_called(structure: str) -> tuple[str, ...]:
    if "=" not in structure:
        return ()
    in_lists = [name.strip().lstrip("%") for group in _BRANCHES.findall(structure) for name in group.split(",")]
    return tuple(dict.fromkeys([*_CALLED.findall(structure), *filter(None, in_lists)]))


def unescape(text: str) -> str:
    """Return the text of a C-escaped string, in which XLA writes UTF-8 in octal."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_decode_escape, text.encode()).decode(errors="replace")


def _decode_escape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if len(code) == 3:
        return bytes([int(code, 8) & 0xFF])
    return {b"n": b"\n", b"r": b"\r", b"t": b"\t"}.get(code, code)


def _array_bytes(kind: str, sizes: str) -> int:
    bits = _bit_width(kind)
    for size in re.findall(r"\d+", sizes):
        bits *= int(size)
    return -(-bits // 8)


def _bit_width(kind: str) -> int:
    if kind == "pred":
        return 8
    width = re.search(r"\d+", kind)
    return int(width[0]) if width else 0
