"""Comparison of a program with the previous run of the same cell."""

from __future__ import annotations

from dataclasses import dataclass

from ..records.events import Compiled, Executed, Traced

#: Medians of fewer calls, or closer to each other than this factor, may differ by noise.
LEAST_CALLS, NOISE = 8, 1.25


@dataclass(frozen=True, slots=True)
class Run:
    """Records of a program in one run of a cell."""

    traced: Traced | None
    compiled: Compiled | None
    executed: Executed | None


@dataclass(frozen=True, slots=True)
class Since:
    """Difference of a run from the previous one.

    ``was`` is the previous time of a call, 0.0 where the times cannot be compared. ``words`` describe other
    changes, and ``differs`` is False where the very same program ran again.
    """

    was: float
    words: tuple[str, ...]
    differs: bool


def since(before: Run, now: Run) -> Since | None:
    """Return the difference from the previous run, or None where no change is known."""
    was = before.executed.step if times_compare(before, now) and before.executed is not None else 0.0
    differs = before.traced is not None and now.traced is not None and not _same(before.traced, now.traced)
    kernels = _kernels(before.compiled, now.compiled)
    words = [kernels] if kernels else []
    if differs:
        words += _equations(before.traced, now.traced)
    if not words:
        words = ["other equations"] if differs else ["the same program"]
    return Since(was, tuple(words), differs or bool(kernels)) if was or differs or kernels else None


def times_compare(before: Run, now: Run) -> bool:
    """Return whether both are times of complete calls by one clock, of enough calls, and differ beyond noise."""
    old, new = before.executed, now.executed
    if old is None or new is None or old.clock != new.clock or not old.clock:
        return False
    if old.at_most or new.at_most or min(old.calls, new.calls) < LEAST_CALLS:
        return False
    return min(old.step, new.step) > 0.0 and not 1 / NOISE < new.step / old.step < NOISE


def _same(before: Traced, now: Traced) -> bool:
    return before is now or before.program == now.program or (before.text == now.text and bool(now.text))


def _kernels(before: Compiled | None, now: Compiled | None) -> str:
    if before is None or now is None or before.unread or now.unread:
        return ""
    return _change(len(now.kernels) - len(before.kernels), "kernel")


def _equations(before: Traced | None, now: Traced | None) -> list[str]:
    if before is None or now is None:
        return []
    counts = [sum(1 for _ in traced.jaxpr.walk()) for traced in (before, now)]
    description = _change(counts[1] - counts[0], "equation")
    return [description] if description else []


def _change(number: int, noun: str) -> str:
    """Return a description such as ``one kernel fewer``.

    >>> _describe_change(-1, "kernel"), _describe_change(3, "equation"), _describe_change(0, "kernel")
    ('one kernel fewer', '3 equations more', '')
    """
    if not number:
        return ""
    many = abs(number)
    return f"{'one' if many == 1 else f'{many:,}'} {noun}{'' if many == 1 else 's'} {'more' if number > 0 else 'fewer'}"
