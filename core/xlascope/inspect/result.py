"""What an inspection returns: records that print as text, turn into JSON, and are written to files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .. import records
from ..analysis.costs.call_times import account_json, call_times, places_of
from ..analysis.costs.waiting import waits_json
from ..records.plain import plain_lines
from ..records.store import VERSION
from .writing import chart, write

R = TypeVar("R", records.Executed, records.Compiled, records.Traced)
MimeBundle = tuple[dict[str, Any], dict[str, Any]]


class Inspection:
    """The answer to a question about a call: ``records``, and the text that tells them.

    ``question`` is the function that was asked (``explore``, ``fusions``, ``timings``, ``jaxpr``). In a notebook it
    shows itself through the registered renderer; everywhere else as text.

    >>> from xlascope.records import Started
    >>> answer = Inspection("explore", [Started(1, "f", "trace", 0.5)], "{ lambda ; . let in () }")
    >>> print(answer)
    { lambda ; . let in () }
    >>> answer.to_json()["records"][0]["function"]
    'f'
    """

    def __init__(self, question: str, found: Sequence[records.Record], text: str) -> None:
        self.question = question
        self.records: tuple[records.Record, ...] = tuple(found)
        self.text = plain_lines(text, len(text))

    def to_json(self) -> dict[str, Any]:
        """The records as a dict that JSON can hold, with their version; what :meth:`save` writes.

        Of a program that was measured ``account`` says where the time of a call went, as the text does, and its
        ``waits`` how much of the collectives was waiting for other devices.
        """
        found: dict[str, Any] = {"xlascope_records": VERSION}
        found["records"] = [records.to_json(each) for each in self.records]
        run = self._first(records.Executed)
        if run is not None:
            traced = self._first(records.Traced)
            places = places_of(traced) if traced is not None else None
            compiled = self._first(records.Compiled)
            found["account"] = account_json(call_times(run, compiled, places))
            if compiled is not None and (waits := waits_json(compiled, run)):
                found["account"]["waits"] = waits
        return found

    def _first(self, kind: type[R]) -> R | None:
        return next((each for each in self.records if isinstance(each, kind)), None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, in the form that the file's suffix names.

        ``.json`` holds the records, for :func:`xlascope.records.load` and ``%scope open``; ``.txt`` the text; ``.html``
        the panel, for any browser, without network; ``.svg`` and ``.png`` the picture; ``.dot`` the graph for
        Graphviz, and ``.pdf`` what its program ``dot`` makes of it. Raises ValueError, which lists them, for any other
        suffix, and OSError when the file cannot be written.
        """
        write(self, path)

    def chart(self, kind: str) -> Any:
        """A standing chart, as a matplotlib ``Figure``.

        ``kind`` is ``timeline`` (one step, a lane per device), ``lines`` (time per source line), ``roofline`` (each
        kernel under what the device can do), all for :func:`timings`; or ``memory`` (what is needed while each kernel
        runs), for :func:`fusions` too. Raises ValueError for another kind, and when nothing was measured.
        """
        return chart(self, kind)

    @property
    def drawn(self) -> Any:
        """What pictures of this are made from: its records."""
        return self.records

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> MimeBundle | None:
        """The picture of a notebook's renderer; None, which leaves the text, where there is none."""
        return _renderer(self) if _renderer is not None else None


Renderer = Callable[[Inspection], MimeBundle | None]
_renderer: Renderer | None = None


def register_renderer(renderer: Renderer | None) -> Renderer | None:
    """Let ``renderer(inspection)`` give the MIME bundle of every inspection; returns the renderer before it.

    A renderer returns (data, metadata), or None to leave an inspection as text. Registering None ends rendering.
    """
    global _renderer
    previous, _renderer = _renderer, renderer
    return previous
