"""Requests to engines: code that all of them run, with what each sends meanwhile, and calls of ``engine_calls``."""

from __future__ import annotations

import json
import queue
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import ipyparallel
from ipyparallel.client.asyncresult import AsyncResult

from .messages import ANSWER_TYPE, JSON, METADATA_KEY, RECORDS_TYPE, make_call

#: What the last message of an engine may take after its reply: they travel on different channels.
MAX_LATE_SECONDS = 10.0
_POLL_SECONDS = 0.1


class EngineMessage(NamedTuple):
    """What an engine sends during a request: the content of a message of type ``kind``, and its buffer.

    ``kind`` is ``"reply"`` when the request has ended there, without content.
    """

    engine: int
    kind: str
    content: JSON
    data: bytes


class EngineRequest:
    """Code that engines run: ``result`` is ipyparallel's, ``messages`` has what they send, from any thread.

    ``metadata`` is xlascope's part of the request; None for a request that is not watched. With ``silent``, nothing
    is displayed and no cell is counted.
    """

    def __init__(
        self,
        client: ipyparallel.Client,
        engines: Sequence[int],
        code: str,
        metadata: JSON | None = None,
        *,
        silent: bool = False,
    ) -> None:
        self.engines = tuple(engines)
        self.messages: queue.SimpleQueue[EngineMessage] = queue.SimpleQueue()
        view = client.direct_view(list(engines))
        identities, _ = client._build_targets(list(engines))
        tagged = {} if metadata is None else {METADATA_KEY: metadata}
        self.futures = [
            client.send_execute_request(
                view._socket,
                code,
                silent=silent,
                ident=identity,
                metadata=dict(tagged),
                message_future_hook=partial(self._subscribe, engine),  # before it is sent, so that nothing is missed
            )
            for engine, identity in zip(engines, identities, strict=True)
        ]
        self.result = AsyncResult(client, self.futures, fname="%px", targets=list(engines), owner=True)
        for engine, future in zip(engines, self.futures, strict=True):
            future.add_done_callback(partial(self._note_reply, engine))

    def _subscribe(self, engine: int, future: Any) -> None:
        future.iopub_callbacks.append(partial(self._receive, engine))

    def _receive(self, engine: int, message: Mapping[str, Any]) -> None:
        """Queue a message of ours; called on the client's thread."""
        kind = message["header"]["msg_type"]
        if kind in (RECORDS_TYPE, ANSWER_TYPE):
            data = b"".join(bytes(buffer) for buffer in message["buffers"])
            self.messages.put(EngineMessage(engine, kind, dict(message["content"]), data))

    def _note_reply(self, engine: int, future: Any) -> None:
        self.messages.put(EngineMessage(engine, "reply", {}, b""))

    @property
    def running_engines(self) -> list[int]:
        """Return the engines that have not replied."""
        return [engine for engine, future in zip(self.engines, self.futures, strict=True) if not future.done()]

    def error_of(self, engine: int) -> Exception | None:
        """Return the error that ended the request on an engine; None while it runs, and where there was none."""
        future = self.futures[self.engines.index(engine)]
        result = future.result() if future.done() else None
        return result if isinstance(result, Exception) else None

    def next_message(self, seconds: float) -> EngineMessage | None:
        """Return the next message, None if there is none within that many seconds."""
        try:
            return self.messages.get(timeout=seconds)
        except queue.Empty:
            return None


def call_engines(
    client: ipyparallel.Client, arguments: Mapping[int, JSON], name: str, seconds: float
) -> tuple[dict[int, JSON], dict[int, Exception]]:
    """Call a function of ``engine_calls`` on engines; return what it gives, and the errors, by engine.

    ``arguments`` are those of each engine. An engine that does not answer within that many seconds has a TimeoutError.
    When one has failed, the others get no more than two further seconds.
    """
    requests = {
        engine: EngineRequest(client, [engine], make_call(name, values), silent=True)
        for engine, values in arguments.items()
    }
    early: dict[int, JSON] = {}
    answers: dict[int, JSON] = {}
    errors: dict[int, Exception] = {}
    deadline = time.monotonic() + seconds
    while len(answers) + len(errors) < len(requests):
        if time.monotonic() > deadline:
            late = TimeoutError(f"no answer within {seconds:g} s")
            return answers, errors | {engine: late for engine in requests if engine not in answers | errors}
        for engine, request in requests.items():
            if engine in answers or engine in errors:
                continue
            message = request.next_message(_POLL_SECONDS / len(requests))
            if message is not None and message.kind == ANSWER_TYPE:
                early[engine] = json.loads(message.data)
            if engine in early and not request.running_engines:
                answers[engine] = early[engine]
            elif (error := request.error_of(engine)) is not None:
                errors[engine] = error
                deadline = min(deadline, time.monotonic() + 2.0)
    return answers, errors
