"""HTML for untrusted notebooks: an image and a table, without scripts, styles and inline SVG."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from html import escape

from xlascope.records.plain import plain

from .doctor import doctor_html
from .ledger import Ledger
from .picture import draw, draw_diff
from .text import kept, ledger_text

#: The maximum size of a picture; larger ones are drawn with less detail, so that a notebook grows by less than 200 kB.
MOST_CHARACTERS = 115_000


def fallback(store: Ledger) -> str:
    """Return the picture of the main program, and the whole text in a collapsed section."""
    summary = escape(kept(ledger_text(store, most=5)))
    head = escape(plain(ledger_text(store, jaxpr=False, most=1).splitlines()[0]))
    pictures = f"<p>{head}</p>{doctor_html(store)}{image(store, head)}"
    return f"{pictures}<details><summary>as text</summary><pre>{summary}</pre></details>"


def image(store: Ledger, alternative: str) -> str:
    """Return the picture of the main program as an ``img`` element; ``alternative`` must be escaped already."""
    if store.main is None or store.main.traced is None:
        return ""
    svg = next(candidate for candidate in _pictures(store) if len(candidate) <= MOST_CHARACTERS)
    return f'<img alt="{alternative}" src="data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}">'


def _pictures(store: Ledger) -> Iterator[str]:
    """Yield the picture, then versions with less and less detail; the last one always fits."""
    if store.diff is not None:
        yield draw_diff(store)
    assert store.main is not None
    for grouping in ("auto", "scope", "function", "line"):
        yield draw(store.main, lean=True, grouping=grouping)
    for most in (200, 100, 0):
        yield draw(store.main, lean=True, grouping="function", most=most)
    yield "<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>"
