"""What HLO types say of memory: which layouts are out of the ordinary, and what lies in a TPU's memory on the chip.

A back end may do its copies and collectives beside other work: ``copy-start`` begins one, ``copy-done`` waits for it.
The kernel is the one that begins; its result is that of the one that waits.
"""

from __future__ import annotations

import re

from .text import Computation, Instruction, type_bytes

_ARRAY = re.compile(r"\b[a-z]\w*\[([^\[\]]*)\](\{[^{}]*\})?")
#: A tiled layout (a TPU's) in a memory space of its own: VMEM, SMEM, or the registers of synchronization.
_ON_CHIP = re.compile(r"\b[a-z]\w*\[[^\[\]]*\]\{[^{}]*:(?:T\([^{}]*)?S\([1-9]\d*\)\}")

#: cuBLAS and cuDNN return the memory that they worked in as the last part of their result.
_LIBRARY = re.compile(r'custom_call_target="__cu(?:blas|dnn|solver)')
_WORKSPACE = re.compile(r",\s*(?:/\*[^*]*\*/)?s8\[\d+\]\{0\}\)$")


def is_wait(instruction: Instruction) -> bool:
    """Whether an instruction only waits for what another one began."""
    return instruction.opcode.endswith(("-done", "-update"))


def result_type(computation: Computation, instruction: Instruction) -> str:
    """The type of what an instruction computes: for one that only begins something, that of the end; without what a
    library is lent to work in.
    """
    if instruction.opcode == "custom-call" and _LIBRARY.search(instruction.attributes):
        return _WORKSPACE.sub(")", instruction.type_text)
    names = {instruction.name}
    if instruction.opcode.endswith("-start"):
        for each in computation.instructions.values():
            if is_wait(each) and names.intersection(each.operands):
                if each.opcode.endswith("-done"):
                    return each.type_text
                names.add(each.name)
    return instruction.type_text


def memory_bytes(type_text: str) -> int:
    """The bytes of a value that lie in a device's main memory: those that a TPU keeps on the chip are left out.

    >>> memory_bytes("(f32[8,128]{1,0:T(8,128)S(1)}, f32[8,128]{1,0:T(8,128)})")
    4096
    """
    if ":T(" in type_text or ":S(" in type_text:
        type_text = _ON_CHIP.sub("", type_text)
    return type_bytes(type_text)


def special_layout(type_text: str) -> str:
    """A type as it is written, with its layout, when that is not plain row-major order; ``""`` when it is.

    >>> special_layout("f32[256,64]{0,1:T(8,128)}"), special_layout("(f32[8,4]{1,0}, f32[])")
    ('f32[256,64]{0,1:T(8,128)}', '')
    """
    return "" if all(_is_plain(*match.groups()) for match in _ARRAY.finditer(type_text)) else type_text


def _is_plain(sizes: str, layout: str | None) -> bool:
    rank = sizes.count(",") + 1 if sizes else 0
    return layout is None or layout[1:-1] == ",".join(map(str, reversed(range(rank))))
