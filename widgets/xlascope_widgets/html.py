"""HTML that survives where nothing is trusted: an image and a table, no scripts, no styles, no inline SVG."""

from __future__ import annotations

from base64 import b64encode
from html import escape

from .ledger import Ledger
from .picture import draw
from .text import ledger_text

#: In a picture above this many characters the graph is left out: a notebook grows by less than 200 kB.
MOST_CHARACTERS = 140_000


def fallback(ledger: Ledger) -> str:
    """The picture of the program with most to see, and everything as text in a fold."""
    summary = escape(ledger_text(ledger, most=5))
    head = escape(ledger_text(ledger, jaxpr=False, most=1).splitlines()[0])
    return f"<p>{head}</p>{_image(ledger, head)}<details><summary>as text</summary><pre>{summary}</pre></details>"


def _image(ledger: Ledger, alternative: str) -> str:
    if ledger.main is None or ledger.main.traced is None:
        return ""
    svg = draw(ledger.main, lean=True)
    if len(svg) > MOST_CHARACTERS:
        svg = draw(ledger.main, lean=True, most=0)
    data = b64encode(svg.encode()).decode()
    return f'<img alt="{alternative}" src="data:image/svg+xml;base64,{data}">'
