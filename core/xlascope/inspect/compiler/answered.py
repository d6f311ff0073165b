"""An answer of a compiler that takes long: waited for, or in the background."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ...xla.targets import Stopped, Watch
from ..jobs import Cancelled, Job

T = TypeVar("T")


def answered(answer: Callable[[Watch | None], T], background: bool) -> T | Job[T]:
    """The answer, or the job that will have it: the steps are told to the job, and cancelling it kills the compiler."""
    return Job(lambda job: _in_job(answer, job)) if background else answer(None)


def _in_job(answer: Callable[[Watch], T], job: Job[T]) -> T:
    try:
        return answer(Watch(lambda message: job.report(None, message), job.on_cancel))
    except Stopped as stopped:
        raise Cancelled(str(stopped)) from None
