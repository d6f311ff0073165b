"""Comparison of two calls: their equations, their kernels, and their times, measured interleaved."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...analysis.diff import Diff, Timing, compare
from ...analysis.eager_call import EagerCall
from ..inspection_scope import inspection
from ..producers import Query, program_of, written_call_of
from ..program import Program
from ..result import Inspection
from ..running.dispatch_count import count_dispatches
from ..running.interleaved_timing import time_interleaved

__all__ = ["Comparison", "Diff", "compare", "diff"]


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
    timings: bool = False,
    labels: tuple[str, str] | None = None,
) -> Comparison:
    """Compare two calls, each given as ``(function, argument, …)``, by ``call``, or as a program.

    See :func:`~xlascope.inspect.call` and :class:`~xlascope.inspect.Program`. Both are compiled. With
    ``timings=True`` they also run as written, interleaved, for about half a second, and the text says whether one
    is faster than the other by more than the noise, and which is not jitted. To compare options, pass two jitted
    functions of one function. Raises what tracing and compiling raise, and TypeError for an argument that is no
    call.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> x = jnp.arange(4.0)
    >>> found = diff((lambda x: jnp.sin(x) * 2.0, x), (lambda x: jnp.sin(x) * 2.0 + x, x))
    >>> [change.sign for change in found.diff.equations]
    ['=', '=', '+']
    """
    programs = [program_of(_as_query(item)) for item in (before, after)]
    with inspection():
        old, new = ([item.record, *item.compiled()] for item in programs)
        calls = [_timed_call(*both) for both in zip((before, after), programs, strict=True)] if timings else []
        measured = _time_calls(calls) if calls else None
    return Comparison(compare(old, new, labels=labels or _labels(*programs), timing=measured))


class _TimedCall(NamedTuple):
    """Function that makes a call and waits, and what is to be said about it: a function that is not jitted."""

    run: Callable[[], None]
    note: str


def _timed_call(subject: Query | Program | Sequence[Any], program: Program) -> _TimedCall:
    """Return a call as its user wrote it: a function that is not jitted runs operation by operation."""
    written = written_call_of(_as_query(subject))
    if written is None:
        return _TimedCall(program.host.runner(), "")
    run = written.make_runner()
    run()
    with count_dispatches() as count:
        run()
    eager = EagerCall(written.name, 1, (0.0,), count.operations.total(), count.programs.total())
    return _TimedCall(run, f"{written.name} as written, not jitted: {eager.dispatch_text} a call")


def _time_calls(calls: Sequence[_TimedCall]) -> Timing:
    """Return the interleaved timing of two calls; its source says which of them is not jitted."""
    timing = time_interleaved(*(call.run for call in calls))
    notes = dict.fromkeys(call.note for call in calls if call.note)
    return dataclasses.replace(timing, source="; ".join((timing.source, *notes)))


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
