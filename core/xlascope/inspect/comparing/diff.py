"""Two calls, compared: their equations, what XLA makes of them, and how long they take, measured in turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...analysis.diff import Diff, compare
from ..producers import Asked, program_of
from ..program import Program
from ..quiet import inspection
from ..result import Inspection
from ..running.alternate import alternate

__all__ = ["Comparison", "Diff", "compare", "diff"]


class Comparison(Inspection):
    """What :func:`diff` returns: an inspection of two programs, whose ``diff`` says how they differ."""

    def __init__(self, found: Diff) -> None:
        super().__init__("diff", (*found.before, *found.after), found.text())
        self.diff = found

    def to_json(self) -> dict[str, Any]:
        """Both lists of records and how they align."""
        return self.diff.to_json()

    @property
    def drawn(self) -> Diff:
        """What pictures of this are made from: the comparison."""
        return self.diff


def diff(
    before: Asked | Program | Sequence[Any],
    after: Asked | Program | Sequence[Any],
    /,
    *,
    timings: bool = False,
    labels: tuple[str, str] | None = None,
) -> Comparison:
    """What differs between two calls, each given as ``(function, argument, …)``, as
    :func:`~xlascope.inspect.call`, or as a :class:`~xlascope.inspect.Program`.

    Compiles both. With ``timings=True`` it also runs them, by turns, for about half a second, and says whether one is
    faster than the other by more than the noise. Two sets of options are two jitted functions of one function.
    Raises what tracing and compiling raise, and TypeError for what is no call.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> x = jnp.arange(4.0)
    >>> found = diff((lambda x: jnp.sin(x) * 2.0, x), (lambda x: jnp.sin(x) * 2.0 + x, x))
    >>> [change.sign for change in found.diff.equations]
    ['=', '=', '+']
    """
    programs = [program_of(_asked(each)) for each in (before, after)]
    with inspection():
        old, new = ([each.record, *each.compiled()] for each in programs)
        measured = alternate(*(each.host.runner() for each in programs)) if timings else None
    return Comparison(compare(old, new, labels=labels or _labels(*programs), timing=measured))


def _asked(given: Asked | Program | Sequence[Any]) -> Asked | Program:
    if isinstance(given, Asked | Program):
        return given
    if not isinstance(given, tuple | list) or not given or not callable(given[0]):
        raise TypeError(
            f"a call is a tuple of a function and its arguments, got {type(given).__name__}. "
            "Example: inspect.diff((f, x), (g, x))"
        )
    return Asked(given[0], tuple(given[1:]), {})


def _labels(before: Program, after: Program) -> tuple[str, str]:
    old, new = before.record.function, after.record.function
    return (old, new) if old != new else (f"{old} before", f"{new} after")
