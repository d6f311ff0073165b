"""Records of the parts of a compiled program: kernels, the arrays they exchange, and the memory plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .paths import EquationPath


@dataclass(frozen=True, slots=True)
class Read:
    """Array that a kernel reads: result number ``result`` of the kernel named ``kernel``.

    ``type_text`` and ``bytes`` are type and size of the array as it was written; the reader may use only a
    part of it. An array that a TPU keeps on the chip has 0 bytes.
    """

    kernel: str
    result: int
    type_text: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Collective:
    """Collective operation of a kernel: XLA's ``kind`` (``all-reduce``), among groups of ``devices`` devices.

    In one run each device puts in ``operand_bytes`` and gets ``result_bytes``, the sizes of whole shapes
    without layout. ``devices`` is 0 where that could not be read. ``groups`` are the devices that communicate
    with each other, as indices into ``Compiled.devices``; empty for a program for more than 64 devices.
    """

    kind: str
    devices: int
    operand_bytes: int
    result_bytes: int
    groups: tuple[tuple[int, ...], ...] = ()

    @property
    def bytes(self) -> int:
        """Return the larger of the two sizes, the amount of data on each device."""
        return max(self.operand_bytes, self.result_bytes)


@dataclass(frozen=True, slots=True)
class Kernel:
    """Kernel of a compiled program: a top-level instruction of the optimized HLO, which runs as a unit.

    ``kind`` is XLA's (``loop``, ``input``, ``output``, ``custom``) for a fusion, ``library call`` for a dot
    or convolution that XLA hands to a library, ``call`` for a called computation, ``single`` for an operation
    alone. ``equations`` are the paths of the equations that it is proved to compute; ``moves``, for a kernel
    that only copies, those of the equations whose results it copies. ``instructions`` counts its HLO
    instructions (parameters and constants excluded) and ``unknown`` those of them that no equation is known
    for. ``bytes_saved`` is the estimated size of the intermediate results that are neither written to memory
    nor read back. ``reads`` are the results of other kernels that it reads. ``layout`` is the result's type
    with XLA's layout where that is not plain row-major, ``launch`` how a GPU starts the kernel (grid, block,
    shared memory), and ``estimated_seconds`` the estimated time of a run, by ``Compiled.estimated_by``;
    ``estimated_cycles`` are the TPU compiler's own estimate. ``collective`` describes its communication
    across devices, None for one without any. ``repeats`` is the number of repeats that were compiled once, as
    a loop: a run computes the equations of one of them. ``copies`` is what a kernel copies that is no equation's
    result: "an argument", as where a donated one is read after a result was written over it, or "a constant".
    """

    name: str
    opcode: str
    kind: str
    type_text: str
    equations: tuple[EquationPath, ...]
    instructions: int
    unknown: int
    bytes_read: int
    bytes_written: int
    bytes_saved: int
    reads: tuple[Read, ...] = ()
    layout: str = ""
    launch: str = ""
    estimated_seconds: float | None = None
    estimated_cycles: int | None = None
    moves: tuple[EquationPath, ...] = ()
    collective: Collective | None = None
    repeats: int = 1
    copies: str = ""


@dataclass(frozen=True, slots=True)
class Buffer:
    """Array in the compiler's memory plan: its address, and its live range in kernels.

    ``maker`` names the HLO instruction that defines it, ``equations`` are those whose result it holds;
    ``argument`` is the index of the program's constant or input (``jaxpr.constants``, then ``jaxpr.inputs``),
    -1 for other arrays. It is at ``offset`` in the allocation number ``allocation``. It is live from kernel
    ``first`` to kernel ``last`` (included), both indices into ``Compiled.kernels``. Buffers that share an
    address and a time are one array under several names (a loop's carry).
    """

    maker: str
    kind: Literal["argument", "result", "constant", "temporary"]
    equations: tuple[EquationPath, ...]
    allocation: int
    offset: int
    bytes: int
    first: int
    last: int
    argument: int = -1


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Compiler's memory statistics in bytes.

    ``peak`` is XLA's own number (on a CPU it omits temporaries). ``buffers`` is the memory plan, empty where
    the compiler does not report it.
    """

    arguments: int
    outputs: int
    temporaries: int
    peak: int
    buffers: tuple[Buffer, ...] = ()
