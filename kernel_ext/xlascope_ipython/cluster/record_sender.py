"""Sender of an engine's records to the notebook: few messages, each with all records since the one before."""

from __future__ import annotations

import dataclasses
import logging
import threading
import time
from collections.abc import Callable, Iterable

from xlascope.records import Compiled, Lowered, Record, Traced

from .messages import JSON, encode_records, replacement_key

_log = logging.getLogger(__name__)

#: The minimum time between two messages, which is longer for large ones to limit the bytes per second.
MIN_INTERVAL_SECONDS = 0.1
MAX_BYTES_PER_SECOND = 20_000_000
#: The minimum time between two reports on the process as a whole.
REPORT_INTERVAL_SECONDS = 2.0
#: How long the end of a cell waits for a message that is being sent.
MAX_CLOSING_SECONDS = 5.0

Send = Callable[[JSON, bytes], None]
"""Gets the content of a message and its buffer with records; sends them, from any thread."""


class RecordSender:
    """Sender of the records of one cell, a view of :class:`~xlascope_ipython.cell.WatchedCell`.

    Of records that replace earlier ones (``Executed`` of a program) only the latest is sent. The last message says how
    the cell ended. Every now and then ``report()`` adds records of the process as a whole. With
    ``sends_hlo`` False, texts of HLO are left out: one process sends them for all.
    """

    def __init__(self, send: Send, report: Callable[[], Iterable[Record]] = tuple, *, sends_hlo: bool = True) -> None:
        self._send, self._report, self._sends_hlo = send, report, sends_hlo
        self._next_report = time.monotonic() + REPORT_INTERVAL_SECONDS
        self._condition = threading.Condition()
        self._send_lock = threading.Lock()
        self._waiting: dict[object, Record] = {}
        self._began = time.time()
        #: The seconds of tracing, lowering and compiling in this cell.
        self.build_seconds = 0.0
        self._has_ended = False
        self._thread: threading.Thread | None = None

    def show(self, opened: bool, answerable: bool = True) -> None:
        """Do nothing: the notebook shows the records."""

    def receive(self, record: Record) -> None:
        """Add a record, from any thread; it is sent within a tenth of a second."""
        with self._condition:
            if isinstance(record, Traced | Lowered | Compiled) and record.time >= self._began:
                self.build_seconds += record.seconds
            if isinstance(record, Compiled) and not self._sends_hlo:
                record = dataclasses.replace(record, hlo="")
            key = replacement_key(record)
            self._waiting.pop(key, None)
            self._waiting[key] = record
            if self._thread is None and not self._has_ended:
                self._thread = threading.Thread(target=self._run, name="xlascope-records", daemon=True)
                self._thread.start()
            self._condition.notify()

    def finish(self) -> None:
        """Do nothing: :meth:`end` sends what is left."""

    def end(self, content: JSON) -> None:
        """Send what is left, and that the cell has ended; ``content`` says how."""
        with self._condition:
            self._has_ended = True
            self._condition.notify()
            thread = self._thread
        if thread is not None:
            thread.join(MAX_CLOSING_SECONDS)
        self._flush({"ended": True, **content})

    def _flush(self, content: JSON) -> int:
        """Send the records that wait; return the number of bytes."""
        with self._send_lock:
            with self._condition:
                records, self._waiting = list(self._waiting.values()), {}
            data = encode_records(records)
            self._send(content, data)
        return len(data)

    def _add_report(self) -> None:
        """Add the records of the process as a whole, unless that was done a moment ago."""
        if time.monotonic() >= self._next_report:
            for record in self._report():
                self.receive(record)
            self._next_report = time.monotonic() + REPORT_INTERVAL_SECONDS

    def _run(self) -> None:
        pause = MIN_INTERVAL_SECONDS / 4  # a short first pause joins the stages of a small program
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._waiting or self._has_ended)
                if self._condition.wait_for(lambda: self._has_ended, timeout=pause):
                    return
            try:
                self._add_report()
                size = self._flush({})
            except Exception:
                _log.exception("records could not be sent to the notebook")
                return
            pause = max(MIN_INTERVAL_SECONDS, size / MAX_BYTES_PER_SECOND)
