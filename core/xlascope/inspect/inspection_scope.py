"""Thread-local flag for activity that an inspection causes, as opposed to the user's program."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _InspectionState(threading.local):
    """Flag of each thread that says whether it is inside an inspection."""

    inspecting = False


_STATE = _InspectionState()


def inspecting() -> bool:
    """Return whether this thread is inside :func:`inspection`; live views ignore such records and calls."""
    return _STATE.inspecting


@contextmanager
def inspection() -> Iterator[None]:
    """Mark the ``with`` block as an inspection.

    >>> with inspection():
    ...     inspecting()
    True
    >>> inspecting()
    False
    """
    previous, _STATE.inspecting = _STATE.inspecting, True
    try:
        yield
    finally:
        _STATE.inspecting = previous
