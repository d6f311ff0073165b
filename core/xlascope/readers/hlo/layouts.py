"""Memory layouts in HLO types: layouts other than row-major, and values in a TPU's on-chip memory.

A back end may run copies and collectives asynchronously: ``copy-start`` begins one, ``copy-done`` waits for
it. The kernel is the ``-start`` instruction; its result is that of the ``-done`` instruction.
"""

from __future__ import annotations

import re

from .text import Computation, Instruction, type_bytes

_ARRAY = re.compile(r"\b[a-z]\w*\[([^\[\]]*)\](\{[^{}]*\})?")
#: A tiled layout (a TPU's) in a memory space of its own: VMEM, SMEM, or the registers of synchronization.
_ON_CHIP = re.compile(r"\b[a-z]\w*\[[^\[\]]*\]\{[^{}]*:(?:T\([^{}]*)?S\([1-9]\d*\)\}")

#: cuBLAS and cuDNN return the memory that they worked in as the last part of their result.
_WORKSPACE_LIBRARY = re.compile(r'custom_call_target="__cu(?:blas|dnn|solver)')
_WORKSPACE = re.compile(r",\s*(?:/\*[^*]*\*/)?s8\[\d+\]\{0\}\)$")


def is_wait(instruction: Instruction) -> bool:
    """Return whether an instruction only waits for an asynchronous one."""
    return instruction.opcode.endswith(("-done", "-update"))


def result_type(computation: Computation, instruction: Instruction) -> str:
    """Return the type that an instruction computes.

    For the start of an asynchronous operation this is the type of its end. The workspace of a library call is
    left out.
    """
    if instruction.opcode == "custom-call" and _WORKSPACE_LIBRARY.search(instruction.attributes):
        return _WORKSPACE.sub(")", instruction.type_text)
    names = {instruction.name}
    if instruction.opcode.endswith("-start"):
        for user in computation.instructions.values():
            if is_wait(user) and names.intersection(user.operands):
                if user.opcode.endswith("-done"):
                    return user.type_text
                names.add(user.name)
    return instruction.type_text


def memory_bytes(type_text: str) -> int:
    """Return the bytes of a value in a device's main memory; parts in a TPU's on-chip memory are left out.

    >>> memory_bytes("(f32[8,128]{1,0:T(8,128)S(1)}, f32[8,128]{1,0:T(8,128)})")
    4096
    """
    if ":T(" in type_text or ":S(" in type_text:
        type_text = _ON_CHIP.sub("", type_text)
    return type_bytes(type_text)


def special_layout(type_text: str) -> str:
    """Return a type with its layout, if that is not row-major order, otherwise ``""``.

    >>> special_layout("f32[256,64]{0,1:T(8,128)}"), special_layout("(f32[8,4]{1,0}, f32[])")
    ('f32[256,64]{0,1:T(8,128)}', '')
    """
    return "" if all(_is_row_major(*match.groups()) for match in _ARRAY.finditer(type_text)) else type_text


def _is_row_major(sizes: str, layout: str | None) -> bool:
    rank = sizes.count(",") + 1 if sizes else 0
    return layout is None or layout[1:-1] == ",".join(map(str, reversed(range(rank))))
