"""Type of a rule, and common parts of all rules about the time of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ...records import Equation, EquationPath, Finding, Measure
from ..formatting import percent, seconds
from .evidence import Evidence

#: Minimum fraction of the kernels' time or of a call, and minimum seconds per call, of a finding.
MIN_FINDING_SHARE, MIN_FINDING_SECONDS = 0.2, 100e-6
#: Minimum seconds of a finding in all calls.
MIN_FINDING_TOTAL_SECONDS = 0.05

PROFILER, CLOCK, COUNT, ESTIMATE = "profiler", "host clock", "counted", "roofline estimate"


@dataclass(frozen=True)
class Rule:
    """Rule of the doctor: its ``name``, its ``threshold`` in words, and ``find``, which yields findings."""

    name: str
    threshold: str
    find: Callable[[Evidence], Iterator[Finding]]


def are_written_separately(first: Equation, second: Equation) -> bool:
    """Return whether the user wrote two equations separately: those of one library call cannot be changed.

    >>> sort, part = (Equation(EquationPath(path), "", "", (), ()) for path in "01")
    >>> are_written_separately(sort, part)
    False
    """
    return first.source is not None and first.source != second.source


def is_significant(evidence: Evidence, call_seconds: float) -> bool:
    """Return whether a cost is large enough for a finding: as a share, per call, and in all calls.

    ``call_seconds`` are the seconds of one call that a problem costs.
    """
    calls = evidence.executed.calls if evidence.executed is not None else 0
    return (
        evidence.share_of(call_seconds) >= MIN_FINDING_SHARE
        and call_seconds >= MIN_FINDING_SECONDS
        and call_seconds * max(calls, 1) >= MIN_FINDING_TOTAL_SECONDS
    )


@dataclass(frozen=True)
class CallCost:
    """Measured cost of equations in a call: seconds, their share of the kernels' time, and the main kernel."""

    seconds: float
    share: float
    kernel: str

    @classmethod
    def of(cls, evidence: Evidence, paths: Iterable[EquationPath]) -> CallCost | None:
        """Return the cost of the equations at these paths with their bodies; None if unknown or insignificant."""
        chosen = tuple(paths)
        call_seconds = evidence.seconds_of(chosen)
        share = evidence.share_of(call_seconds)
        return cls(call_seconds, share, evidence.kernel_of(chosen)) if is_significant(evidence, call_seconds) else None

    @property
    def words(self) -> str:
        """Return the cost as text, such as ``84 % of the kernels' time (1.2 ms a call)``."""
        return f"{percent(self.share)} of the kernels' time ({seconds(self.seconds)} a call)"

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Return the cost as measures."""
        return Measure("time per call", self.seconds, "s", PROFILER), Measure(
            "part of the kernels' time", self.share, "", PROFILER
        )

    def make_finding(
        self,
        rule: str,
        equation: Equation,
        sentence: str,
        action: str,
        *more: Measure,
        what_if: tuple[str, ...] = (),
    ) -> Finding:
        """Return a finding about these equations, located at ``equation``.

        ``rule`` is the rule's name, ``sentence`` says what is wrong, and ``action`` what to do. ``more`` are further
        measures; ``what_if`` is a change that :func:`~xlascope.inspect.what_if` can try.
        """
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
