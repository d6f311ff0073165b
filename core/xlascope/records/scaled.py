"""Records of one program for growing numbers of devices: its compiled forms and lower bounds of its time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exchanged:
    """Collectives of one kind in one run of a program.

    ``runs`` is their number; each device puts in ``operand_bytes`` and gets ``result_bytes``. ``sent_bytes``
    is the minimum that each device has to send, whatever the algorithm.
    """

    kind: str
    runs: int
    operand_bytes: int
    result_bytes: int
    sent_bytes: int


@dataclass(frozen=True, slots=True)
class ScaledTo:
    """Program compiled for one target, with estimates of its time.

    ``mesh`` describes the mesh (``data=16, model=4``). ``computing`` is the minimum time of its kernels in
    seconds, ``communicating`` that of its collectives; ``computing_by`` and ``communicating_by`` are the
    sources of these estimates, or the reasons why the time is None. ``flops`` and ``memory`` are those of one
    device, ``seconds`` is the compile time. ``error`` is the reason why all of this is missing, ``""``
    otherwise. Nothing is measured.
    """

    target: str
    devices: int
    mesh: str
    computing: float | None = None
    computing_by: str = ""
    communicating: float | None = None
    communicating_by: str = ""
    exchanged: tuple[Exchanged, ...] = ()
    flops: float | None = None
    memory: int | None = None
    seconds: float = 0.0
    error: str = ""

    @property
    def step(self) -> float | None:
        """Return the sum of computing and communicating time; None unless both are known."""
        if self.computing is None or self.communicating is None:
            return None
        return self.computing + self.communicating


@dataclass(frozen=True, slots=True)
class Scaled:
    """Program compiled for several targets, with the same arguments or with arguments that grow with the devices.

    ``growing`` are the axes of the mesh along which the size per device is constant.
    """

    program: int
    function: str
    time: float
    points: tuple[ScaledTo, ...]
    growing: tuple[str, ...] = ()
