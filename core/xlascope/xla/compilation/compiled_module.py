"""What is read of one compiled module, as far as it can be read: a form that changed costs a view, not the program."""

from __future__ import annotations

import logging
from typing import NamedTuple

from ... import readers, records

_log = logging.getLogger(__name__)

#: Opcodes that hold, name or move values: XLA adds such without saying for what.
_HOLD = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "fusion", "call", "bitcast", "after-all"})
_MOVE = frozenset({"copy", "copy-start", "copy-done", "broadcast", "iota", "convert", "reshape", "transpose"})
_NAMELESS = _HOLD | _MOVE


class CompiledModule(NamedTuple):
    """The kernels and buffers of a module; ``notes`` say what could not be read, and why."""

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
        known = readers.hlo.provenance_of(module)
        data = readers.hlo.data_of(module, known)
        kernels = readers.hlo.kernels_of(module, known, data)
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
    """What a reader says.

    One that fails in another way has a fault, which must not reach the program that is watched.
    """
    if isinstance(error, readers.FormatError):
        return str(error)
    _log.warning("a reader of compiled programs failed", exc_info=error)
    return f"a reader of xlascope failed ({type(error).__name__}: {error}); please report it"


def unnamed(module: readers.hlo.Module) -> tuple[str, ...]:
    """A note where something is computed, and no instruction of the module says for which equation."""
    every = [each for inside in module.computations.values() for each in inside.instructions.values()]
    if any(each.op_name for each in every) or all(each.opcode in _NAMELESS for each in every):
        return ()
    return (
        'no kernel can be traced to equations: expected op_name="…" in the HLO text\'s metadata, found none '
        f"(this reader knows the form of {readers.KNOWN})",
    )
