"""What is asked of a compilation of its own: the call, lowered for a target; in the background on request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ... import records
from ...xla.explain import Subject, subject_of
from ...xla.targets import Stopped, Watch, find_target
from ..asked import Asked, asked_of
from ..jobs import Cancelled, Job
from ..programs import Call
from ..questions import traced_call
from ..quiet import inspection
from ..result import Inspection


class QuestionError(ValueError):
    """A question names what the program does not have: an equation, an operation, a kernel."""


class Matter(NamedTuple):
    """A call that is asked about: what it is, the record of its trace, and what a target's compiler is given."""

    call: Call
    traced: records.Traced
    subject: Subject


def matter_of(fun: Callable[..., Any] | Asked, args: tuple[Any, ...], kwargs: dict[str, Any], target: str) -> Matter:
    """Trace a call and lower it for a target; raises ``UnknownTargetError``, and what tracing and lowering raise."""
    asked = asked_of(fun, args, kwargs)
    chosen = find_target(target)
    with inspection():
        call, traced = traced_call(*asked)
        options = call.jitted.options
        subject = subject_of(
            call.traced.program,
            chosen,
            call.traced.number,
            donated=call.donated,
            keep_unused=options.keep_unused,
            overrides=options.compiler_options,
        )
    return Matter(call, traced, subject)


def answered(answer: Callable[[Watch | None], Inspection], background: bool) -> Inspection | Job[Inspection]:
    """The answer, or the job that will have it; cancelling the job kills the compiler."""
    return Job(lambda job: _in_job(answer, job)) if background else answer(None)


def _in_job(answer: Callable[[Watch], Inspection], job: Job[Inspection]) -> Inspection:
    try:
        return answer(Watch(lambda message: job.report(None, message), job.on_cancel))
    except Stopped as stopped:
        raise Cancelled(str(stopped)) from None
