"""What a rule is, and what all rules about the time of a call have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ...records import Equation, EquationPath, Finding, Measure
from ..figures import percent, seconds
from .evidence import Evidence

#: Less than this part of the kernels' time, or of a call, is no finding, nor are fewer seconds per call.
WORTH_SHARE, WORTH_SECONDS = 0.2, 100e-6
#: Nor are fewer seconds in all calls that were made.
WORTH_IN_ALL = 0.05

PROFILER, CLOCK, COUNT = "profiler", "host clock", "our count"


@dataclass(frozen=True)
class Rule:
    """One disease: its ``name``, from where on it counts (``threshold``, in words), and what looks for it."""

    name: str
    threshold: str
    find: Callable[[Evidence], Iterator[Finding]]


def written_apart(one: Equation, other: Equation) -> bool:
    """Whether the user wrote two equations one by one: those of one call of a library's function are not his to change.

    >>> sort, part = (Equation(EquationPath(path), "", "", (), ()) for path in "01")
    >>> written_apart(sort, part)
    False
    """
    return one.source is not None and one.source != other.source


def is_worth(evidence: Evidence, taken: float) -> bool:
    """Whether so many seconds of a call are worth a finding: of the call, by themselves, and in all calls made."""
    calls = evidence.executed.calls if evidence.executed is not None else 0
    return evidence.share_of(taken) >= WORTH_SHARE and taken >= WORTH_SECONDS and taken * max(calls, 1) >= WORTH_IN_ALL


@dataclass(frozen=True)
class Stake:
    """What equations take of a call, measured: seconds, their part of the kernels' time, and the kernel to look at."""

    seconds: float
    share: float
    kernel: str

    @classmethod
    def of(cls, evidence: Evidence, paths: Iterable[EquationPath]) -> Stake | None:
        """What these equations take; None where it is not known, or not worth a finding."""
        chosen = tuple(paths)
        taken = evidence.seconds_of(chosen)
        share = evidence.share_of(taken)
        return cls(taken, share, evidence.kernel_of(chosen)) if is_worth(evidence, taken) else None

    @property
    def words(self) -> str:
        """``84 % of the kernels' time (1.2 ms a call)``."""
        return f"{percent(self.share)} of the kernels' time ({seconds(self.seconds)} a call)"

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The numbers."""
        return Measure("time per call", self.seconds, "s", PROFILER), Measure(
            "part of the kernels' time", self.share, "", PROFILER
        )

    def finding(
        self,
        rule: str,
        equation: Equation,
        sentence: str,
        action: str,
        *more: Measure,
        what_if: tuple[str, ...] = (),
    ) -> Finding:
        """A finding about these equations, of which ``equation`` stands for the rest."""
        return Finding(
            rule,
            sentence,
            action,
            self.share,
            self.seconds,
            equation.source,
            self.kernel,
            equation.path,
            (*self.measures, *more),
            what_if,
        )
