"""Untrusted text made harmless for people to read: one line, of bounded length, with nothing in it that acts."""

from __future__ import annotations

import re

#: Control characters (a terminal obeys them), lone halves of surrogate pairs (no file can hold them), line
#: separators, and marks that turn the direction of writing around (what is read would not be what is there).
_ACTING = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]")
#: The same, but for line ends and tabs.
_ACTING_BUT_LINES = re.compile(_ACTING.pattern.replace(r"\x00-\x1f", r"\x00-\x08\x0b-\x1f"))


def plain(text: str, most: int = 200, keep: str = "") -> str:
    r"""A text as one line of at most ``most`` characters; characters that would act are shown as ``�``.

    ``keep`` may name one that stays.

    >>> plain("loss\x1b[31m\n" + "x" * 300, 12)
    'loss�[31m�x…'
    """
    if len(text) <= most and text.isprintable():
        return text
    shown = _ACTING.sub(lambda found: found[0] if found[0] in keep else "\ufffd", text[: most + 1])
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def plain_lines(text: str, most: int = 1_000_000) -> str:
    r"""A text of several lines, of at most ``most`` characters; characters that would act are shown as ``�``.

    >>> plain_lines("a\u202e = sin b\x1b[2J")
    'a� = sin b�[2J'
    """
    shown = _ACTING_BUT_LINES.sub("\ufffd", text[: most + 1])
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
