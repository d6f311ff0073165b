"""Kernels and buffers of a compiled module; a format that a reader does not know costs a view, not the program."""

from __future__ import annotations

import logging
from typing import NamedTuple

from ... import readers, records

_log = logging.getLogger(__name__)

#: Opcodes that hold, name or move values: XLA adds these without metadata.
_STRUCTURAL_OPCODES = frozenset(
    {"parameter", "constant", "tuple", "get-tuple-element", "fusion", "call", "bitcast", "after-all"}
)
_DATA_MOVEMENT_OPCODES = frozenset(
    {"copy", "copy-start", "copy-done", "broadcast", "iota", "convert", "reshape", "transpose"}
)
_UNATTRIBUTED_OPCODES = _STRUCTURAL_OPCODES | _DATA_MOVEMENT_OPCODES


class CompiledModule(NamedTuple):
    """Kernels and buffers of a module; ``notes`` say what could not be read, and why."""

    kernels: tuple[records.Kernel, ...] = ()
    buffers: tuple[records.Buffer, ...] = ()
    notes: tuple[str, ...] = ()


def read_compiled(text: str, module_proto: bytes, assignment: bytes) -> CompiledModule:
    """Read the kernels and buffers of a compiled module.

    ``text`` is its optimized HLO, ``module_proto`` the same as a serialized ``HloModuleProto``, and ``assignment``
    XLA's serialized buffer assignment; if that is empty, no buffers are read. What cannot be read is missing, and a
    note says why.

    >>> read_compiled("HloModule f", b"", b"").notes
    ('no kernels can be shown: the HLO text: expected an ENTRY computation, found none: ...',)
    """
    try:
        module = readers.hlo.read_module(text)
        provenance = readers.hlo.provenance_of(module)
        data = readers.hlo.data_of(module, provenance)
        kernels = readers.hlo.kernels_of(module, provenance, data)
    except Exception as error:
        return CompiledModule(notes=(f"no kernels can be shown: {_error_text(error)}",))
    notes = attribution_note(module)
    if not assignment:
        return CompiledModule(kernels, (), notes)
    try:
        return CompiledModule(kernels, readers.memory.read_buffers(assignment, module_proto, module, data), notes)
    except Exception as error:
        return CompiledModule(kernels, (), (*notes, f"the plan of memory cannot be shown: {_error_text(error)}"))


def _error_text(error: Exception) -> str:
    """Return a reader's error as text.

    A reader that fails in another way has a bug, which must not affect the program that is watched.
    """
    if isinstance(error, readers.FormatError):
        return str(error)
    _log.warning("a reader of compiled programs failed", exc_info=error)
    return f"a reader of xlascope failed ({type(error).__name__}: {error}); please report it"


def attribution_note(module: readers.hlo.Module) -> tuple[str, ...]:
    """Return a note if a module computes something and none of its instructions is attributed to an equation.

    The note is the only element of the tuple, which is empty otherwise.
    """
    instructions = [x for computation in module.computations.values() for x in computation.instructions.values()]
    if any(x.op_name for x in instructions) or all(x.opcode in _UNATTRIBUTED_OPCODES for x in instructions):
        return ()
    return (
        'no kernel can be traced to equations: expected op_name="…" in the HLO text\'s metadata, found none '
        f"(this reader knows the form of {readers.KNOWN})",
    )
