"""Comparison of two calls: their equations, their kernels, and their times, measured interleaved."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from ...analysis.diff import Diff, Timing, compare
from ...analysis.eager_call import EagerCall
from ..inspection_scope import inspection
from ..producers import Query, program_of, written_call_of
from ..program import Program
from ..result import Inspection
from ..running.dispatch_count import count_dispatches
from ..running.interleaved_timing import TooSlowError, time_interleaved
from ..written_call import prints_discarded

__all__ = ["Comparison", "Diff", "compare", "diff"]

#: With ``timings="auto"``: the most seconds in which calls are made, and operations for which none is made.
AUTO_SECONDS = 5.0
_ALL_THE_SAME = "`%diff --timings` (timings=True) measures all the same"
SIDE_EFFECTS = frozenset({"debug_callback", "debug_print", "io_callback"})


class Comparison(Inspection):
    """Result of :func:`diff`: an inspection of two programs, whose ``diff`` holds the differences."""

    def __init__(self, difference: Diff) -> None:
        super().__init__("diff", (*difference.before, *difference.after), difference.text())
        self.diff = difference

    def to_json(self) -> dict[str, Any]:
        """Return both lists of records and how they align."""
        return self.diff.to_json()

    @property
    def render_source(self) -> Diff:
        """Return the data that renderers draw: the comparison."""
        return self.diff


def diff(
    before: Query | Program | Sequence[Any],
    after: Query | Program | Sequence[Any],
    /,
    *,
    timings: bool | Literal["auto"] = False,
    labels: tuple[str, str] | None = None,
) -> Comparison:
    """Compare two calls, each given as ``(function, argument, …)``, by ``call``, or as a program.

    See :func:`~xlascope.inspect.call` and :class:`~xlascope.inspect.Program`. Both are compiled. With
    ``timings=True`` they also run as written, interleaved, for about half a second (for at most about 20 s), on
    copies of arguments that they donate, and the text says whether one is faster than the other by more than the
    noise, and which is not jitted. With ``"auto"`` they run for at most about 5 s, and not at all if one of them
    calls Python for its effects (``debug.print``, ``debug.callback``, ``io_callback``), has arguments without values
    (:class:`xlascope.ShapeDtypeStruct`), or fails: the text then says why. What calls print is shown once at most.
    To compare options, pass two jitted functions of one function. Raises what tracing and compiling raise, and
    TypeError for an argument that is no call.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> x = jnp.arange(4.0)
    >>> found = diff((lambda x: jnp.sin(x) * 2.0, x), (lambda x: jnp.sin(x) * 2.0 + x, x))
    >>> [change.sign for change in found.diff.equations]
    ['=', '=', '+']
    """
    programs = [program_of(_as_query(item)) for item in (before, after)]
    with inspection():
        old, new = ([item.record, *item.compiled()] for item in programs)
        subjects = list(zip((before, after), programs, strict=True))
        timing, why_not = _measure(subjects, is_automatic=timings == "auto") if timings else (None, "")
    return Comparison(compare(old, new, labels=labels or _labels(*programs), timing=timing, unmeasured=why_not))


_Subject = tuple[Query | Program | Sequence[Any], Program]


def _measure(subjects: Sequence[_Subject], *, is_automatic: bool) -> tuple[Timing | None, str]:
    """Return the interleaved timing of two calls, or None and the reason; what a call raises is one if automatic."""
    why_not = next(filter(None, (program.host.unmeasured() for _, program in subjects)), "")
    if why_not or not is_automatic:
        return (None, why_not) if why_not else (_time_calls(subjects, float("inf")), "")
    if effects := [f"{program.record.function} calls Python for its effects ({name})"
                   for _, program in subjects if (name := _side_effect(program))]:  # fmt: skip
        return None, f"{effects[0]}, which would happen in each measured call; {_ALL_THE_SAME}"
    try:
        return _time_calls(subjects, AUTO_SECONDS), ""
    except TooSlowError as error:
        return None, f"{error}; {_ALL_THE_SAME}"
    except Exception as error:
        return None, f"a call failed ({type(error).__name__}: {' '.join(str(error).split())[:200]})"


def _side_effect(program: Program) -> str:
    """Return the name of an operation that calls Python for its effects, ``""`` if the program has none."""
    return next((eqn.operation for eqn in program.record.jaxpr.walk() if eqn.operation in SIDE_EFFECTS), "")


class _TimedCall(NamedTuple):
    """Function that makes a call and waits, and what is to be said about it: a function that is not jitted."""

    run: Callable[[], None]
    note: str


def _timed_call(subject: Query | Program | Sequence[Any], program: Program, deadline: _Deadline) -> _TimedCall:
    """Return a call as its user wrote it: a function that is not jitted runs operation by operation."""
    written = written_call_of(_as_query(subject))
    if written is None:
        return _TimedCall(program.host.user_runner(), "")
    run = written.make_runner()  # makes the call once, after which all of it is counted
    deadline.check()
    with prints_discarded(), count_dispatches() as count:
        run()
    deadline.check()
    eager = EagerCall(written.name, 1, (0.0,), count.operations.total(), count.programs.total())
    return _TimedCall(run, f"{written.name} as written, not jitted: {eager.dispatch_text} a call")


def _time_calls(subjects: Sequence[_Subject], limit: float) -> Timing:
    """Return the interleaved timing of two calls; its source says which of them is not jitted.

    Raises :class:`TooSlowError` if a few calls of both take more than ``limit`` seconds.
    """
    deadline = _Deadline(limit)
    calls = [_timed_call(*subject, deadline) for subject in subjects]
    with prints_discarded():
        timing = time_interleaved(calls[0].run, calls[1].run, deadline.seconds_left())
    notes = dict.fromkeys(call.note for call in calls if call.note)
    return dataclasses.replace(timing, source="; ".join((timing.source, *notes)))


class _Deadline:
    """The time after which no further call is made, so many seconds from now."""

    def __init__(self, limit: float) -> None:
        self._limit, self._began = limit, time.perf_counter()

    def seconds_left(self) -> float:
        return self._limit - (time.perf_counter() - self._began)

    def check(self) -> None:
        """Raise TooSlowError if no time is left."""
        if (left := self.seconds_left()) < 0:
            raise TooSlowError(f"the first calls take {self._limit - left:.2g} s")


def _as_query(subject: Query | Program | Sequence[Any]) -> Query | Program:
    if isinstance(subject, Query | Program):
        return subject
    if not isinstance(subject, tuple | list) or not subject or not callable(subject[0]):
        raise TypeError(
            f"a call is a tuple of a function and its arguments, got {type(subject).__name__}. "
            "Example: inspect.diff((f, x), (g, x))"
        )
    return Query(subject[0], tuple(subject[1:]), {})


def _labels(before: Program, after: Program) -> tuple[str, str]:
    old, new = before.record.function, after.record.function
    return (old, new) if old != new else (f"{old} before", f"{new} after")
