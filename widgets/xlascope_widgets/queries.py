"""Questions that the panel asks the kernel: each is answered on its own thread, with progress messages."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from xlascope.analysis.diff import Diff
from xlascope.records import Record, ValueReport

from .array_views import ArraySource
from .program_store import ProgramStore
from .static_state import make_static_state
from .wire_compiler import JSON, encode_findings

_log = logging.getLogger(__name__)

#: The maximum number of concurrent questions and of stored answers, and the minimum time between progress messages.
MAX_RUNNING_QUERIES = 4
MAX_STORED_ANSWERS = 24
MIN_PROGRESS_INTERVAL_SECONDS = 0.1

SendStates = Callable[[JSON, JSON | None], None]
"""Gets the state of every answer by id, and when that has changed what was found, by id."""


class Reply:
    """Connection to the panel while one question is answered: it reports progress, and the user can cancel."""

    def __init__(self, queries: PanelQueries, number: str) -> None:
        self._queries = queries
        self._number = number
        self._cancel_event = threading.Event()
        self._stop: Callable[[], object] | None = None

    @property
    def is_cancelled(self) -> bool:
        """Return whether the user has cancelled the question."""
        return self._cancel_event.is_set()

    def on_cancel(self, stop: Callable[[], object]) -> None:
        """Call ``stop()`` when the user cancels, or immediately if that has already happened."""
        self._stop = stop
        if self.is_cancelled:
            stop()

    def progress(self, share: float | None, message: str = "") -> None:
        """Report progress: a share from 0 to 1, or None while it is unknown."""
        self._queries.update(self._number, {"progress": share, "message": message})

    def cancel(self) -> None:
        """Cancel the question on behalf of the user."""
        self._cancel_event.set()
        if self._stop is not None:
            self._stop()


class Answer(Protocol):
    """Protocol of the object that answers a panel's questions.

    ``questions`` are the kinds that it accepts (``why``, ``passes``, …), ``targets`` are the names of targets it
    knows, and ``install_hints`` says how to install the missing compilers of targets. ``arrays`` has the values that
    can be looked into, None where there are none.
    """

    @property
    def arrays(self) -> ArraySource | None: ...

    @property
    def questions(self) -> Sequence[str]: ...
    @property
    def targets(self) -> Sequence[str]: ...
    @property
    def install_hints(self) -> Mapping[str, str]:
        """Return how to install the missing compilers, by target name."""

    def __call__(self, question: JSON, reply: Reply) -> tuple[Iterable[Record] | Diff, str]:
        """Return the records that answer a question, or a comparison, and a text (``""`` if the records suffice).

        ``question`` is what the panel sent, with its kind as ``"question"``; ``reply`` reports progress. Exceptions
        are shown to the user as one message.
        """


class PanelQueries:
    """Questions of one panel and their answers, by the id that the browser gave each question.

    ``send`` receives the states of all answers whenever one changes, and their results when one is done. Only the
    last ``MAX_STORED_ANSWERS`` are stored. Messages that are not questions are ignored. ``receive_record`` receives
    what an answer says of the values of a call, which becomes part of what the panel shows.
    """

    def __init__(
        self, answer: Answer, send: SendStates, receive_record: Callable[[Record], None] = lambda record: None
    ) -> None:
        self._answer = answer
        self._send = send
        self._receive_record = receive_record
        self._lock = threading.RLock()
        self._states: dict[str, JSON] = {}
        self._answers: dict[str, JSON] = {}
        self._running: dict[str, Reply] = {}
        self._last_sent = 0.0

    def receive(self, message: Any) -> None:
        """Handle a message from the browser: ``{"ask": {"id": …, "question": …}}`` or ``{"cancel": id}``."""
        if not isinstance(message, dict):
            return
        match message.get("ask"), message.get("cancel"):
            case {"id": str(number), "question": str()}, _ if len(number) <= 64:
                self._start(number, message["ask"])
            case _, str(number):
                reply = self._running.get(number)
                if reply is not None:
                    threading.Thread(target=reply.cancel, name="xlascope-cancel", daemon=True).start()

    def _start(self, number: str, question: JSON) -> None:
        """Start answering a question on a new thread.

        ``number`` is the id of the question. A question whose id is known is ignored; one too many fails at once.
        """
        with self._lock:
            if number in self._states:
                return
            if len(self._running) >= MAX_RUNNING_QUERIES:
                message = f"{MAX_RUNNING_QUERIES} questions are being answered already; ask again when one is done"
                self.update(number, {"question": question, "state": "failed", "message": message})
                return
            reply = self._running[number] = Reply(self, number)
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
        """Answer the question with the id ``number``, and store the result or the error.

        Runs on the question's thread; ``reply`` reports progress and whether the question was cancelled.
        """
        result: JSON | None = None
        try:
            content, text = self._answer(question, reply)
            if isinstance(content, Diff):
                state = make_static_state(ProgramStore.of(content))
                result = {"compared": {"programs": state["programs"], "live": state["live"]}}
            else:
                content = tuple(content)
                result = encode_findings(content)
                for report in (record for record in content if isinstance(record, ValueReport)):
                    self._receive_record(report)
            result |= ({"text": text} if text else {}) | {"program": question.get("program")}
            final_state = {"state": "done", "message": ""}
        except Exception as error:
            final_state = {"state": "failed", "message": str(error) or type(error).__name__}
        if reply.is_cancelled:
            final_state = {"state": "cancelled", "message": ""}
        with self._lock:
            self._running.pop(number, None)
            if result is not None and not reply.is_cancelled:
                self._answers[number] = result
            self.update(number, final_state)

    def update(self, number: str, change: JSON) -> None:
        """Change entries in the state of an answer; send the states unless progress was sent a moment ago.

        ``number`` is the id of the question. An unknown one is ignored unless ``change`` has the question.
        """
        with self._lock:
            state = self._states.get(number, {})
            if not state and "question" not in change:
                return
            self._states[number] = state | change
            while len(self._states) > MAX_STORED_ANSWERS:
                oldest = next(candidate for candidate in self._states if candidate not in self._running)
                self._answers.pop(oldest, None)
                del self._states[oldest]
            if "state" in change or time.monotonic() - self._last_sent >= MIN_PROGRESS_INTERVAL_SECONDS:
                self._last_sent = time.monotonic()
                is_done = change.get("state") == "done"
                self._send(dict(self._states), dict(self._answers) if is_done else None)
