"""Everything that is read of one compiled module: its kernels, and its plan of memory."""

from __future__ import annotations

from ..records.compiled import Buffer, Kernel
from .hlo.kernels import kernels_of
from .hlo.provenance import provenance
from .hlo.text import read_module
from .memory.buffer_assignment import read_buffers


def read_optimized(text: str, module_proto: bytes, assignment: bytes) -> tuple[tuple[Kernel, ...], tuple[Buffer, ...]]:
    """The kernels of a module's text, and the buffers of its plan of memory (:func:`.read_buffers`).

    Without ``assignment`` there are no buffers, and neither are there of one that cannot be read: XLA promises nothing
    of its form. Raises ValueError for text that is not HLO.
    """
    module = read_module(text)
    known = provenance(module)
    kernels = kernels_of(module, known)
    if not assignment:
        return kernels, ()
    try:
        return kernels, read_buffers(assignment, module_proto, module, known)
    except ValueError:
        return kernels, ()
