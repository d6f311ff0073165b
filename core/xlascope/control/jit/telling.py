"""Events of traces and calls, published to watchers and logged for users who asked for explanations."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from ... import records
from ...ir.describe import traced_record
from ...ir.jaxpr import ClosedJaxpr
from ...ir.source_texts import excerpt
from ...ir.sources import is_library, locate
from ...records.watchers import watchers
from ...runtime import boot
from ...trace.source import user_frame, where_text
from .signatures import Reason

_log = logging.getLogger("xlascope.jit")

#: Listeners that get the program's number and the results of each dispatched call that came through Python. A listener
#: may wait for the results in another thread, and has to release them then.
dispatched: list[Callable[[int, Any], None]] = []


def tell_dispatched(number: int, out: Any) -> None:
    """Notify listeners that a call was dispatched; exceptions of listeners are logged."""
    for listener in tuple(dispatched):
        try:
            listener(number, out)
        except Exception:
            _log.exception("telling of a call failed")


def somebody_listens() -> bool:
    """Return whether events are watched or explanations were requested."""
    return bool(watchers) or boot.explain_cache_misses.value


def tell_failed(name: str, number: int, began: float, error: BaseException) -> None:
    """Publish that a function could not be traced."""
    if watchers:
        location = _innermost_user_line(error)
        failure = (type(error).__name__, str(error), location, excerpt(location))
        records.publish(records.Failure(number, name, "trace", began, *failure))


def _innermost_user_line(error: BaseException) -> records.SourceRange | None:
    frame = error.__traceback__
    innermost = None
    while frame is not None:
        code = frame.tb_frame.f_code
        location = locate(code, frame.tb_lasti)
        if location is not None and not is_library[code.co_filename]:
            innermost = location
        frame = frame.tb_next
    return innermost


def tell_traced(name: str, program: ClosedJaxpr, number: int, began: float, seconds: float, reason: Reason) -> None:
    """Publish that a function was traced, and log an explanation if requested."""
    if not somebody_listens():
        return
    location = locate(*user_frame())
    if watchers:
        records.publish(
            traced_record(program, number, began, seconds, reason.text, reason.fix, location, reason.origin)
        )
    if boot.explain_cache_misses.value:
        _log.warning(
            "%s was traced%s in %.3g s: %s.%s", name, where_text(location), seconds, reason.text, _after(reason)
        )


def tell_missed(name: str, number: int, reason: Reason) -> None:
    """Publish that a call missed jaxlib's cache, and log an explanation if requested."""
    location = locate(*user_frame())
    if watchers:
        records.publish(records.Missed(number, name, time.time(), reason.text, reason.fix, location))
    if boot.explain_cache_misses.value:
        _log.warning(
            "a call of %s%s was not known to the call cache: %s.%s",
            name, where_text(location), reason.text, _after(reason),
        )  # fmt: skip


def _after(reason: Reason) -> str:
    return f" {reason.fix}" if reason.fix else ""
