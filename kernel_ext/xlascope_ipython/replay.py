"""The latest calls of the cell whose results held NaN: they are made again to find where it was born."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from xlascope import inspect
from xlascope.inspect.running.engines import ReplayableCall


class LatestCalls:
    """Latest calls of the last watched cell whose results held NaN or infinity, with their arguments.

    The arguments are held where they take less than a twentieth of the free memory, until the next such cell ends.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: Sequence[ReplayableCall] = ()
        self._reasons: Sequence[str] = ()
        self._written = ""

    def store(self, calls: Sequence[ReplayableCall], reasons: Sequence[str], written: str) -> None:
        """Store the calls of a cell, latest first, in place of those of the one before.

        ``reasons`` say why other calls are not among them, ``written`` is the source of the last call in the cells.
        """
        with self._lock:
            self._calls, self._reasons, self._written = tuple(calls), tuple(reasons), written

    def find_birth(self, number: object) -> inspect.Inspection:
        """Make the calls again, latest first, until one computes NaN or infinity, and return what its values were.

        ``number`` is that of the program that the question is about. Raises LookupError, which says what to do, if its
        cell has no call that can be made again, and if none of them computes NaN or infinity.
        """
        with self._lock:
            calls, reasons, written = self._calls, self._reasons, self._written
        of_program = [call for call in calls if number in call.programs]
        if not of_program:
            raise LookupError(self._explain(reasons, written))
        for call in (*of_program, *(call for call in calls if call not in of_program)):
            inspection = inspect.values(call.function, *call.args, **call.kwargs)
            if any(birth.reaches_results for birth in inspection.report.births):
                return inspection
        raise LookupError(self._explain((*reasons, "the latest calls of this cell compute none"), written))

    def _explain(self, reasons: Sequence[str], written: str) -> str:
        """Return why no call was made again, and what to do instead."""
        why = "; ".join(reasons) or "no arguments of a call of a jitted function of this cell are kept"
        return f"Not replayed: {why}. Run %values {written or 'f(x)'} with arguments from before it was born"


#: The calls of this kernel.
LATEST = LatestCalls()
