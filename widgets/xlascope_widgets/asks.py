"""Questions that a click in the panel asks the kernel: each is answered on a thread of its own, with progress."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from xlascope.analysis.diff import Diff
from xlascope.records import Record

from .ledger import Ledger
from .standing import state_of
from .wire_compiler import JSON, findings

_log = logging.getLogger(__name__)

#: Questions worked on at a time, and answers kept; and the least seconds between two messages about progress.
MOST_WORKING = 4
MOST_KEPT = 24
INTERVAL = 0.1

Tell = Callable[[JSON, JSON | None], None]
"""Gets the state of every answer by id, and when that has changed what was found, by id."""


class Reply:
    """How an answer is given: progress, then what was found; :attr:`cancelled` says that nobody waits any more."""

    def __init__(self, asks: Asks, number: str) -> None:
        self._asks = asks
        self._number = number
        self._cancelled = threading.Event()
        self._stop: Callable[[], object] | None = None

    @property
    def cancelled(self) -> bool:
        """Whether the user has cancelled the question."""
        return self._cancelled.is_set()

    def on_cancel(self, stop: Callable[[], object]) -> None:
        """Call ``stop()`` when the user cancels; at once, if that was before."""
        self._stop = stop
        if self.cancelled:
            stop()

    def progress(self, share: float | None, message: str = "") -> None:
        """Tell how far the work is: a share from 0 to 1, None while it is not known."""
        self._asks.update(self._number, {"progress": share, "message": message})

    def cancel(self) -> None:
        """The user has cancelled."""
        self._cancelled.set()
        if self._stop is not None:
            self._stop()


class Answer(Protocol):
    """What answers: which ``questions`` it takes (``why``, ``passes``, …), and the names of ``targets`` it knows,
    and of those whose compilers are ``missing`` here how to get them.
    """

    @property
    def questions(self) -> Sequence[str]: ...
    @property
    def targets(self) -> Sequence[str]: ...
    @property
    def missing(self) -> Mapping[str, str]:
        """How to get the compilers that are missing, by the names of targets."""

    def __call__(self, question: JSON, reply: Reply) -> tuple[Iterable[Record] | Diff, str]:
        """The records found, or a comparison, and what is to be read as text (``""`` where the records say it all).
        What it raises is shown to the user, as one message.
        """


class Asks:
    """The questions of one panel. Every message that is no question is ignored."""

    def __init__(self, answer: Answer, tell: Tell) -> None:
        self._answer = answer
        self._tell = tell
        self._lock = threading.RLock()
        self._states: dict[str, JSON] = {}
        self._found: dict[str, JSON] = {}
        self._working: dict[str, Reply] = {}
        self._told = 0.0

    def receive(self, message: Any) -> None:
        """Take in a message of the browser: ``{"ask": {"id": …, "question": …}}`` or ``{"cancel": id}``."""
        if not isinstance(message, dict):
            return
        match message.get("ask"), message.get("cancel"):
            case {"id": str(number), "question": str()}, _ if len(number) <= 64:
                self._begin(number, message["ask"])
            case _, str(number):
                reply = self._working.get(number)
                if reply is not None:
                    threading.Thread(target=reply.cancel, name="xlascope-cancel", daemon=True).start()

    def _begin(self, number: str, question: JSON) -> None:
        with self._lock:
            if number in self._states:
                return
            if len(self._working) >= MOST_WORKING:
                message = f"{MOST_WORKING} questions are being answered already; ask again when one is done"
                self.update(number, {"question": question, "state": "failed", "message": message})
                return
            reply = self._working[number] = Reply(self, number)
            began = {"question": question, "state": "working", "progress": None, "message": "", "since": time.time()}
            self.update(number, began)
        threading.Thread(target=self._run, args=(number, question, reply), name="xlascope-ask", daemon=True).start()

    def _run(self, number: str, question: JSON, reply: Reply) -> None:
        found: JSON | None = None
        try:
            given, text = self._answer(question, reply)
            if isinstance(given, Diff):
                state = state_of(Ledger.of(given))
                found = {"compared": {"programs": state["programs"], "live": state["live"]}}
            else:
                found = findings(given)
            found |= ({"text": text} if text else {}) | {"program": question.get("program")}
            end = {"state": "done", "message": ""}
        except Exception as error:
            end = {"state": "failed", "message": str(error) or type(error).__name__}
        if reply.cancelled:
            end = {"state": "cancelled", "message": ""}
        with self._lock:
            self._working.pop(number, None)
            if found is not None and not reply.cancelled:
                self._found[number] = found
            self.update(number, end)

    def update(self, number: str, change: JSON) -> None:
        """Note what has changed of an answer, and tell it, unless the last time was a moment ago."""
        with self._lock:
            known = self._states.get(number, {})
            if not known and "question" not in change:
                return
            self._states[number] = known | change
            while len(self._states) > MOST_KEPT:
                oldest = next(each for each in self._states if each not in self._working)
                self._found.pop(oldest, None)
                del self._states[oldest]
            if "state" in change or time.monotonic() - self._told >= INTERVAL:
                self._told = time.monotonic()
                ended = change.get("state") == "done"
                self._tell(dict(self._states), dict(self._found) if ended else None)
