"""What is said about traces: to whoever watches, and to whoever asked for explanations."""

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

#: Who wants the results of a call that came through Python, with its program's number, once it is on its way. What is
#: called here may wait for them elsewhere, and has to let go of them then.
dispatched: list[Callable[[int, Any], None]] = []


def tell_dispatched(number: int, out: Any) -> None:
    """Say that a call is on its way; what fails there does not reach it."""
    for listener in tuple(dispatched):
        try:
            listener(number, out)
        except Exception:
            _log.exception("telling of a call failed")


def somebody_listens() -> bool:
    """Whether anybody watches or asked for explanations."""
    return bool(watchers) or boot.explain_cache_misses.value


def tell_failed(name: str, number: int, began: float, error: BaseException) -> None:
    """Say that a function could not be traced."""
    if watchers:
        place = _innermost_user_line(error)
        failure = (type(error).__name__, str(error), place, excerpt(place))
        records.publish(records.Failure(number, name, "trace", began, *failure))


def _innermost_user_line(error: BaseException) -> records.SourceRange | None:
    from_frames = error.__traceback__
    found = None
    while from_frames is not None:
        code = from_frames.tb_frame.f_code
        place = locate(code, from_frames.tb_lasti)
        if place is not None and not is_library[code.co_filename]:
            found = place
        from_frames = from_frames.tb_next
    return found


def tell_traced(name: str, program: ClosedJaxpr, number: int, began: float, seconds: float, reason: Reason) -> None:
    """Say that a function was traced."""
    if not somebody_listens():
        return
    place = locate(*user_frame())
    if watchers:
        records.publish(traced_record(program, number, began, seconds, reason.text, reason.fix, place, reason.origin))
    if boot.explain_cache_misses.value:
        _log.warning("%s was traced%s in %.3g s: %s.%s", name, where_text(place), seconds, reason.text, _after(reason))


def tell_missed(name: str, number: int, reason: Reason) -> None:
    """Say that jaxlib's cache did not know a call."""
    place = locate(*user_frame())
    if watchers:
        records.publish(records.Missed(number, name, time.time(), reason.text, reason.fix, place))
    if boot.explain_cache_misses.value:
        _log.warning(
            "a call of %s%s was not known to the call cache: %s.%s",
            name, where_text(place), reason.text, _after(reason),
        )  # fmt: skip


def _after(reason: Reason) -> str:
    return f" {reason.fix}" if reason.fix else ""
