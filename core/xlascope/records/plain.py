"""Sanitizing of untrusted text for display: bounded length, no control characters."""

from __future__ import annotations

import re

#: Control characters (terminals interpret them), lone surrogates (files cannot contain them), line separators, and
#: bidirectional marks (they can disguise text).
_ACTING = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]")
#: The same, but for line ends and tabs.
_ACTING_BUT_LINES = re.compile(_ACTING.pattern.replace(r"\x00-\x1f", r"\x00-\x08\x0b-\x1f"))


def plain(text: str, most: int = 200, keep: str = "") -> str:
    r"""Return a text as one line of at most ``most`` characters, with control characters replaced by ``�``.

    ``keep`` has control characters that are not replaced.

    >>> plain("loss\x1b[31m\n" + "x" * 300, 12)
    'loss�[31m�x…'
    """
    if len(text) <= most and text.isprintable():
        return text
    shown = _ACTING.sub(lambda match: match[0] if match[0] in keep else "\ufffd", text[: most + 1])
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def plain_lines(text: str, most: int = 1_000_000) -> str:
    r"""Return a text of several lines, of at most ``most`` characters, with control characters replaced by ``�``.

    >>> plain_lines("a\u202e = sin b\x1b[2J")
    'a� = sin b�[2J'
    """
    shown = _ACTING_BUT_LINES.sub("\ufffd", text[: most + 1])
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
