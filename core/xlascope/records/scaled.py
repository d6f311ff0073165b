"""One program for more and more devices, as records: what its compilers make of it, and at least how long it takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exchanged:
    """All collectives of one kind in one run of a program: how often they run, and what each device puts in and gets.

    ``sent_bytes`` is what each device has to send at the least, whatever way they go.
    """

    kind: str
    runs: int
    operand_bytes: int
    result_bytes: int
    sent_bytes: int


@dataclass(frozen=True, slots=True)
class ScaledTo:
    """A program for one target. Nothing of it is measured.

    ``mesh`` says how its devices stand (``data=16, model=4``), ``computing`` the seconds that its kernels take at the
    least, ``communicating`` those that its collectives do; each comes with whose estimate it is. None, with the reason
    in place of the source, where nobody estimates it. ``flops`` and ``memory`` are those of one device, ``seconds`` is
    what compiling took. ``error`` says why there is nothing of all this.
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
        """Computing and communicating one after the other; None unless both are known."""
        if self.computing is None or self.communicating is None:
            return None
        return self.computing + self.communicating


@dataclass(frozen=True, slots=True)
class Scaled:
    """A program compiled for several targets, the same otherwise, or with arguments that grow with the devices.

    ``growing`` are the axes of the mesh along which each device has as much whatever their number.
    """

    program: int
    function: str
    time: float
    points: tuple[ScaledTo, ...]
    growing: tuple[str, ...] = ()
