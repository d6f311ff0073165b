"""Two calls, compared: their equations, what XLA makes of them, and how long they take, measured in turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import records
from ...analysis.diff import Diff, compare
from ..asked import Asked
from ..programs import Call
from ..questions import compiled_call
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
    before: Asked | Sequence[Any],
    after: Asked | Sequence[Any],
    /,
    *,
    timings: bool = False,
    labels: tuple[str, str] | None = None,
) -> Comparison:
    """What differs between two calls, each given as ``(function, argument, …)`` or as
    :func:`~xlascope.inspect.call`.

    Compiles both. With ``timings=True`` it also runs them, by turns, for about half a second, and says whether one is
    faster than the other by more than the noise. Two sets of options are two jitted functions of one function.
    Raises what tracing and compiling raise, and TypeError for what is no call.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> x = jnp.arange(4.0)
    >>> found = diff((lambda x: jnp.sin(x) * 2.0, x), (lambda x: jnp.sin(x) * 2.0 + x, x))
    >>> [change.sign for change in found.diff.equations]
    ['=', '=', '+']
    """
    asked = [_asked(each) for each in (before, after)]
    with inspection():
        calls, found = zip(*(_records(each) for each in asked), strict=True)
        measured = alternate(*calls) if timings else None
    return Comparison(compare(*found, labels=labels or _labels(*asked), timing=measured))


def _asked(given: Asked | Sequence[Any]) -> Asked:
    if isinstance(given, Asked):
        return given
    if not isinstance(given, tuple | list) or not given or not callable(given[0]):
        raise TypeError(
            f"a call is a tuple of a function and its arguments, got {type(given).__name__}. "
            "Example: inspect.diff((f, x), (g, x))"
        )
    return Asked(given[0], tuple(given[1:]), {})


def _records(asked: Asked) -> tuple[Call, list[records.Record]]:
    made, *found = compiled_call(asked.function, asked.args, asked.kwargs)
    return made, found


def _labels(before: Asked, after: Asked) -> tuple[str, str]:
    old, new = (str(getattr(each.function, "__name__", "function")) for each in (before, after))
    return (old, new) if old != new else (f"{old} before", f"{new} after")
