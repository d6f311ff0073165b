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
from xlascope.inspect.inspection_scope import inspecting, inspection
from xlascope.records import subscriptions

_log = logging.getLogger(__name__)

MakeRecord = Callable[[], records.Record]
#: How long the end of a subscription waits for queued records.
FINISH_TIMEOUT_SECONDS = 10.0


class RecordPublisher:
    """Queue of records that a separate thread builds and publishes, in the order in which they were requested."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[MakeRecord, bool] | threading.Event] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        subscriptions.late.append(self.finish)
        atexit.register(self.finish)  # this thread must not be running C++ code while the interpreter shuts down

    def publish(self, make: MakeRecord) -> None:
        """Queue a record, which ``make()`` builds on the publisher's thread.

        If an inspection is running on the calling thread, the record is published as part of an inspection.
        """
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="xlascope-telling", daemon=True)
                self._thread.start()
        self._queue.put((make, inspecting()))

    def finish(self) -> None:
        """Wait until all queued records are published."""
        if self._thread is None or self._thread is threading.current_thread():
            return
        processed_event = threading.Event()
        self._queue.put(processed_event)
        processed_event.wait(FINISH_TIMEOUT_SECONDS)

    def close(self) -> None:
        """Publish all queued records and stop finishing at the end of subscriptions and of the process."""
        self.finish()
        if self.finish in subscriptions.late:
            subscriptions.late.remove(self.finish)
        atexit.unregister(self.finish)

    def _run(self) -> None:
        while True:
            request = self._queue.get()
            if isinstance(request, threading.Event):
                request.set()
                continue
            make, quietly = request
            try:
                with inspection() if quietly else nullcontext():
                    records.publish(make())
            except Exception:
                _log.exception("watching a program of jax failed")
