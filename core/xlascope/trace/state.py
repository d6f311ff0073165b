"""What is current on this thread: the trace that operations go to, and the origin that new equations get."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from ..ir.jaxpr import Origin


class _State(threading.local):
    trace: Any = None
    origin: Origin | None = None


STATE = _State()


class current:
    """Make ``trace`` (None: run at once) the current trace for a ``with`` block; the previous one returns whatever happens."""

    __slots__ = ("_previous", "_trace")

    def __init__(self, trace: Any) -> None:
        self._trace = trace
        self._previous = STATE.trace

    def __enter__(self) -> None:
        self._previous = STATE.trace
        STATE.trace = self._trace

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        STATE.trace = self._previous


class origin:
    """Give equations that are recorded in a ``with`` block this origin."""

    __slots__ = ("_origin", "_previous")

    def __init__(self, new: Origin | None) -> None:
        self._origin = new
        self._previous = STATE.origin

    def __enter__(self) -> None:
        self._previous = STATE.origin
        STATE.origin = self._origin

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        STATE.origin = self._previous
