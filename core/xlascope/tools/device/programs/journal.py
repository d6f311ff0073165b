"""The journal of a process: one line of JSON when an item begins and one when it has ended.

Each line is written immediately, so a process that crashes loses only the item that was running.
"""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

WORKS, FAILS, SKIPPED, NOT_REACHED = "works", "fails", "skipped", "not reached"
#: The maximum number of characters of an error's message and traceback.
MAX_TEXT_CHARS = 2000


class Skipped(Exception):  # noqa: N818  it is no error
    """Exception of a check that does not apply; its message says why."""


class Item(NamedTuple):
    """One check of the device, with a name that is unique in its part of the report.

    ``run`` returns text, a dict of facts (which may include ``"words"`` and ``"result"``), or None; it raises if the
    check fails.
    """

    name: str
    run: Callable[[], str | Mapping[str, Any] | None]


class Journal:
    """Writer of the outcomes of checks to a file, one line of JSON when a check begins and one when it has ended.

    Checks named in ``skip``, which an earlier process has begun, are left out; ``seconds`` limits all checks
    together.
    """

    def __init__(self, path: str, seconds: float, skip: Collection[str] = ()) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._deadline = time.monotonic() + seconds
        self._skip = frozenset(skip)

    def seconds_left(self) -> float:
        """Return the seconds that are left for all checks."""
        return self._deadline - time.monotonic()

    def run(self, items: Iterable[Item]) -> None:
        """Run all checks that are not skipped; those for which no time is left are noted as not reached."""
        for item in items:
            if item.name not in self._skip:
                self._run_item(item)

    def _run_item(self, item: Item) -> None:
        if self.seconds_left() <= 0:
            self.write({"name": item.name, "result": NOT_REACHED, "words": "the time was over"})
            return
        self.write({"name": item.name, "result": "begun"})
        began = time.monotonic()
        outcome = attempt(item)
        self.write({"name": item.name, **outcome, "seconds": round(time.monotonic() - began, 3)})

    def write(self, line: Mapping[str, Any]) -> None:
        """Append one line of JSON at once, so that a crash of the process cannot lose it."""
        os.write(self._descriptor, json.dumps(line, default=str).encode() + b"\n")


def attempt(item: Item) -> dict[str, Any]:
    """Run a check and return its outcome: ``result`` (works, fails, skipped), ``words`` and its facts."""
    try:
        result = item.run()
    except Skipped as reason:
        return {"result": SKIPPED, "words": str(reason)}
    except Exception as error:
        text = str(error).strip() or "no message"
        trace = "".join(traceback.format_exception(error))[-MAX_TEXT_CHARS:]
        return {"result": FAILS, "words": f"{type(error).__name__}: {text}"[:MAX_TEXT_CHARS], "traceback": trace}
    facts = {"words": result} if isinstance(result, str) else dict(result or {})
    return {"result": WORKS, "words": "", **facts}
