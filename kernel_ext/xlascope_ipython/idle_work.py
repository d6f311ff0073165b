"""Work for a saved notebook that waits until no cell has run for a second."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import Callable

_log = logging.getLogger(__name__)

#: Seconds without a running cell after which work begins.
IDLE_SECONDS = 1.0


class IdleWork:
    """Work on the kernel's event loop while no cell runs, one piece at a time.

    Cells that follow each other within ``IDLE_SECONDS`` put it off. It runs in the context in which it was added, so
    its messages belong to that cell.
    """

    def __init__(self) -> None:
        self._pending: dict[object, tuple[Callable[[], None], contextvars.Context]] = {}
        self._is_running = self._is_scheduled = False
        self._idle_since = 0.0

    def begin_cell(self) -> None:
        """Note that a cell begins."""
        self._is_running = True

    def end_cell(self) -> None:
        """Note that the cell has ended."""
        self._is_running, self._idle_since = False, time.monotonic()
        self._schedule()

    def add(self, owner: object, work: Callable[[], None]) -> bool:
        """Add work, in place of earlier work of the same owner; return whether there is an event loop to do it."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return False
        self._pending[owner] = work, contextvars.copy_context()
        self._schedule()
        return True

    def discard(self, owner: object) -> None:
        """Discard the work of an owner."""
        self._pending.pop(owner, None)

    def flush(self) -> None:
        """Do all work now: nothing says any longer when cells run."""
        while self._pending:
            self._do_next()

    def _do_next(self) -> None:
        work, context = self._pending.pop(next(iter(self._pending)))
        try:
            context.run(work)
        except Exception:
            _log.exception("work for a saved notebook failed")

    def _schedule(self) -> None:
        if not self._pending or self._is_scheduled or self._is_running:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        pause = max(self._idle_since + IDLE_SECONDS - time.monotonic(), 0.0)
        self._is_scheduled = True
        loop.call_later(pause, self._work)

    def _work(self) -> None:
        self._is_scheduled = False
        if not self._is_running and time.monotonic() >= self._idle_since + IDLE_SECONDS and self._pending:
            self._do_next()
        self._schedule()
