"""A program compared with what the same cell ran before: what has changed, and the times where they can be compared."""

from __future__ import annotations

from dataclasses import dataclass

from ..records.events import Compiled, Executed, Traced

#: Medians of fewer calls, or nearer to each other than this factor, may differ by chance: a machine is not idle.
LEAST_CALLS, NOISE = 8, 1.25


@dataclass(frozen=True, slots=True)
class Run:
    """What is known of a program in one run of a cell."""

    traced: Traced | None
    compiled: Compiled | None
    executed: Executed | None


@dataclass(frozen=True, slots=True)
class Since:
    """How a run differs from the one before.

    ``was`` is the time of a call then, 0.0 where that cannot be compared. ``words`` say what is known beside times, and
    ``differs`` is False where the very same program ran again.
    """

    was: float
    words: tuple[str, ...]
    differs: bool


def since(before: Run, now: Run) -> Since | None:
    """What has changed since the run before; None where nothing is known to have changed."""
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
    """Whether both are times of whole calls by one clock, of enough calls, and apart by more than chance."""
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
    counts = [sum(1 for _ in each.jaxpr.walk()) for each in (before, now)]
    said = _change(counts[1] - counts[0], "equation")
    return [said] if said else []


def _change(number: int, what: str) -> str:
    """``one kernel fewer``.

    >>> _change(-1, "kernel"), _change(3, "equation"), _change(0, "kernel")
    ('one kernel fewer', '3 equations more', '')
    """
    if not number:
        return ""
    many = abs(number)
    return f"{'one' if many == 1 else f'{many:,}'} {what}{'' if many == 1 else 's'} {'more' if number > 0 else 'fewer'}"
