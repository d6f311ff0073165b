"""What an inspection returns: records that print as text and turn into JSON."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from .. import records
from ..records.store import VERSION

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
        self.text = text

    def to_json(self) -> dict[str, Any]:
        """The records as a dict that JSON can hold, with their version; what :meth:`save` writes."""
        return {"xlascope_records": VERSION, "records": [records.to_json(each) for each in self.records]}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the records to a file, for :func:`xlascope.records.load`."""
        records.save(self.records, path)

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
