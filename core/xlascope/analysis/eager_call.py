"""Measurement of a call as its user wrote it: a function that is not jitted, operation by operation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from ..records.programs import SourceRange
from ..records.store import to_json_value
from .diff.timing import quartiles
from .formatting import plural, seconds


@dataclass(frozen=True, slots=True)
class EagerCall:
    """Calls of a function that is not jitted, as written.

    ``seconds`` are those of warm calls by the host's clock, from call to results, a mean for each round of short
    calls; ``calls`` is the number of all calls, the first included. In one call, ``operations`` operations of the
    library and ``programs`` calls of jitted functions are dispatched one by one; ``line`` starts most of the
    operations, ``line_operations``. ``fetches`` times a value is converted to Python or NumPy, during
    ``fetch_seconds`` in a call, at ``fetch_line`` most often; that includes waiting until it is computed.

    ``jitted_seconds`` are those of a call of the same function jitted, None without one: ``cannot_jit`` says why it
    cannot be jitted (``""`` if it can). ``notes`` say what went wrong.
    """

    function: str
    calls: int
    seconds: tuple[float, ...]
    operations: int
    programs: int
    line: SourceRange | None = None
    line_operations: int = 0
    fetches: int = 0
    fetch_seconds: float = 0.0
    fetch_line: SourceRange | None = None
    jitted_seconds: float | None = None
    cannot_jit: str = ""
    notes: tuple[str, ...] = ()

    @property
    def median_seconds(self) -> float:
        """Return the median seconds of a warm call."""
        return median(self.seconds)

    @property
    def speedup(self) -> float:
        """Return how many times faster the jitted function is; 0.0 if that is unknown."""
        return self.median_seconds / self.jitted_seconds if self.jitted_seconds else 0.0

    @property
    def dispatch_text(self) -> str:
        """Return the number of operations and of programs of a call as text.

        >>> EagerCall("f", 5, (1.0,), 1500, 2).dispatch_text, EagerCall("f", 5, (1.0,), 0, 0).dispatch_text
        ('1,500 eager operations and 2 calls of jitted functions', 'no operation')
        """
        parts = (
            plural(self.operations, "eager operation") if self.operations else "",
            f"{self.programs:,} call{'s' * (self.programs != 1)} of jitted functions" if self.programs else "",
        )
        return " and ".join(filter(None, parts)) or "no operation"

    @property
    def summary(self) -> str:
        """Return a sentence with both times and the number of dispatches.

        >>> EagerCall("f", 5, (0.052,), 1500, 0, jitted_seconds=0.0048).summary
        'f is not jitted: 52 ms per call as written (1,500 eager operations), 4.8 ms jitted'
        >>> EagerCall("f", 5, (0.052,), 3, 0, cannot_jit="it returns text").summary
        'f is not jitted: 52 ms per call as written (3 eager operations); it cannot be jitted: it returns text'
        """
        written = f"{seconds(self.median_seconds)} per call as written ({self.dispatch_text})"
        if self.cannot_jit:
            return f"{self.function} is not jitted: {written}; it cannot be jitted: {self.cannot_jit}"
        jitted = f", {seconds(self.jitted_seconds)} jitted" if self.jitted_seconds else ""
        return f"{self.function} is not jitted: {written}{jitted}"

    @property
    def spread_text(self) -> str:
        """Return the number of calls and the spread of their times as text."""
        low, _, high = quartiles(self.seconds)
        return (
            f"as written: {plural(self.calls, 'call')}, half of the rounds between {seconds(low)} and {seconds(high)} "
            "(host clock, until the results are there)"
        )

    def with_jitted(self, jitted_seconds: float) -> EagerCall:
        """Return the measurement beside the time of a call of the jitted function; None is kept for 0.0."""
        return replace(self, jitted_seconds=jitted_seconds or None)

    def to_json(self) -> dict[str, Any]:
        """Return the measurement as a JSON-compatible dict, with its median and summary."""
        fields: dict[str, Any] = to_json_value(self)
        return {**fields, "median_seconds": self.median_seconds, "speedup": self.speedup, "summary": self.summary}
