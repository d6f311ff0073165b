"""Clocks of one thread that other threads can read: its processor time, and how long it waited for a processor."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from types import FrameType

_NANOSECONDS_PER_SECOND = 1e9


class ThreadClock:
    """Clocks and the current frame of a thread; ``thread`` is its identifier.

    Without the operating system's clocks (on macOS), processor times are None on other threads.
    """

    def __init__(self, thread: threading.Thread) -> None:
        assert thread.ident is not None and thread.native_id is not None, "the thread has not started"
        self.thread = thread.ident
        self._clock_id = time.pthread_getcpuclockid(self.thread) if hasattr(time, "pthread_getcpuclockid") else None
        self._scheduler_file = _open_scheduler_file(thread.native_id)

    @property
    def is_readable(self) -> bool:
        """Return whether other threads can read the processor time."""
        return self._clock_id is not None

    def processor_seconds(self) -> float | None:
        """Return the processor time of the thread in seconds; None if it has ended, or only itself could tell."""
        if self._clock_id is not None:
            try:
                return time.clock_gettime(self._clock_id)
            except OSError:  # the thread has ended
                return None
        return time.thread_time() if threading.get_ident() == self.thread else None

    def delay_seconds(self) -> float:
        """Return the seconds that the thread could have run but had no processor; 0.0 where that is not counted."""
        if self._scheduler_file is None:
            return 0.0
        try:
            return int(os.pread(self._scheduler_file, 100, 0).split()[1]) / _NANOSECONDS_PER_SECOND
        except (OSError, IndexError, ValueError):
            return 0.0

    def frame(self) -> FrameType | None:
        """Return the innermost Python frame of the thread, None once it has ended."""
        return sys._current_frames().get(self.thread)

    def close(self) -> None:
        """Close the operating system's file."""
        if self._scheduler_file is not None:
            with contextlib.suppress(OSError):
                os.close(self._scheduler_file)
            self._scheduler_file = None


def _open_scheduler_file(native_thread: int) -> int | None:
    """Return a descriptor of Linux's scheduling statistics of a thread; None elsewhere."""
    try:
        return os.open(f"/proc/self/task/{native_thread}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
