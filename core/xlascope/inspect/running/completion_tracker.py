"""Completion times of calls, from a thread that waits for the results of some of them.

The watched program itself waits for nothing: its calls remain asynchronous.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from typing import Any, NamedTuple

from .result_paths import Leaves, ResultPath, find_path, follow_path

#: Maximum number of pending calls. If results are never used, calls can be dispatched faster than they complete.
MAX_PENDING_CALLS = 64
#: Number of functions of which the path to the smallest result is stored.
MAX_PATHS = 1024
#: Number of calls whose results were ready at once that are passed on together: each time wakes up a thread, which
#: would take longer than the call of a small program.
BATCH_CALLS = 16


class DispatchedCall(NamedTuple):
    """Dispatched call: its function, its program's number, and the call counts at that time, including itself.

    ``counts`` are the calls of functions by key, ``started`` the calls through Python by program number. ``began`` is
    when the call was made (None if unknown), ``returned`` when it came back; both in seconds of
    ``time.perf_counter``. ``overhead`` are the seconds that the calling thread spent on noting earlier calls.
    ``queued`` says whether an earlier call was not complete when this one returned. Of the function and the program one
    may be None: calls through Python have no function, and the program of a call in C++ may be unknown.
    """

    function: Any
    program: int | None
    counts: Mapping[Any, int]
    started: Mapping[int, int]
    returned: float
    began: float | None = None
    overhead: float = 0.0
    queued: bool = False


class _Pending:
    """Dispatched call with the array to wait for, None where it was ready when it returned or the wait is over.

    ``is_queued`` says whether an earlier call was not complete then.
    """

    __slots__ = ("array", "call", "is_queued", "was_ready")

    def __init__(self, call: DispatchedCall, array: Any, was_ready: bool, is_queued: bool) -> None:
        self.call, self.array, self.was_ready, self.is_queued = call, array, was_ready, is_queued


CompletionListener = Callable[[DispatchedCall, float | None, bool, bool], None]


class CompletionTracker:
    """Tracker that calls ``on_completion(call, time, waited, late)`` for completed calls, in dispatch order.

    ``time`` is of ``time.perf_counter``, None if the results were donated to another call before anybody could wait
    for them; ``waited`` says whether the results were not ready when the call was added, and ``late`` whether they
    were ready some time before the tracker came to wait for them. The listener runs on the tracker's thread.
    """

    def __init__(self, on_completion: CompletionListener) -> None:
        self._on_completion = on_completion
        self._waiting: SimpleQueue[_Pending | threading.Event | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._batch: deque[_Pending] = deque()
        self._latest: _Pending | None = None
        self._paths: dict[Any, ResultPath] = {}
        self._added = self._ended = 0

    @property
    def has_pending(self) -> bool:
        """Return whether there are calls that are not complete."""
        return self._added > self._ended

    def add(self, call: DispatchedCall, results: Any, leaves: Leaves) -> None:
        """Wait for a call's results on the tracker's thread; ``leaves(results)`` returns the arrays among them.

        The call is dropped if too many are pending, or if no result can be waited for.
        """
        if self._waiting.qsize() >= MAX_PENDING_CALLS:
            return
        smallest = self._choose_array(call.program if call.function is None else call.function, results, leaves)
        if smallest is None:
            return
        is_ready = smallest.is_ready()
        self._added += 1
        before = None if is_ready or self._latest is None else self._latest.array
        is_queued = before is not None and not _is_ready(before)
        self._latest = _Pending(call, None if is_ready else smallest, is_ready, is_queued)
        self._batch.append(self._latest)
        if not is_ready or len(self._batch) >= BATCH_CALLS or self._added == 1:
            self.flush()

    def _choose_array(self, function: Any, results: Any, leaves: Leaves) -> Any:
        """Return the smallest array of a call's results, by the path to it in an earlier call's; None of none.

        All results of a call are ready at once, so any array will do where a path leads to another one. The smallest
        is looked for once per function: a step of a large model has thousands, and flattening them takes long, too.
        """
        path = self._paths.get(function)
        array: Any = None if path is None else follow_path(results, path, leaves)
        if array is not None and hasattr(array, "is_ready") and not array.is_deleted():
            return array
        smallest = _smallest_array(leaves(results))
        if smallest is not None and len(self._paths) < MAX_PATHS:
            self._paths[function] = find_path(results, smallest, leaves)
        return smallest

    def flush(self) -> None:
        """Pass all calls on to the tracker's thread; called on any thread."""
        try:
            while self._batch:
                self._waiting.put(self._batch.popleft())
        except IndexError:  # another thread took the last one
            pass
        if self._thread is None and self._added:
            self._thread = threading.Thread(target=self._wait_for_results, name="xlascope-finishes", daemon=True)
            self._thread.start()

    def drain(self, timeout: float) -> None:
        """Pass all calls on and wait until their completions were reported, at most ``timeout`` seconds."""
        self.flush()
        if self._thread is not None:
            marker = threading.Event()
            self._waiting.put(marker)
            marker.wait(timeout)

    def stop(self, timeout: float) -> None:
        """Report completed calls and end; wait at most ``timeout`` seconds."""
        self.flush()
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join(timeout)

    def _wait_for_results(self) -> None:
        while (pending := self._waiting.get()) is not None:
            if isinstance(pending, threading.Event):
                pending.set()
                continue
            call, was_waited = pending.call, not pending.was_ready
            late = was_waited and _is_ready(pending.array)
            completion_time = _wait_until_ready(pending.array) if was_waited else call.returned
            pending.array = None  # release the user's array
            self._ended += 1
            self._on_completion(
                call._replace(queued=True) if pending.is_queued else call, completion_time, was_waited, late
            )


def _is_ready(array: Any) -> bool:
    """Return whether an array is ready; False if it was donated or could not be computed."""
    try:
        return bool(array.is_ready())
    except Exception:
        return False


def _wait_until_ready(array: Any) -> float | None:
    """Return the time at which an array is ready; None if it was donated before or could not be computed."""
    try:
        array.block_until_ready()
    except Exception:
        return None
    return time.perf_counter()


def _smallest_array(out: Sequence[Any]) -> Any:
    """Return the smallest array of a call's results, which are ready at once; None if there is none to wait for."""
    arrays = [leaf for leaf in out if hasattr(leaf, "is_ready") and not leaf.is_deleted()]
    return min(arrays, key=lambda array: array.nbytes, default=None)
