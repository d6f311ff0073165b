"""Questions that the panel asks the kernel: each is answered on its own thread, with progress messages."""

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

#: The maximum number of concurrent questions and of stored answers, and the minimum time between progress messages.
MOST_WORKING = 4
MOST_KEPT = 24
INTERVAL = 0.1

Tell = Callable[[JSON, JSON | None], None]
"""Gets the state of every answer by id, and when that has changed what was found, by id."""


class Reply:
    """The channel of an answer: progress messages, and the user's cancellation."""

    def __init__(self, queries: Asks, number: str) -> None:
        self._asks = queries
        self._number = number
        self._cancelled = threading.Event()
        self._stop: Callable[[], object] | None = None

    @property
    def cancelled(self) -> bool:
        """Return whether the user has cancelled the question."""
        return self._cancelled.is_set()

    def on_cancel(self, stop: Callable[[], object]) -> None:
        """Call ``stop()`` when the user cancels, or immediately if that has already happened."""
        self._stop = stop
        if self.cancelled:
            stop()

    def progress(self, share: float | None, message: str = "") -> None:
        """Report progress: a share from 0 to 1, or None while it is unknown."""
        self._asks.update(self._number, {"progress": share, "message": message})

    def cancel(self) -> None:
        """Cancel the question on behalf of the user."""
        self._cancelled.set()
        if self._stop is not None:
            self._stop()


class Answer(Protocol):
    """The interface that answers questions.

    ``questions`` are those it accepts (``why``, ``passes``, …), ``targets`` are the names of targets it
    knows, and ``install_hints`` says how to install the missing compilers of targets.
    """

    @property
    def questions(self) -> Sequence[str]: ...
    @property
    def targets(self) -> Sequence[str]: ...
    @property
    def missing(self) -> Mapping[str, str]:
        """Return how to install the missing compilers, by target name."""

    def __call__(self, question: JSON, reply: Reply) -> tuple[Iterable[Record] | Diff, str]:
        """Return the records that answer, or a comparison, and a text (``""`` if the records suffice).

        Exceptions are shown to the user as one message.
        """


class Asks:
    """The questions of one panel. Messages that are not questions are ignored."""

    def __init__(self, answer: Answer, send: Tell) -> None:
        self._answer = answer
        self._tell = send
        self._lock = threading.RLock()
        self._states: dict[str, JSON] = {}
        self._found: dict[str, JSON] = {}
        self._working: dict[str, Reply] = {}
        self._told = 0.0

    def receive(self, message: Any) -> None:
        """Handle a message from the browser: ``{"ask": {"id": …, "question": …}}`` or ``{"cancel": id}``."""
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
            initial_state = {
                "question": question,
                "state": "working",
                "progress": None,
                "message": "",
                "since": time.time(),
            }
            self.update(number, initial_state)
        threading.Thread(target=self._run, args=(number, question, reply), name="xlascope-ask", daemon=True).start()

    def _run(self, number: str, question: JSON, reply: Reply) -> None:
        result: JSON | None = None
        try:
            content, text = self._answer(question, reply)
            if isinstance(content, Diff):
                state = state_of(Ledger.of(content))
                result = {"compared": {"programs": state["programs"], "live": state["live"]}}
            else:
                result = findings(content)
            result |= ({"text": text} if text else {}) | {"program": question.get("program")}
            final_state = {"state": "done", "message": ""}
        except Exception as error:
            final_state = {"state": "failed", "message": str(error) or type(error).__name__}
        if reply.cancelled:
            final_state = {"state": "cancelled", "message": ""}
        with self._lock:
            self._working.pop(number, None)
            if result is not None and not reply.cancelled:
                self._found[number] = result
            self.update(number, final_state)

    def update(self, number: str, change: JSON) -> None:
        """Update the state of an answer, and send it unless a message was sent a moment ago."""
        with self._lock:
            state = self._states.get(number, {})
            if not state and "question" not in change:
                return
            self._states[number] = state | change
            while len(self._states) > MOST_KEPT:
                oldest = next(candidate for candidate in self._states if candidate not in self._working)
                self._found.pop(oldest, None)
                del self._states[oldest]
            if "state" in change or time.monotonic() - self._told >= INTERVAL:
                self._told = time.monotonic()
                is_done = change.get("state") == "done"
                self._tell(dict(self._states), dict(self._found) if is_done else None)
