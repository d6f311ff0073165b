"""Answers that take long, computed at once or as a background job."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ...xla.targets import Stopped, Watch
from ..jobs import Cancelled, Job

T = TypeVar("T")


def answered(answer: Callable[[Watch | None], T], background: bool) -> T | Job[T]:
    """Return the answer, or a job that computes it, reports progress, and kills the compiler when cancelled."""
    return Job(lambda job: _in_job(answer, job)) if background else answer(None)


def _in_job(answer: Callable[[Watch], T], job: Job[T]) -> T:
    try:
        return answer(Watch(lambda message: job.report(None, message), job.on_cancel))
    except Stopped as stopped:
        raise Cancelled(str(stopped)) from None
