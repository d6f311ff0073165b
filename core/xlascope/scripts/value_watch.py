"""``python -m xlascope watch --values``: the values of each training step of a script."""

from __future__ import annotations

import logging
from typing import Any

from ..analysis.values.watched import is_training_step
from ..control.jit.events import call_listeners
from ..control.jit.jitted import Jitted
from ..control.jit.retrace_reasons import is_of_library
from ..inspect.engine.traced_calls import rebuild_traced
from ..inspect.inspection_scope import inspecting, inspection
from ..inspect.watch_values import watch_values

_log = logging.getLogger(__name__)

#: The largest number of steps that are watched, and of functions that are looked at.
MAX_STEPS, MAX_FUNCTIONS = 4, 1_000


class ValueWatch:
    """Watch the values of the first jitted functions that compute gradients, from :meth:`start` to :meth:`stop`."""

    def __init__(self) -> None:
        self._watched: list[watch_values] = []
        self._examined: set[Jitted] = set()

    def start(self) -> None:
        """Start: each function is examined at its first call."""
        call_listeners.append(self._examine)

    def stop(self) -> list[str]:
        """Stop watching, publish the histories, and return their texts."""
        if self._examine in call_listeners:
            call_listeners.remove(self._examine)
        self._examined.clear()
        for watched in self._watched:
            watched.__exit__()
        texts = [watched.text for watched in self._watched if watched.history.calls]
        self._watched = []
        return texts

    def _examine(self, jitted: Jitted, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if jitted in self._examined or inspecting() or len(self._watched) >= MAX_STEPS:
            return
        if len(self._examined) < MAX_FUNCTIONS:
            self._examined.add(jitted)
        if is_of_library(jitted.function) or not jitted.traces.all():
            return
        with inspection():
            record = rebuild_traced(list(jitted.traces.all().values())[-1])
        if is_training_step(record.jaxpr):
            watched = watch_values(jitted)
            watched.__enter__()
            self._watched.append(watched)
            watched.watcher.announce_call(jitted, args, kwargs)
