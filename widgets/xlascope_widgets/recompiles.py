"""The recompile card as HTML for untrusted notebooks: tables without scripts and styles."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from xlascope.analysis.retraces import Miss, Retrace, RetracedFunction, format_duration, format_heading
from xlascope.records.plain import plain

#: The maximum number of retraces shown per function; the text has all of them.
MAX_ROWS = 10

#: Notebooks right-align the cells of tables by default.
_ALIGN_LEFT = 'style="text-align: left"'


def recompiles_html(functions: Iterable[RetracedFunction]) -> str:
    """Return a table for each function that was traced again, with its newest retraces first.

    >>> recompiles_html([])
    '<p>nothing was traced again</p>'
    """
    return "".join(_card_html(retraced) for retraced in functions) or "<p>nothing was traced again</p>"


def _card_html(retraced: RetracedFunction) -> str:
    rows = [_retrace_row(item) for item in retraced.newest_first[:MAX_ROWS]]
    rows += [_miss_row(item) for item in retraced.misses.values()]
    hidden = retraced.count - MAX_ROWS
    more = f"<p>{hidden:,} earlier: <code>%recompiles --text</code></p>" if hidden > 0 else ""
    head = "".join(
        f"<th {_ALIGN_LEFT}>{name}</th>" for name in ("", "called at", "what differed", "what to do", "lost (measured)")
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f"<p><b>{_escape_text(format_heading(retraced))}</b></p>{table}{more}"


def _retrace_row(retrace: Retrace) -> str:
    stages = (("trace", retrace.trace), ("lower", retrace.lower), ("compile", retrace.compile))
    parts = " + ".join(f"{name} {format_duration(seconds)}" for name, seconds in stages if seconds)
    inside = f", inside of the trace of {retrace.inside}" if retrace.inside else ""
    cells = (f"trace {retrace.number}", retrace.where, retrace.reason, retrace.fix)
    return _table_row(*cells, f"{format_duration(retrace.seconds)}: {parts}{inside}")


def _miss_row(miss: Miss) -> str:
    return _table_row(
        f"{miss.count:,} slow call{'' if miss.count == 1 else 's'}", miss.where, miss.reason, miss.fix, ""
    )


def _table_row(*texts: str) -> str:
    return f"<tr>{''.join(f'<td {_ALIGN_LEFT}>{_escape_text(text)}</td>' for text in texts)}</tr>"


def _escape_text(text: str) -> str:
    return escape(plain(text, 400))
