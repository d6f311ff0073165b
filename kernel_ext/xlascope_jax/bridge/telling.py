"""Records of how a program was made are put together on a thread of their own: nobody's first call waits for them.

A large program is described while XLA compiles it.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable
from contextlib import nullcontext
from queue import SimpleQueue

from xlascope import records
from xlascope.inspect.quiet import inspecting, inspection
from xlascope.records import watching

_log = logging.getLogger(__name__)

Make = Callable[[], records.Record]
#: How long whoever ends a subscription waits for what is not told yet (seconds).
PATIENCE = 10.0


class Telling:
    """Makes records in the order in which they were asked for, and publishes them."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[tuple[Make, bool] | threading.Event] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        watching.late.append(self.finish)
        atexit.register(self.finish)  # nothing of ours may be at work in C++ when that is taken down

    def tell(self, make: Make) -> None:
        """Publish what ``make()`` returns, soon; quietly, where somebody inspects on this thread."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="xlascope-telling", daemon=True)
                self._thread.start()
        self._asked.put((make, inspecting()))

    def finish(self) -> None:
        """Return when all that was asked for is told."""
        if self._thread is None or self._thread is threading.current_thread():
            return
        done = threading.Event()
        self._asked.put(done)
        done.wait(PATIENCE)

    def close(self) -> None:
        """Tell what was asked for, and nothing later."""
        self.finish()
        if self.finish in watching.late:
            watching.late.remove(self.finish)
        atexit.unregister(self.finish)

    def _run(self) -> None:
        while True:
            asked = self._asked.get()
            if isinstance(asked, threading.Event):
                asked.set()
                continue
            make, quietly = asked
            try:
                with inspection() if quietly else nullcontext():
                    records.publish(make())
            except Exception:
                _log.exception("watching a program of jax failed")
