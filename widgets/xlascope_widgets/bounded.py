"""Untrusted texts on their way to a browser: shortened, and without characters that act on a reader or a terminal.

What crosses is text that no view interprets. But a name of ten megabytes stops a page, and a mark that turns the
direction of writing around shows what is not there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from xlascope.records.plain import plain, plain_lines

#: Characters of one line, and of a text of several lines.
MOST_LINE, MOST_TEXT = 1_000, 1_000_000

#: In JSON: an escape of a character that may act. It begins with one letter, so that the search is fast.
_SUSPECT = re.compile(r"\\(?:u00[0189]|[bfr]|u20[0-26]|u[dD][89a-fA-F]|uf[ef])")


def checked(value: dict[str, Any]) -> dict[str, Any]:
    """A large JSON value, looked through quickly, and made harmless where it has to be."""
    text = json.dumps(value)
    return bounded(value) if _SUSPECT.search(text) or "\x7f" in text or _has_long_line(text) else value


def _has_long_line(text: str) -> bool:
    """Whether JSON has a long run without a quotation mark and without a line end."""
    parts = text.replace('\\"', "''").split('"')
    return any(len(line) >= MOST_LINE for part in parts if len(part) >= MOST_LINE for line in part.split("\\n"))


def bounded(value: Any) -> Any:
    r"""JSON with every text in it made harmless; one and the same text stays one and the same.

    >>> bounded({"name": "a\u202eb", "of": ["x" * 2000]})["name"]
    'a�b'
    """
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return {_text(key): bounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [bounded(each) for each in value]
    return value


def sound(names: Iterable[str]) -> bool:
    """Whether these names would pass as they are."""
    return all(len(name) < MOST_LINE and name.isprintable() for name in names)


def _text(text: str) -> str:
    if len(text) < MOST_LINE and text.isprintable():
        return text
    if "\n" not in text:
        return plain(text, MOST_LINE)
    return "\n".join(plain(line, MOST_LINE, keep="\t") for line in plain_lines(text, MOST_TEXT).split("\n"))
