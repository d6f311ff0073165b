"""Events of traces and calls, published to subscribers and logged for users who asked for explanations."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from ... import records
from ...ir.jaxpr import ClosedJaxpr
from ...ir.jaxpr_record import make_traced_record
from ...ir.source_texts import excerpt
from ...ir.user_frames import is_library, locate
from ...records.stage_spans import span_listeners, stage_span
from ...records.watchers import watchers
from ...runtime import boot
from ...trace.source import user_frame, where_text
from .retrace_reasons import is_of_library
from .trace_signature import Reason

_log = logging.getLogger("xlascope.jit")

#: Listeners that get the program's number and the results of each dispatched call that came through Python. A listener
#: may wait for the results in another thread, and has to release them then.
dispatch_listeners: list[Callable[[int, Any], None]] = []

#: Listeners that get the Python side of a jitted function and the positional and keyword arguments of each call that
#: came through Python, on its thread and just before it runs: donated arguments still have their memory.
call_listeners: list[Callable[[Any, tuple[Any, ...], dict[str, Any]], None]] = []

#: Listeners that get the Python side of a jitted function that is called but not run as a program: in another trace,
#: of which the call becomes a part, or while jit is disabled.
unrun_call_listeners: list[Callable[[Any], None]] = []


def notify_unrun_call(jitted: Any) -> None:
    """Call each listener to calls that run no program with the Python side of one; their exceptions are logged."""
    for listener in tuple(unrun_call_listeners):
        try:
            listener(jitted)
        except Exception:
            _log.exception("telling of a call in another trace failed")


def notify_call(jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Call each call listener with the Python side and the arguments of a call; exceptions of listeners are logged."""
    for listener in tuple(call_listeners):
        try:
            listener(jitted, args, kwargs)
        except Exception:
            _log.exception("announcing a call failed")


def notify_dispatch(number: int, out: Any) -> None:
    """Call each dispatch listener with a program's number and a call's results; exceptions of listeners are logged."""
    for listener in tuple(dispatch_listeners):
        try:
            listener(number, out)
        except Exception:
            _log.exception("telling of a call failed")


def call_span(function: Any, number: int, name: str) -> AbstractContextManager[None]:
    """Announce the ``with`` block as a call of a jitted ``function``: one of the library's is an eager operation.

    ``number`` and ``name`` are those of its program.
    """
    stage = "eager" if span_listeners and is_of_library(function) else "run"
    return stage_span(stage, number, name)


def has_listeners() -> bool:
    """Return whether events have subscribers, or the setting ``explain_cache_misses`` is on."""
    return bool(watchers) or boot.explain_cache_misses.value


def report_trace_failure(name: str, number: int, began: float, error: BaseException) -> None:
    """Publish that a function could not be traced, if there are subscribers.

    ``number`` is the program's, ``began`` the start of tracing (``time.time()``).
    """
    if watchers:
        location = _innermost_user_line(error)
        failure = (type(error).__name__, str(error), location, excerpt(location))
        records.publish(records.Failure(number, name, "trace", began, *failure))


def _innermost_user_line(error: BaseException) -> records.SourceRange | None:
    """Return the line of the innermost frame of user code in an exception's traceback; None if there is none."""
    frame = error.__traceback__
    innermost = None
    while frame is not None:
        code = frame.tb_frame.f_code
        location = locate(code, frame.tb_lasti)
        if location is not None and not is_library[code.co_filename]:
            innermost = location
        frame = frame.tb_next
    return innermost


def report_trace(name: str, program: ClosedJaxpr, number: int, began: float, seconds: float, reason: Reason) -> None:
    """Publish that a function was traced, and log the reason if ``explain_cache_misses`` is set.

    ``number`` is the program's, ``began`` the start (``time.time()``) and ``seconds`` the duration of tracing.
    """
    if not has_listeners():
        return
    location = locate(*user_frame())
    if watchers:
        records.publish(
            make_traced_record(program, number, began, seconds, reason.text, reason.fix, location, reason.origin)
        )
    if boot.explain_cache_misses.value:
        _log.warning(
            "%s was traced%s in %.3g s: %s.%s", name, where_text(location), seconds, reason.text, _fix_text(reason)
        )


def report_cache_miss(name: str, number: int, reason: Reason) -> None:
    """Publish that a call missed jaxlib's call cache, and log the reason if ``explain_cache_misses`` is set.

    ``number`` is the program's.
    """
    location = locate(*user_frame())
    if watchers:
        records.publish(records.Missed(number, name, time.time(), reason.text, reason.fix, location))
    if boot.explain_cache_misses.value:
        _log.warning(
            "a call of %s%s was not known to the call cache: %s.%s",
            name, where_text(location), reason.text, _fix_text(reason),
        )  # fmt: skip


def _fix_text(reason: Reason) -> str:
    return f" {reason.fix}" if reason.fix else ""
