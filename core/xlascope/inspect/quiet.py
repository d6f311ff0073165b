"""Whether what happens on this thread happens on behalf of an inspection rather than of the user's program."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _State(threading.local):
    inspecting = False


_STATE = _State()


def inspecting() -> bool:
    """True inside :func:`inspection` on this thread: live views leave such records and calls out."""
    return _STATE.inspecting


@contextmanager
def inspection() -> Iterator[None]:
    """A ``with`` block that inspects.

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
