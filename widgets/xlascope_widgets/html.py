"""HTML that survives where nothing is trusted: an image and a table, no scripts, no styles, no inline SVG."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from html import escape

from xlascope.records.plain import plain

from .doctor import doctor_html
from .ledger import Ledger
from .picture import draw, draw_diff
from .text import kept, ledger_text

#: A picture of more characters is drawn again with less in it: a notebook grows by less than 200 kB.
MOST_CHARACTERS = 115_000


def fallback(ledger: Ledger) -> str:
    """The picture of the program with most to see, and everything as text in a fold."""
    summary = escape(kept(ledger_text(ledger, most=5)))
    head = escape(plain(ledger_text(ledger, jaxpr=False, most=1).splitlines()[0]))
    pictures = f"<p>{head}</p>{doctor_html(ledger)}{image(ledger, head)}"
    return f"{pictures}<details><summary>as text</summary><pre>{summary}</pre></details>"


def image(ledger: Ledger, alternative: str) -> str:
    """The picture of the program with most to see, as an element; ``alternative`` is HTML already."""
    if ledger.main is None or ledger.main.traced is None:
        return ""
    svg = next(each for each in _pictures(ledger) if len(each) <= MOST_CHARACTERS)
    return f'<img alt="{alternative}" src="data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}">'


def _pictures(ledger: Ledger) -> Iterator[str]:
    """The picture, and then the same with less and less in it; the last one always fits."""
    if ledger.diff is not None:
        yield draw_diff(ledger)
    assert ledger.main is not None
    for grouping in ("auto", "scope", "function", "line"):
        yield draw(ledger.main, lean=True, grouping=grouping)
    for most in (200, 100, 0):
        yield draw(ledger.main, lean=True, grouping="function", most=most)
    yield "<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>"
