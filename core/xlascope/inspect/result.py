"""Result of an inspection: records that print as text, convert to JSON, and are written to files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .. import records
from ..analysis.costs.call_times import account_json, break_down_call
from ..analysis.costs.waiting import waits_json
from ..records.plain import plain_lines
from ..records.store import VERSION
from .files import chart, write

R = TypeVar("R", records.Executed, records.Compiled, records.Traced)
MimeBundle = tuple[dict[str, Any], dict[str, Any]]


class Inspection:
    """Answer to a question about a call: ``records``, and a text about them.

    ``question`` is the name of the function (``explore``, ``fusions``, ``timings``, ``jaxpr``). In a notebook it
    is shown by the registered renderer, elsewhere as text.

    >>> from xlascope.records import Started
    >>> answer = Inspection("explore", [Started(1, "f", "trace", 0.5)], "{ lambda ; . let in () }")
    >>> print(answer)
    { lambda ; . let in () }
    >>> answer.to_json()["records"][0]["function"]
    'f'
    """

    def __init__(self, question: str, result_records: Sequence[records.Record], text: str) -> None:
        self.question = question
        self.records: tuple[records.Record, ...] = tuple(result_records)
        self.text = plain_lines(text, len(text))

    def to_json(self) -> dict[str, Any]:
        """Return the records and their version as a JSON-compatible dict, as written by :meth:`save`.

        For a measured program, ``account`` holds the breakdown of the time of a call, as in the text, and its
        ``waits`` how much of the collectives was waiting for other devices.
        """
        result: dict[str, Any] = {"xlascope_records": VERSION}
        result["records"] = [records.to_json(record) for record in self.records]
        run = self._first(records.Executed)
        if run is not None:
            compiled = self._first(records.Compiled)
            result["account"] = account_json(break_down_call(run, compiled, self._first(records.Traced)))
            if compiled is not None and (waits := waits_json(compiled, run)):
                result["account"]["waits"] = waits
        return result

    def _first(self, kind: type[R]) -> R | None:
        return next((record for record in self.records if isinstance(record, kind)), None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, in the format of the file's suffix.

        ``.json`` holds the records, for :func:`xlascope.records.load` and ``%scope open``; ``.txt`` the text;
        ``.html`` the panel, for any browser, without network; ``.svg`` and ``.png`` the picture; ``.dot`` the graph
        for Graphviz, and ``.pdf`` the output of its program ``dot``. Raises ValueError, which lists the suffixes, for
        any other suffix, and OSError when the file cannot be written.
        """
        write(self, path)

    def chart(self, kind: str) -> Any:
        """Return a static chart as a matplotlib ``Figure``.

        ``kind`` is ``timeline`` (one step, a lane per device), ``lines`` (time per source line), ``roofline`` (each
        kernel and the peaks of the device), all for :func:`timings`; or ``memory`` (live bytes at each kernel), also
        for :func:`fusions`. Raises ValueError for another kind, and when nothing was measured.
        """
        return chart(self, kind)

    @property
    def render_source(self) -> Any:
        """Return the data that renderers draw: the records."""
        return self.records

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> MimeBundle:
        """Return the output of the notebook's renderer, or the text without one."""
        bundle = _renderer(self) if _renderer is not None else None
        # Not None, as IPython permits: marimo shows nothing then.
        return bundle if bundle is not None else ({"text/plain": self.text}, {})


Renderer = Callable[[Inspection], MimeBundle | None]
_renderer: Renderer | None = None


def register_renderer(renderer: Renderer | None) -> Renderer | None:
    """Register the function that returns the MIME bundle of an inspection; return the previous one.

    A renderer returns (data, metadata), or None to leave an inspection as text. Registering None ends rendering.
    """
    global _renderer
    previous, _renderer = _renderer, renderer
    return previous
