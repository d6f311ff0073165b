"""Subscriptions to records: callbacks that get every record as it is made."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from .watchers import watchers

if TYPE_CHECKING:  # programs that nobody watches need no classes of records
    from .events import Record

_log = logging.getLogger(__name__)
_program_numbers = itertools.count(1)

#: Flush functions of producers that publish asynchronously: each returns when its pending records are published.
#: Called at the end of a subscription, so that it is complete.
late: list[Callable[[], None]] = []


class Subscription:
    """Subscription to records; closing it, or leaving its ``with`` block, ends it.

    ``callback(record)`` is called for every record that is published meanwhile.
    """

    def __init__(self, callback: Callable[[Record], None]) -> None:
        self._callback = callback
        watchers.append(callback)

    def close(self) -> None:
        """End the subscription, once all pending records are delivered; closing twice is harmless."""
        if self._callback in watchers:
            try:
                for flush in tuple(late):
                    flush()
            finally:  # also after an interrupt of the wait
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
    """Pass a record to every subscriber; an exception in a callback is logged."""
    for callback in tuple(watchers):
        try:
            callback(record)
        except Exception:
            _log.exception("a records callback failed")


def next_program() -> int:
    """Return a number for a new program, unique within the process."""
    return next(_program_numbers)
