"""Comparison of two calls: their equations, their kernels, and their times, measured interleaved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...analysis.diff import Diff, compare
from ..inspection_scope import inspection
from ..producers import Query, program_of
from ..program import Program
from ..result import Inspection
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
    ``timings=True`` they also run, interleaved, for about half a second, and the text says whether one is faster
    than the other by more than the noise. To compare options, pass two jitted functions of one function. Raises
    what tracing and compiling raise, and TypeError for an argument that is no call.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> x = jnp.arange(4.0)
    >>> found = diff((lambda x: jnp.sin(x) * 2.0, x), (lambda x: jnp.sin(x) * 2.0 + x, x))
    >>> [change.sign for change in found.diff.equations]
    ['=', '=', '+']
    """
    programs = [program_of(_as_query(item)) for item in (before, after)]
    with inspection():
        old, new = ([item.record, *item.compiled()] for item in programs)
        measured = time_interleaved(*(item.host.runner() for item in programs)) if timings else None
    return Comparison(compare(old, new, labels=labels or _labels(*programs), timing=measured))


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
