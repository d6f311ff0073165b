"""Functions that were traced more than once: where, why, what it cost, and what would have spared it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..records.events import Compiled, Lowered, Missed, Record, Traced
from ..records.programs import SourceRange

#: The latest of one function that are kept one by one; counts and sums go on.
MOST_KEPT = 100
#: Functions, and kinds of slow calls of one function: those met first are kept.
MOST_FUNCTIONS, MOST_MISSES = 200, 20


@dataclass
class Retrace:
    """One trace that could have been spared. Times are seconds, measured; ``inside`` is the function in whose trace it
    happened, ``""`` for one that a call caused: its time is a part of that trace's.
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
        """What it cost: tracing, lowering and compiling again."""
        return self.trace + self.lower + self.compile


@dataclass
class Miss:
    """Calls that were traced before and yet passed through Python, of one kind: jaxlib's cache had not met them."""

    reason: str
    fix: str
    where: str
    count: int = 1


@dataclass
class Retraced:
    """A function that was traced again: how often (the first trace not counted), and the latest times."""

    function: str
    count: int = 0
    seconds: float = 0.0
    retraces: deque[Retrace] = field(default_factory=lambda: deque(maxlen=MOST_KEPT))
    misses: dict[str, Miss] = field(default_factory=dict)

    @property
    def newest_first(self) -> list[Retrace]:
        """The retraces that are kept."""
        return list(reversed(self.retraces))


class Retraces:
    """Gathers records; ``functions`` holds the functions that were traced again, by what tells them apart.

    >>> gathered = Retraces()
    >>> gathered.receive(Missed(1, "update", 0.0, "x: a NumPy array → an array", "Pass arguments of one kind."))
    True
    >>> print(retraces_text(gathered.by_cost()))
    update: 1 call started slowly (Python looked at its arguments again: about 0.1 ms a call, estimated)
      x: a NumPy array → an array (1 time)
         fix: Pass arguments of one kind.
    """

    def __init__(self) -> None:
        self.functions: dict[str, Retraced] = {}
        self._recent: dict[int, tuple[Retraced, Retrace]] = {}

    @classmethod
    def of(cls, records: Iterable[Record]) -> Retraces:
        """What these records say."""
        gathered = cls()
        for record in records:
            gathered.receive(record)
        return gathered

    def receive(self, record: Record) -> bool:
        """Take in a record; True when it tells of a trace or call that could have been spared."""
        match record:
            case Traced():
                self._contains(record)
                return bool(record.fix) and self._again(record)
            case Missed() if record.fix:
                return self._missed(record)
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

    def by_cost(self) -> list[Retraced]:
        """The functions, those that lost most time first; those traced again only inside of others last."""
        return sorted(self.functions.values(), key=lambda each: (-each.seconds, -each.count))

    @property
    def count(self) -> int:
        """How many traces could have been spared."""
        return sum(each.count for each in self.functions.values())

    def _again(self, record: Traced) -> bool:
        retraced = self._of(record.function, record.call_site)
        if retraced is None:
            return False
        retraced.count += 1
        retraced.seconds += record.seconds
        words = record.reason, record.fix, where(record.call_site)
        retrace = Retrace(record.program, retraced.count + 1, record.time, *words, record.seconds)
        retraced.retraces.append(retrace)
        self._recent[record.program] = retraced, retrace
        while len(self._recent) > MOST_KEPT:
            del self._recent[next(iter(self._recent))]
        return True

    def _missed(self, record: Missed) -> bool:
        retraced = self._of(record.function, record.call_site)
        if retraced is None:
            return False
        known = retraced.misses.get(record.reason)
        if known is not None:
            known.count += 1
        elif len(retraced.misses) < MOST_MISSES:
            retraced.misses[record.reason] = Miss(record.reason, record.fix, where(record.call_site))
        return True

    def _contains(self, outer: Traced) -> None:
        """A trace that happened within this one is a part of it: inner traces are told first."""
        for program in reversed(self._recent):
            retraced, inner = self._recent[program]
            if inner.time < outer.time:
                return
            if not inner.inside and inner.time + inner.trace <= outer.time + outer.seconds + 1e-4:
                inner.inside = outer.function
                retraced.seconds -= inner.seconds

    def _of(self, function: str, site: SourceRange | None) -> Retraced | None:
        # Anonymous functions have one name: the line where they are called tells them apart.
        key = f"{function} {where(site)}" if function == "<lambda>" else function
        if key not in self.functions and len(self.functions) >= MOST_FUNCTIONS:
            return None
        return self.functions.setdefault(key, Retraced(function))


#: How the reason of a trace begins that a new function object needed, and what follows where its code stands.
_MADE, _TRACES = " made from the code at ", ", and traces"


def made_from(reason: str) -> str:
    """Where the code stands of a function that was made anew, by the reason of its trace; ``""`` for other reasons.

    >>> made_from("f is a new function object: the 2nd made from the code at a.py:3, and traces belong to objects")
    'a.py:3'
    """
    return reason.partition(_MADE)[2].partition(_TRACES)[0]


def where(site: SourceRange | None) -> str:
    """``model.py:12``, ``In[7]:3``, or nothing."""
    return "" if site is None else f"{os.path.basename(site.file)}:{site.line}"


def retraces_json(functions: Iterable[Retraced], most: int = MOST_KEPT) -> list[dict[str, Any]]:
    """The functions as JSON, the latest ``most`` retraces of each."""
    return [
        {
            "function": each.function,
            "count": each.count,
            "seconds": each.seconds,
            "retraces": [_retrace_json(retrace) for retrace in each.newest_first[:most]],
            "misses": [vars(miss) for miss in each.misses.values()][:most],
        }
        for each in functions
    ]


def _retrace_json(retrace: Retrace) -> dict[str, Any]:
    return {**vars(retrace), "seconds": retrace.seconds}


def retraces_text(functions: Iterable[Retraced], most: int = 10) -> str:
    """The functions for people: of each the latest ``most`` retraces, newest first."""
    return "\n".join(line for each in functions for line in _lines(each, most))


def _lines(retraced: Retraced, most: int) -> list[str]:
    lines = [heading(retraced)]
    for retrace in retraced.newest_first[:most]:
        lines += _retrace_lines(retrace)
    if retraced.count > most:
        lines.append(f"  … {retraced.count - most} earlier")
    for miss in retraced.misses.values():
        at = f"{miss.where}   " if miss.where else ""
        lines += [f"  {at}{miss.reason} ({_times(miss.count)})", f"     fix: {miss.fix}"]
    return lines


def heading(retraced: Retraced) -> str:
    """``update: traced again 4 times, 1.2 s lost (measured)``."""
    parts = []
    if retraced.count:
        parts.append(f"traced again {_times(retraced.count)}, {cost(retraced)}")
    calls = sum(miss.count for miss in retraced.misses.values())
    if calls:
        parts.append(slow_words(calls))
    return f"{retraced.function}: {'; '.join(parts)}"


def slow_words(calls: int) -> str:
    """What it means that calls passed through Python, and what that costs: some 10 µs become 50 to 150 µs a call.

    >>> slow_words(2)
    '2 calls started slowly (Python looked at their arguments again: about 0.1 ms a call, estimated)'
    """
    many = calls != 1
    whose = "their" if many else "its"
    looked = f"Python looked at {whose} arguments again: about 0.1 ms a call, estimated"
    return f"{calls:,} call{'s' if many else ''} started slowly ({looked})"


def cost(retraced: Retraced) -> str:
    """What the retraces of a function cost, in words."""
    if any(not each.inside for each in retraced.retraces) or not retraced.retraces:
        return f"{duration(retraced.seconds)} lost (measured)"
    return f"inside of the traces of {retraced.retraces[-1].inside}"


def _retrace_lines(retrace: Retrace) -> list[str]:
    stages = [("trace", retrace.trace), ("lower", retrace.lower), ("compile", retrace.compile)]
    parts = " + ".join(f"{name} {duration(seconds)}" for name, seconds in stages if seconds)
    inside = f" inside of the trace of {retrace.inside}" if retrace.inside else ""
    at = f"{retrace.where}   " if retrace.where else ""
    return [
        f"  trace {retrace.number}   {at}{retrace.reason}",
        f"     fix: {retrace.fix}",
        f"     {duration(retrace.seconds)} = {parts}{inside}",
    ]


def duration(seconds: float) -> str:
    """A duration with its unit.

    >>> duration(0.0182)
    '18.2 ms'
    """
    for one, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= one * 0.9995:
            return f"{seconds / one:.3g} {unit}"
    return f"{max(seconds, 0.0) / 1e-9:.3g} ns"


def _times(count: int) -> str:
    return f"{count:,} time{'' if count == 1 else 's'}"
