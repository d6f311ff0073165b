"""The doctor's findings as HTML for untrusted notebooks: a list without scripts and styles."""

from __future__ import annotations

from html import escape

from xlascope.records.plain import plain

from .ledger import Ledger
from .wire_doctor import where

#: The maximum number of characters of one sentence.
MOST = 600


def doctor_html(store: Ledger) -> str:
    """Return the findings of a program as a list; ``""`` if it was not examined.

    >>> doctor_html(ProgramStore())
    ''
    """
    program = store.main
    if program is None or program.diagnosis is None:
        return ""
    items = [
        f"<li>{_told(item.sentence)}{_place(where(item, program), item.kernel)}<br><b>do:</b> {_told(item.action)}</li>"
        for item in program.diagnosis.findings
    ]
    rules = len(program.diagnosis.rules)
    return f"<ol>{''.join(items)}</ol>" if items else f"<p>no finding, by {rules} rules</p>"


def _place(line: str, kernel: str) -> str:
    words = ", ".join(filter(None, (line, kernel and f"kernel {kernel}")))
    return f" <i>({_told(words)})</i>" if words else ""


def _told(text: str) -> str:
    return escape(plain(text, MOST))
