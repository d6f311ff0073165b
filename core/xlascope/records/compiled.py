"""The parts of a compiled program, as records: kernels, what they read of each other, and the plan of memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .paths import EquationPath


@dataclass(frozen=True, slots=True)
class Read:
    """An array that crosses memory: a kernel reads what another, ``kernel``, wrote as its result number ``result``.

    ``type_text`` and ``bytes`` are those of the array as it was written; its reader may look at a part of it. An array
    that a TPU keeps on the chip has no bytes.
    """

    kernel: str
    result: int
    type_text: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Collective:
    """What a kernel does across devices: XLA's ``kind`` (``all-reduce``), between how many ``devices`` at a time.

    ``operand_bytes`` is what each device puts in, ``result_bytes`` what each of them gets, whole shapes without layout,
    in one run. ``devices`` is 0 where that could not be read. ``groups`` are the devices that talk to each other, by
    XLA's numbers: their places in ``Compiled.devices``; they are left out where the program is for more than 64.
    """

    kind: str
    devices: int
    operand_bytes: int
    result_bytes: int
    groups: tuple[tuple[int, ...], ...] = ()

    @property
    def bytes(self) -> int:
        """The larger of the two: how much data it is about on each device."""
        return max(self.operand_bytes, self.result_bytes)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One top-level instruction of the optimized HLO: what runs as a unit.

    ``kind`` is XLA's (``loop``, ``input``, ``output``, ``custom``) for a fusion, ``library call`` for a dot or
    convolution that XLA hands to a library, ``call`` for a called computation, ``single`` for an operation alone.
    ``equations`` are the paths of the equations whose HLO ended up inside, as far as that is proved; ``moves`` those of
    the equations whose results it copies, for one that only copies. ``instructions`` counts the HLO instructions inside
    (parameters and constants excluded) and ``unknown`` those of them that no equation is known for. ``bytes_saved``
    counts the intermediate results inside it that were neither written nor read back (our count). ``reads`` are the
    results of other kernels that it reads. ``layout`` is the result's type with XLA's layout where that is not plain
    row-major, ``launch`` how a GPU starts the kernel (grid, block, shared memory), and ``estimated_seconds`` how long a
    run of it is estimated to take, by whom ``Compiled.estimated_by`` says; ``estimated_cycles`` are the TPU compiler's
    own estimate. ``collective`` says what it does across devices, None for one that works on its own. ``repeats`` is of
    how many repeats, compiled once as a loop, its equations are: a run computes those of one.
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


@dataclass(frozen=True, slots=True)
class Buffer:
    """One array in the compiler's plan of memory: where it lies, and while which kernels it is needed.

    ``maker`` names the HLO instruction that makes it, ``equations`` are those whose result it holds; ``argument`` says
    which of the program's constants and inputs (``jaxpr.constants``, then ``jaxpr.inputs``) it is, -1 for others. It
    lies at ``offset`` in the allocation number ``allocation``. ``first`` and ``last`` are positions in
    ``Compiled.kernels``: it is needed from the one up to and including the other. Buffers that share a place and a time
    are one array under several names (a loop's carry).
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
    """The compiler's memory statistics, in bytes; ``peak`` is XLA's own number (on a CPU it leaves temporaries out).

    ``buffers`` is its plan of memory, empty where the back end does not tell it.
    """

    arguments: int
    outputs: int
    temporaries: int
    peak: int
    buffers: tuple[Buffer, ...] = ()
