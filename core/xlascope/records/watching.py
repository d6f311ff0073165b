"""Callbacks that receive every record as it is made."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from types import TracebackType

from .events import Record
from .watchers import watchers

_log = logging.getLogger(__name__)
_program_numbers = itertools.count(1)

#: Who tells of something later than it happens, to keep nobody waiting: each returns when all of it has been told.
#: Who ends a subscription has it all.
late: list[Callable[[], None]] = []


class Subscription:
    """A subscription to records; closing it (or leaving its ``with`` block) ends it."""

    def __init__(self, callback: Callable[[Record], None]) -> None:
        self._callback = callback
        watchers.append(callback)

    def close(self) -> None:
        """End the subscription, once all that has happened is told; closing twice is harmless."""
        if self._callback in watchers:
            try:
                for told in tuple(late):
                    told()
            finally:  # an interrupt ends the wait, too
                watchers.remove(self._callback)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()


def watch(callback: Callable[[Record], None]) -> Subscription:
    """Call ``callback(record)`` for every record from now on, on the thread that makes it.

    Returns a :class:`Subscription`. An exception in a callback is logged and does not reach the program that is
    watched.

    >>> seen = []
    >>> with watch(seen.append):
    ...     pass
    >>> seen
    []
    """
    return Subscription(callback)


def publish(record: Record) -> None:
    """Hand a record to every subscriber."""
    for callback in tuple(watchers):
        try:
            callback(record)
        except Exception:
            _log.exception("a records callback failed")


def next_program() -> int:
    """A number for a new program, unique within the process."""
    return next(_program_numbers)
