"""Result of a comparison as plain data: changes of equations and kernels, numbers side by side, timing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...records.paths import EquationPath

Sign = Literal["=", "~", "+", "-"]
Regrouping = Literal["same", "changed", "merged", "split", "regrouped", "appeared", "vanished"]


@dataclass(frozen=True, slots=True)
class EquationChange:
    """Equation of either program or both: ``=`` alike, ``~`` changed, ``+`` added, ``-`` removed.

    ``before`` and ``after`` are its paths. ``changed`` names what differs (``dtype``, ``shape``, ``parameters``,
    ``operands``), and ``detail`` describes it (``f32[8] → bf16[8]``).
    """

    sign: Sign
    before: EquationPath | None
    after: EquationPath | None
    changed: tuple[str, ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class KernelChange:
    """Change of kernels: ``before`` and ``after`` are the names of those that hold the same equations."""

    kind: Regrouping
    before: tuple[str, ...]
    after: tuple[str, ...]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Number:
    """Number of both programs, with its unit and source; None where it is unknown."""

    name: str
    before: float | None
    after: float | None
    unit: Literal["", "B", "FLOP", "s"]
    source: str


@dataclass(frozen=True, slots=True)
class Timing:
    """Interleaved measurements of both programs: seconds per call, and the ratio of the second to the first.

    ``ratio`` is the median over rounds of after ÷ before; it lies between ``low`` and ``high`` with a confidence of at
    least 99 %. With fewer than eight rounds no such bounds exist, and they are 0 and infinity. ``calls`` is the number
    of calls of each in all rounds together, (0, 0) where it is unknown.
    """

    before: tuple[float, ...]
    after: tuple[float, ...]
    ratio: float
    low: float
    high: float
    source: str
    calls: tuple[int, int] = (0, 0)

    @property
    def rounds_text(self) -> str:
        """Return the number of rounds and of calls as text."""
        rounds = len(self.before)
        text = f"{rounds} round{'s' * (rounds != 1)} of both in turn"
        return f"{text}, {self.calls[0]:,} and {self.calls[1]:,} calls" if any(self.calls) else text

    @property
    def within_noise(self) -> bool:
        """Return whether the measurements leave open which program is faster."""
        return self.low <= 1.0 <= self.high
