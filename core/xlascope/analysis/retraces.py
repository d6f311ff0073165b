"""Functions that were traced more than once: where, why, at what cost, and how to avoid it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..records.events import Compiled, Lowered, Missed, Record, Traced
from ..records.programs import SourceRange

#: Retraces stored per function, the latest ones; counts and sums include all.
MAX_RETRACES = 100
#: Functions, and reasons of slow calls per function, that are stored; the first ones.
MAX_FUNCTIONS, MAX_MISS_REASONS = 200, 20


@dataclass
class Retrace:
    """Avoidable trace of a function, the ``number``-th of it.

    ``program`` is the number of the program. Times are measured and in seconds; ``where`` is the line of the call.
    ``inside`` is the function in whose trace it happened, ``""`` for one that a call caused; the time of a nested
    trace is part of the outer trace's time.
    """

    program: int
    number: int
    time: float
    reason: str
    fix: str
    where: str
    trace: float
    lower: float = 0.0
    compile: float = 0.0
    inside: str = ""

    @property
    def seconds(self) -> float:
        """Return the cost: tracing, lowering and compiling again."""
        return self.trace + self.lower + self.compile


@dataclass
class Miss:
    """Calls that missed jaxlib's call cache for one reason, so that they ran through Python without being traced.

    ``count`` is their number, ``where`` the line of the first of them.
    """

    reason: str
    fix: str
    where: str
    count: int = 1


@dataclass
class RetracedFunction:
    """Function that was traced again: how often (without the first trace), the seconds lost, and the latest retraces.

    ``misses`` are the calls that missed the call cache, by reason. ``seconds`` leaves out retraces within the traces
    of others.
    """

    function: str
    count: int = 0
    seconds: float = 0.0
    retraces: deque[Retrace] = field(default_factory=lambda: deque(maxlen=MAX_RETRACES))
    misses: dict[str, Miss] = field(default_factory=dict)

    @property
    def newest_first(self) -> list[Retrace]:
        """Return the stored retraces, newest first."""
        return list(reversed(self.retraces))


class Retraces:
    """Collection of retraces from records; ``functions`` holds the retraced functions by name.

    Lambdas are distinguished by their call site. Only the first ``MAX_FUNCTIONS`` functions are stored.

    >>> gathered = Retraces()
    >>> gathered.receive(Missed(1, "update", 0.0, "x: a NumPy array → an array", "Pass arguments of one kind."))
    True
    >>> print(retraces_text(gathered.by_cost()))
    update: 1 call started slowly (Python looked at its arguments again: about 0.1 ms a call, estimated)
      x: a NumPy array → an array (1 time)
         fix: Pass arguments of one kind.
    """

    def __init__(self) -> None:
        self.functions: dict[str, RetracedFunction] = {}
        self._recent: dict[int, tuple[RetracedFunction, Retrace]] = {}

    @classmethod
    def of(cls, records: Iterable[Record]) -> Retraces:
        """Return the retraces in these records."""
        retraces = cls()
        for record in records:
            retraces.receive(record)
        return retraces

    def receive(self, record: Record) -> bool:
        """Add a record; return whether it is about an avoidable trace or a call that missed the call cache."""
        match record:
            case Traced():
                self._mark_nested(record)
                return bool(record.fix) and self._add_retrace(record)
            case Missed() if record.fix:
                return self._add_miss(record)
            case Lowered() if record.program in self._recent:
                retraced, retrace = self._recent[record.program]
                retrace.lower += record.seconds
                retraced.seconds += record.seconds
                return True
            case Compiled(target="") if record.program in self._recent:
                retraced, retrace = self._recent[record.program]
                retrace.compile += record.seconds
                retraced.seconds += record.seconds
                return True
        return False

    def by_cost(self) -> list[RetracedFunction]:
        """Return the functions by time lost, largest first; those retraced only inside of others come last."""
        return sorted(self.functions.values(), key=lambda function: (-function.seconds, -function.count))

    @property
    def count(self) -> int:
        """Return the number of avoidable traces."""
        return sum(function.count for function in self.functions.values())

    def _add_retrace(self, record: Traced) -> bool:
        """Add an avoidable trace; return False if it is dropped because there are too many functions."""
        retraced = self._find_function(record.function, record.call_site)
        if retraced is None:
            return False
        retraced.count += 1
        retraced.seconds += record.seconds
        words = record.reason, record.fix, format_location(record.call_site)
        retrace = Retrace(record.program, retraced.count + 1, record.time, *words, record.seconds)
        retraced.retraces.append(retrace)
        self._recent[record.program] = retraced, retrace
        while len(self._recent) > MAX_RETRACES:
            del self._recent[next(iter(self._recent))]
        return True

    def _add_miss(self, record: Missed) -> bool:
        """Add a call that missed the call cache; return False if it is dropped because there are too many functions."""
        retraced = self._find_function(record.function, record.call_site)
        if retraced is None:
            return False
        miss = retraced.misses.get(record.reason)
        if miss is not None:
            miss.count += 1
        elif len(retraced.misses) < MAX_MISS_REASONS:
            retraced.misses[record.reason] = Miss(record.reason, record.fix, format_location(record.call_site))
        return True

    def _mark_nested(self, outer: Traced) -> None:
        """Mark the traces that happened within this one as nested: records of inner traces come first."""
        for program in reversed(self._recent):
            retraced, inner = self._recent[program]
            if inner.time < outer.time:
                return
            if not inner.inside and inner.time + inner.trace <= outer.time + outer.seconds + 1e-4:
                inner.inside = outer.function
                retraced.seconds -= inner.seconds

    def _find_function(self, function: str, site: SourceRange | None) -> RetracedFunction | None:
        # All anonymous functions have one name: their call sites distinguish them.
        key = f"{function} {format_location(site)}" if function == "<lambda>" else function
        if key not in self.functions and len(self.functions) >= MAX_FUNCTIONS:
            return None
        return self.functions.setdefault(key, RetracedFunction(function))


#: Texts before and after the location in the reason of a trace for a new function object.
_LOCATION_PREFIX, _LOCATION_SUFFIX = " made from the code at ", ", and traces"


def new_function_location(reason: str) -> str:
    """Return the location of a function that was created anew, from the reason of its trace, or ``""``.

    >>> new_function_location("f: the 2nd made from the code at a.py:3, and traces belong to objects")
    'a.py:3'
    """
    return reason.partition(_LOCATION_PREFIX)[2].partition(_LOCATION_SUFFIX)[0]


def format_location(site: SourceRange | None) -> str:
    """Return a location such as ``model.py:12`` or ``In[7]:3``, or ``""``."""
    return "" if site is None else f"{os.path.basename(site.file)}:{site.line}"


def retraces_json(functions: Iterable[RetracedFunction], most: int = MAX_RETRACES) -> list[dict[str, Any]]:
    """Return the functions as JSON, with the latest ``most`` retraces of each."""
    return [
        {
            "function": function.function,
            "count": function.count,
            "seconds": function.seconds,
            "retraces": [_retrace_json(retrace) for retrace in function.newest_first[:most]],
            "misses": [vars(miss) for miss in function.misses.values()][:most],
        }
        for function in functions
    ]


def _retrace_json(retrace: Retrace) -> dict[str, Any]:
    return {**vars(retrace), "seconds": retrace.seconds}


def retraces_text(functions: Iterable[RetracedFunction], most: int = 10) -> str:
    """Return the functions as text, with the latest ``most`` retraces of each, newest first."""
    return "\n".join(line for function in functions for line in _format_function(function, most))


def _format_function(retraced: RetracedFunction, most: int) -> list[str]:
    lines = [format_heading(retraced)]
    for retrace in retraced.newest_first[:most]:
        lines += _format_retrace(retrace)
    if retraced.count > most:
        lines.append(f"  … {retraced.count - most} earlier")
    for miss in retraced.misses.values():
        at = f"{miss.where}   " if miss.where else ""
        lines += [f"  {at}{miss.reason} ({_format_times(miss.count)})", f"     fix: {miss.fix}"]
    return lines


def format_heading(retraced: RetracedFunction) -> str:
    """Return a heading such as ``update: traced again 4 times, 1.2 s lost (measured)``."""
    parts = []
    if retraced.count:
        parts.append(f"traced again {_format_times(retraced.count)}, {describe_cost(retraced)}")
    calls = sum(miss.count for miss in retraced.misses.values())
    if calls:
        parts.append(describe_slow_calls(calls))
    return f"{retraced.function}: {'; '.join(parts)}"


def describe_slow_calls(calls: int) -> str:
    """Return a description of calls that ran through Python: 50 to 150 µs a call instead of about 10 µs.

    >>> describe_slow_calls(2)
    '2 calls started slowly (Python looked at their arguments again: about 0.1 ms a call, estimated)'
    """
    several = calls != 1
    whose = "their" if several else "its"
    explanation = f"Python looked at {whose} arguments again: about 0.1 ms a call, estimated"
    return f"{calls:,} call{'s' if several else ''} started slowly ({explanation})"


def describe_cost(retraced: RetracedFunction) -> str:
    """Return the seconds that a function's retraces cost as text, or whose trace contains all of them."""
    if any(not retrace.inside for retrace in retraced.retraces) or not retraced.retraces:
        return f"{format_duration(retraced.seconds)} lost (measured)"
    return f"inside of the traces of {retraced.retraces[-1].inside}"


def _format_retrace(retrace: Retrace) -> list[str]:
    stages = [("trace", retrace.trace), ("lower", retrace.lower), ("compile", retrace.compile)]
    parts = " + ".join(f"{name} {format_duration(seconds)}" for name, seconds in stages if seconds)
    inside = f" inside of the trace of {retrace.inside}" if retrace.inside else ""
    at = f"{retrace.where}   " if retrace.where else ""
    return [
        f"  trace {retrace.number}   {at}{retrace.reason}",
        f"     fix: {retrace.fix}",
        f"     {format_duration(retrace.seconds)} = {parts}{inside}",
    ]


def format_duration(seconds: float) -> str:
    """Return a duration with its unit.

    >>> format_duration(0.0182)
    '18.2 ms'
    """
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale * 0.9995:
            return f"{seconds / scale:.3g} {unit}"
    return f"{max(seconds, 0.0) / 1e-9:.3g} ns"


def _format_times(count: int) -> str:
    return f"{count:,} time{'' if count == 1 else 's'}"
