"""Sanitization of untrusted text sent to a browser: it is shortened, and control characters are replaced.

No view interprets this text. But a name of ten megabytes freezes a page, and characters that reverse the
writing direction show text that is not there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from xlascope.records.plain import plain, plain_lines

#: The maximum length of one line, and of a text of several lines.
MOST_LINE, MOST_TEXT = 1_000, 1_000_000

#: A JSON escape of a control or formatting character. It begins with a fixed letter, so that the search is fast.
_SUSPECT = re.compile(r"\\(?:u00[0189]|[bfr]|u20[0-26]|u[dD][89a-fA-F]|uf[ef])")


def checked(value: dict[str, Any]) -> dict[str, Any]:
    """Return a large JSON value, sanitized only if a quick scan finds something suspicious."""
    text = json.dumps(value)
    return bounded(value) if _SUSPECT.search(text) or "\x7f" in text or _has_long_line(text) else value


def _has_long_line(text: str) -> bool:
    """Return whether JSON has a long run without a quotation mark and without a line break."""
    parts = text.replace('\\"', "''").split('"')
    return any(len(line) >= MOST_LINE for part in parts if len(part) >= MOST_LINE for line in part.split("\\n"))


def bounded(value: Any) -> Any:
    r"""Return JSON with all texts sanitized; equal texts stay equal.

    >>> sanitize({"name": "a\u202eb", "of": ["x" * 2000]})["name"]
    'a�b'
    """
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return {_text(key): bounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [bounded(item) for item in value]
    return value


def sound(names: Iterable[str]) -> bool:
    """Return whether these names need no sanitization."""
    return all(len(name) < MOST_LINE and name.isprintable() for name in names)


def _text(text: str) -> str:
    if len(text) < MOST_LINE and text.isprintable():
        return text
    if "\n" not in text:
        return plain(text, MOST_LINE)
    return "\n".join(plain(line, MOST_LINE, keep="\t") for line in plain_lines(text, MOST_TEXT).split("\n"))
