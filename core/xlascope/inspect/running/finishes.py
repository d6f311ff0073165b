"""When calls are done: a thread waits for the results of a few of them, and lets go of each as soon as it is there.

The program that is watched waits for nothing: its calls are made as they would be.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from typing import Any, NamedTuple

#: Calls that are waited for at once. In a program whose results are never used more would come than end.
MOST = 64


class Made(NamedTuple):
    """A call that was made: by which function, or as which program, and the calls of each until then, itself included.

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
    """Calls ``done(made, time, waited)`` for calls whose results are there, in the order in which they were made."""

    def __init__(self, done: Done) -> None:
        self._done = done
        self._waiting: SimpleQueue[tuple[Made, Any, float | None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._added = self._ended = 0

    @property
    def pending(self) -> bool:
        """Whether there are calls that are not done."""
        return self._added > self._ended

    def add(self, made: Made, out: Callable[[], Sequence[Any]]) -> None:
        """Wait for a call's results (``out()`` are the arrays among them), on a thread of our own."""
        if self._waiting.qsize() >= MOST:
            return
        smallest = _smallest(out())
        if smallest is None:
            return
        ready = time.perf_counter() if smallest.is_ready() else None
        self._added += 1
        self._waiting.put((made, None if ready is not None else smallest, ready))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="xlascope-finishes", daemon=True)
            self._thread.start()

    def stop(self, patience: float) -> None:
        """Tell of what is done, and wait for nothing more than so many seconds."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join(patience)

    def _run(self) -> None:
        while (entry := self._waiting.get()) is not None:
            made, array, ready = entry
            done, entry = ready if ready is not None else _finish(array), None
            self._ended += 1
            if done is not None:
                self._done(made, done, array is not None)
            array = None  # nothing of the user's is kept while this waits


def _finish(array: Any) -> float | None:
    """The time at which an array was there; None if it was given away before, or could not be computed."""
    try:
        array.block_until_ready()
    except Exception:
        return None
    return time.perf_counter()


def _smallest(out: Sequence[Any]) -> Any:
    """The smallest array of a call's results (they are there all at once); None where there is none to wait for."""
    arrays = [each for each in out if hasattr(each, "is_ready") and not each.is_deleted()]
    return min(arrays, key=lambda array: array.nbytes, default=None)
