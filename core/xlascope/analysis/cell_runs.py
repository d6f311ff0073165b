"""Comparison of a program with the previous run of the same cell."""

from __future__ import annotations

from dataclasses import dataclass

from ..records.events import Compiled, Executed, Traced

#: Medians of fewer calls, or closer to each other than this factor, may differ by noise.
MIN_CALLS, NOISE_FACTOR = 8, 1.25


@dataclass(frozen=True, slots=True)
class CellRun:
    """Records of one program in one run of a cell; None where a stage did not happen or was not recorded."""

    traced: Traced | None
    compiled: Compiled | None
    executed: Executed | None


@dataclass(frozen=True, slots=True)
class RunDifference:
    """Difference of a program from the previous run of its cell.

    ``was`` is the previous seconds of a call, 0.0 where the times cannot be compared. ``words`` describe other
    changes, and ``differs`` is False where the very same program ran again.
    """

    was: float
    words: tuple[str, ...]
    differs: bool


def compare_runs(before: CellRun, now: CellRun) -> RunDifference | None:
    """Return how a program differs from the previous run of its cell, or None where no change is known."""
    was = before.executed.step if are_times_comparable(before, now) and before.executed is not None else 0.0
    differs = before.traced is not None and now.traced is not None and not _is_same_program(before.traced, now.traced)
    kernels = _kernel_change(before.compiled, now.compiled)
    words = [kernels] if kernels else []
    if differs:
        words += _equation_change(before.traced, now.traced)
    if not words:
        words = ["other equations"] if differs else ["the same program"]
    return RunDifference(was, tuple(words), differs or bool(kernels)) if was or differs or kernels else None


def are_times_comparable(before: CellRun, now: CellRun) -> bool:
    """Return whether the times of both runs can be shown side by side.

    Both have to be times of complete calls by one clock, of enough calls, and to differ beyond noise.
    """
    old, new = before.executed, now.executed
    if old is None or new is None or old.clock != new.clock or not old.clock:
        return False
    if old.at_most or new.at_most or min(old.calls, new.calls) < MIN_CALLS:
        return False
    return min(old.step, new.step) > 0.0 and not 1 / NOISE_FACTOR < new.step / old.step < NOISE_FACTOR


def _is_same_program(before: Traced, now: Traced) -> bool:
    return before is now or before.program == now.program or (before.text == now.text and bool(now.text))


def _kernel_change(before: Compiled | None, now: Compiled | None) -> str:
    if before is None or now is None or before.unread or now.unread:
        return ""
    return _describe_change(len(now.kernels) - len(before.kernels), "kernel")


def _equation_change(before: Traced | None, now: Traced | None) -> list[str]:
    if before is None or now is None:
        return []
    counts = [sum(1 for _ in traced.jaxpr.walk()) for traced in (before, now)]
    description = _describe_change(counts[1] - counts[0], "equation")
    return [description] if description else []


def _describe_change(number: int, noun: str) -> str:
    """Return a description such as ``one kernel fewer``.

    >>> _describe_change(-1, "kernel"), _describe_change(3, "equation"), _describe_change(0, "kernel")
    ('one kernel fewer', '3 equations more', '')
    """
    if not number:
        return ""
    many = abs(number)
    return f"{'one' if many == 1 else f'{many:,}'} {noun}{'' if many == 1 else 's'} {'more' if number > 0 else 'fewer'}"
