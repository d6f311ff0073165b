"""Switch of what ``debug.print`` and ``debug.log`` write: measurements repeat calls that print."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Discards:
    """Number of blocks that discard output; callbacks run on any thread, so it is one for the process."""

    def __init__(self) -> None:
        self.count = 0
        self.lock = threading.Lock()

    def add(self, change: int) -> None:
        """Change the number of blocks."""
        with self.lock:
            self.count += change


_DISCARDS = _Discards()


def is_output_discarded() -> bool:
    """Return whether a block discards output now."""
    return _DISCARDS.count > 0


@contextmanager
def debug_output_discarded() -> Iterator[None]:
    """Discard what programs give to ``debug.print`` and ``debug.log`` in a ``with`` block, on all threads.

    >>> with debug_output_discarded():
    ...     is_output_discarded()
    True
    >>> is_output_discarded()
    False
    """
    _DISCARDS.add(1)
    try:
        yield
    finally:
        _DISCARDS.add(-1)
