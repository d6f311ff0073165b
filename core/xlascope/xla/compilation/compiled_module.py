"""Kernels and buffers of a compiled module; a format that a reader does not know costs a view, not the program."""

from __future__ import annotations

import logging
from typing import NamedTuple

from ... import readers, records

_log = logging.getLogger(__name__)

#: Opcodes that hold, name or move values: XLA adds these without metadata.
_HOLD = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "fusion", "call", "bitcast", "after-all"})
_MOVE = frozenset({"copy", "copy-start", "copy-done", "broadcast", "iota", "convert", "reshape", "transpose"})
_NAMELESS = _HOLD | _MOVE


class CompiledModule(NamedTuple):
    """Kernels and buffers of a module; ``notes`` say what could not be read, and why."""

    kernels: tuple[records.Kernel, ...] = ()
    buffers: tuple[records.Buffer, ...] = ()
    notes: tuple[str, ...] = ()


def read_compiled(text: str, module_proto: bytes, assignment: bytes) -> CompiledModule:
    """Read a module's text and its plan of memory (:func:`.read_buffers`); without ``assignment`` there is no plan.

    >>> read_compiled("HloModule f", b"", b"").notes
    ('no kernels can be shown: the HLO text: expected an ENTRY computation, found none: ...',)
    """
    try:
        module = readers.hlo.read_module(text)
        provenance = readers.hlo.provenance_of(module)
        data = readers.hlo.data_of(module, provenance)
        kernels = readers.hlo.kernels_of(module, provenance, data)
    except Exception as error:
        return CompiledModule(notes=(f"no kernels can be shown: {_why(error)}",))
    notes = unnamed(module)
    if not assignment:
        return CompiledModule(kernels, (), notes)
    try:
        return CompiledModule(kernels, readers.memory.read_buffers(assignment, module_proto, module, data), notes)
    except Exception as error:
        return CompiledModule(kernels, (), (*notes, f"the plan of memory cannot be shown: {_why(error)}"))


def _why(error: Exception) -> str:
    """Return a reader's error as text.

    A reader that fails in another way has a bug, which must not affect the program that is watched.
    """
    if isinstance(error, readers.FormatError):
        return str(error)
    _log.warning("a reader of compiled programs failed", exc_info=error)
    return f"a reader of xlascope failed ({type(error).__name__}: {error}); please report it"


def unnamed(module: readers.hlo.Module) -> tuple[str, ...]:
    """Return a note if a module computes something and none of its instructions is attributed to an equation."""
    every = [x for computation in module.computations.values() for x in computation.instructions.values()]
    if any(x.op_name for x in every) or all(x.opcode in _NAMELESS for x in every):
        return ()
    return (
        'no kernel can be traced to equations: expected op_name="…" in the HLO text\'s metadata, found none '
        f"(this reader knows the form of {readers.KNOWN})",
    )
