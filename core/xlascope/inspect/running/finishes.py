"""Completion times of calls, from a thread that waits for the results of some of them.

The watched program itself waits for nothing: its calls remain asynchronous.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from typing import Any, NamedTuple

#: Maximum number of pending calls. If results are never used, calls can be dispatched faster than they complete.
MOST = 64


class Made(NamedTuple):
    """Dispatched call: its function or program, and the call counts at that time, including itself.

    ``began`` is when it was made if that is known, ``returned`` when it came back; in seconds of `perf_counter`.
    """

    function: Any
    program: int | None
    counts: Mapping[Any, int]
    started: Mapping[int, int]
    returned: float
    began: float | None = None


Done = Callable[[Made, float, bool], None]


class Finishes:
    """Tracker that calls ``on_completion(call, time, waited)`` for completed calls, in dispatch order."""

    def __init__(self, on_completion: Done) -> None:
        self._done = on_completion
        self._waiting: SimpleQueue[tuple[Made, Any, float | None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._added = self._ended = 0

    @property
    def pending(self) -> bool:
        """Return whether there are calls that are not complete."""
        return self._added > self._ended

    def add(self, call: Made, out: Callable[[], Sequence[Any]]) -> None:
        """Wait for a call's results (``out()`` returns the arrays among them) on a separate thread."""
        if self._waiting.qsize() >= MOST:
            return
        smallest = _smallest(out())
        if smallest is None:
            return
        ready = time.perf_counter() if smallest.is_ready() else None
        self._added += 1
        self._waiting.put((call, None if ready is not None else smallest, ready))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="xlascope-finishes", daemon=True)
            self._thread.start()

    def stop(self, timeout: float) -> None:
        """Report completed calls and end; wait at most ``timeout`` seconds."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join(timeout)

    def _run(self) -> None:
        while (entry := self._waiting.get()) is not None:
            call, array, ready = entry
            done, entry = ready if ready is not None else _finish(array), None
            self._ended += 1
            if done is not None:
                self._done(call, done, array is not None)
            array = None  # release the user's array while waiting


def _finish(array: Any) -> float | None:
    """Return the time at which an array is ready; None if it was donated before or could not be computed."""
    try:
        array.block_until_ready()
    except Exception:
        return None
    return time.perf_counter()


def _smallest(out: Sequence[Any]) -> Any:
    """Return the smallest array of a call's results, which are ready at once; None if there is none to wait for."""
    arrays = [leaf for leaf in out if hasattr(leaf, "is_ready") and not leaf.is_deleted()]
    return min(arrays, key=lambda array: array.nbytes, default=None)
