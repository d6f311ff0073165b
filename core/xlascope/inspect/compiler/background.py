"""Answers that take long, computed at once or as a background job."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ...xla.targets import CompilationStopped, CompileProgress
from ..jobs import Cancelled, Job

T = TypeVar("T")


def run_or_start_job(answer: Callable[[CompileProgress | None], T], background: bool) -> T | Job[T]:
    """Return the answer, or a job that computes it, reports progress, and kills the compiler when cancelled.

    ``answer`` receives the reporter of its compilations' progress, None when it is called at once.
    """
    return Job(lambda job: _in_job(answer, job)) if background else answer(None)


def _in_job(answer: Callable[[CompileProgress], T], job: Job[T]) -> T:
    try:
        return answer(CompileProgress(lambda message: job.report(None, message), job.on_cancel))
    except CompilationStopped as stopped:
        raise Cancelled(str(stopped)) from None
