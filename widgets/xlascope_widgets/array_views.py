"""Questions of the view of arrays: its code, and what it shows, as JSON and binary buffers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Protocol

from .assets import array_module
from .sanitize import sanitize

_log = logging.getLogger(__name__)

JSON = dict[str, Any]

#: The question that a panel lists when its kernel shows arrays.
LOOK_QUESTION = "look"
#: The maximum number of characters of a request's id, and of requests that wait.
MAX_ID_CHARS, MAX_WAITING_COUNT = 64, 16

SendAnswer = Callable[[JSON, list[bytes]], object]
"""Sends a message to the browser with its buffers."""


class ArraySource(Protocol):
    """Protocol of the object that has the arrays; its errors are shown to the user as one message."""

    def open(self, question: JSON) -> JSON:
        """Return the description of an array, with its ``handle``; ``question`` has that, or says which value it is."""

    def measure(self, handle: str) -> JSON:
        """Return the statistics of an array."""

    def read(self, handle: str, question: JSON) -> tuple[JSON, list[bytes]]:
        """Return a slice of an array, as JSON and buffers."""


class ArrayViews:
    """Answers to the questions of views of arrays, each on its own thread, one at a time.

    ``send`` gets ``{"looked": id, …}`` and buffers, or ``{"looked": id, "error": …}``. Messages that are no such
    questions are ignored, as are more than 16 that wait.
    """

    def __init__(self, source: ArraySource | None, send: SendAnswer) -> None:
        self._source = source
        self._send = send
        self._lock = threading.Lock()
        self._waiting = threading.BoundedSemaphore(MAX_WAITING_COUNT)

    def receive(self, message: Any) -> None:
        """Handle a message from the browser: ``{"look": "code"|"open"|"measure"|"read", "id": …, …}``."""
        match message:
            case {"look": str(kind), "id": str(number)} if len(number) <= MAX_ID_CHARS:
                if self._waiting.acquire(blocking=False):
                    arguments = number, kind, message
                    threading.Thread(target=self._run, args=arguments, name="xlascope-look", daemon=True).start()

    def _run(self, number: str, kind: str, question: JSON) -> None:
        """Answer a question, and send the answer or the error; ``number`` is the id of the request."""
        buffers: list[bytes] = []
        with self._lock:
            try:
                answer, buffers = self._answer(kind, question)
            except Exception as error:
                _log.debug("a question about an array was not answered", exc_info=True)
                answer = {"error": str(error) or type(error).__name__}
            finally:
                self._waiting.release()
            self._send({"looked": number, **sanitize(answer)}, buffers)

    def _answer(self, kind: str, question: JSON) -> tuple[JSON, list[bytes]]:
        if kind == "code":
            return {}, [text.encode() for text in array_module()]
        if self._source is None:
            raise LookupError("this panel shows no arrays: its programs are not of this kernel")
        if kind == "open":
            return self._source.open(question), []
        handle = str(question.get("handle"))
        if kind == "measure":
            return self._source.measure(handle), []
        if kind == "read":
            return self._source.read(handle, question)
        raise ValueError(f"no question {kind!r} about arrays; there are code, open, measure and read")
