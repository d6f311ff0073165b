"""Publication of records on a separate thread, so that the user's first call does not wait for them.

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
#: How long the end of a subscription waits for queued records.
PATIENCE = 10.0


class Telling:
    """A queue of records to build and publish, in the order in which they were requested."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[tuple[Make, bool] | threading.Event] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        watching.late.append(self.finish)
        atexit.register(self.finish)  # this thread must not be running C++ code while the interpreter shuts down

    def tell(self, make: Make) -> None:
        """Build and publish a record soon; quietly if an inspection is running on this thread."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="xlascope-telling", daemon=True)
                self._thread.start()
        self._asked.put((make, inspecting()))

    def finish(self) -> None:
        """Wait until all queued records are published."""
        if self._thread is None or self._thread is threading.current_thread():
            return
        done = threading.Event()
        self._asked.put(done)
        done.wait(PATIENCE)

    def close(self) -> None:
        """Publish all queued records and unregister."""
        self.finish()
        if self.finish in watching.late:
            watching.late.remove(self.finish)
        atexit.unregister(self.finish)

    def _run(self) -> None:
        while True:
            request = self._asked.get()
            if isinstance(request, threading.Event):
                request.set()
                continue
            make, quietly = request
            try:
                with inspection() if quietly else nullcontext():
                    records.publish(make())
            except Exception:
                _log.exception("watching a program of jax failed")
