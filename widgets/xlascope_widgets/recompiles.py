"""The recompile card as HTML for untrusted notebooks: tables without scripts and styles."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from xlascope.analysis.retraces import Miss, Retrace, Retraced, duration, heading
from xlascope.records.plain import plain

#: The maximum number of retraces shown per function; the text has all of them.
MOST_ROWS = 10

#: Notebooks right-align the cells of tables by default.
_LEFT = 'style="text-align: left"'


def recompiles_html(functions: Iterable[Retraced]) -> str:
    """Return a table for each function that was traced again, newest first.

    >>> recompiles_html([])
    '<p>nothing was traced again</p>'
    """
    return "".join(_card(retraced) for retraced in functions) or "<p>nothing was traced again</p>"


def _card(retraced: Retraced) -> str:
    rows = [_row(item) for item in retraced.newest_first[:MOST_ROWS]]
    rows += [_miss(item) for item in retraced.misses.values()]
    hidden = retraced.count - MOST_ROWS
    more = f"<p>{hidden:,} earlier: <code>%recompiles --text</code></p>" if hidden > 0 else ""
    head = "".join(
        f"<th {_LEFT}>{name}</th>" for name in ("", "called at", "what differed", "what to do", "lost (measured)")
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f"<p><b>{_told(heading(retraced))}</b></p>{table}{more}"


def _row(retrace: Retrace) -> str:
    stages = (("trace", retrace.trace), ("lower", retrace.lower), ("compile", retrace.compile))
    parts = " + ".join(f"{name} {duration(seconds)}" for name, seconds in stages if seconds)
    inside = f", inside of the trace of {retrace.inside}" if retrace.inside else ""
    cells = (f"trace {retrace.number}", retrace.where, retrace.reason, retrace.fix)
    return _cells(*cells, f"{duration(retrace.seconds)}: {parts}{inside}")


def _miss(miss: Miss) -> str:
    return _cells(f"{miss.count:,} slow call{'' if miss.count == 1 else 's'}", miss.where, miss.reason, miss.fix, "")


def _cells(*texts: str) -> str:
    return f"<tr>{''.join(f'<td {_LEFT}>{_told(text)}</td>' for text in texts)}</tr>"


def _told(text: str) -> str:
    return escape(plain(text, 400))
