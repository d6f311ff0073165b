"""Pause of Python's cyclic garbage collector while a program is lowered.

Lowering creates many objects and no cycles. The collector looks through all of them again and again, which takes a
quarter of the time in programs of thousands of equations.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_pauses = 0
_resumes = False


@contextmanager
def pause_collection() -> Iterator[None]:
    """Return a context manager in which cyclic garbage is not collected, in any thread.

    The last one to end, of several threads, resumes collection if it was enabled before the first.
    """
    global _pauses, _resumes
    has_begun = False
    try:  # from the beginning: Ctrl-C may come between any two calls
        with _lock:
            if not _pauses:
                _resumes = gc.isenabled()
                gc.disable()
            _pauses += 1
            has_begun = True
        yield
    finally:
        if has_begun:
            with _lock:
                _pauses -= 1
                if not _pauses and _resumes:
                    gc.enable()


def _end_in_child() -> None:
    """End the pauses in a forked process, which has no thread that would."""
    global _lock, _pauses
    _lock = threading.Lock()
    if _pauses and _resumes:
        gc.enable()
    _pauses = 0


os.register_at_fork(after_in_child=_end_in_child)
