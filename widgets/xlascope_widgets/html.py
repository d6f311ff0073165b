"""HTML for untrusted notebooks: an image and a table, without scripts, styles and inline SVG."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from html import escape

from xlascope.records.plain import plain

from .doctor import doctor_html
from .picture import draw, draw_diff
from .program_store import ProgramStore
from .text import value_texts

#: The maximum size of a picture; larger ones are drawn with less detail, so that a notebook grows by less than 200 kB.
MAX_SVG_CHARS = 115_000


def fallback_html(store: ProgramStore, text: str, *, drawn: bool = True) -> str:
    """Return HTML with the main program's findings and picture and the ``text`` of the largest ones.

    The first line of ``text`` is about the main program. Without ``drawn`` there is no picture.
    """
    summary = escape(text)
    head = escape(plain(text.partition("\n")[0]))
    image = image_element(store, head) if drawn else ""
    pictures = f"<p>{head}</p>{doctor_html(store)}{_values_html(store)}{image}"
    return f"{pictures}<details><summary>as text</summary><pre>{summary}</pre></details>"


def _values_html(store: ProgramStore) -> str:
    """Return what was found about the values of the main program; ``""`` if nobody asked about them."""
    texts = [] if store.main is None else value_texts(store.main, table=False)
    return "".join(f"<pre>{escape(text)}</pre>" for text in texts)


def image_element(store: ProgramStore, alternative: str) -> str:
    """Return the picture of the main program as an ``img`` element; ``""`` if there is no traced program.

    ``alternative`` is the text for screen readers, as escaped HTML.
    """
    if store.main is None or store.main.traced is None:
        return ""
    svg = next(candidate for candidate in _iter_pictures(store) if len(candidate) <= MAX_SVG_CHARS)
    return f'<img alt="{alternative}" src="data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}">'


def _iter_pictures(store: ProgramStore) -> Iterator[str]:
    """Yield a store's picture as SVG, then versions with less and less detail; the last one always fits."""
    if store.diff is not None:
        yield draw_diff(store)
    assert store.main is not None
    for grouping in ("auto", "scope", "function", "line"):
        yield draw(store.main, lean=True, grouping=grouping)
    for most in (200, 100, 0):
        yield draw(store.main, lean=True, grouping="function", most=most)
    yield "<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>"
