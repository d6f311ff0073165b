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
MAX_LINE_CHARS, MAX_TEXT_CHARS = 1_000, 1_000_000

#: A JSON escape of a control or formatting character. It begins with a fixed letter, so that the search is fast.
_SUSPICIOUS_ESCAPE = re.compile(r"\\(?:u00[0189]|[bfr]|u20[0-26]|u[dD][89a-fA-F]|uf[ef])")


def sanitize_if_needed(value: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON value sanitized, or unchanged if a quick scan of its text finds nothing to replace.

    It is meant for large values, for which :func:`sanitize` is slow.
    """
    text = json.dumps(value)
    return sanitize(value) if _SUSPICIOUS_ESCAPE.search(text) or "\x7f" in text or _has_long_line(text) else value


def _has_long_line(text: str) -> bool:
    """Return whether a text in a JSON document has a line that is too long to be sent.

    ``text`` is the document. The test is approximate: it can find a line where there is none.
    """
    parts = text.replace('\\"', "''").split('"')
    return any(
        len(line) >= MAX_LINE_CHARS for part in parts if len(part) >= MAX_LINE_CHARS for line in part.split("\\n")
    )


def sanitize(value: Any) -> Any:
    r"""Return a JSON value with all texts sanitized, keys included; equal texts stay equal.

    >>> sanitize({"name": "a\u202eb", "of": ["x" * 2000]})["name"]
    'a�b'
    """
    if isinstance(value, str):
        return _sanitize_text(value)
    if isinstance(value, dict):
        return {_sanitize_text(key): sanitize(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [sanitize(item) for item in value]
    return value


def is_safe(names: Iterable[str]) -> bool:
    """Return whether all names are printable and short enough that :func:`sanitize` would not change them."""
    return all(len(name) < MAX_LINE_CHARS and name.isprintable() for name in names)


def _sanitize_text(text: str) -> str:
    if len(text) < MAX_LINE_CHARS and text.isprintable():
        return text
    if "\n" not in text:
        return plain(text, MAX_LINE_CHARS)
    return "\n".join(plain(line, MAX_LINE_CHARS, keep="\t") for line in plain_lines(text, MAX_TEXT_CHARS).split("\n"))
