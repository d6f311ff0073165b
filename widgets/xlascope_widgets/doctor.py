"""The doctor's card as HTML that survives where nothing is trusted: a list, no scripts, no styles."""

from __future__ import annotations

from html import escape

from xlascope.records.plain import plain

from .ledger import Ledger
from .wire_doctor import where

#: Characters of one sentence.
MOST = 600


def doctor_html(ledger: Ledger) -> str:
    """The findings of a program that was asked about, as a list; nothing of others.

    >>> doctor_html(Ledger())
    ''
    """
    program = ledger.main
    if program is None or program.diagnosis is None:
        return ""
    found = [
        f"<li>{_told(each.sentence)}{_place(where(each, program), each.kernel)}<br><b>do:</b> {_told(each.action)}</li>"
        for each in program.diagnosis.findings
    ]
    rules = len(program.diagnosis.rules)
    return f"<ol>{''.join(found)}</ol>" if found else f"<p>no finding, by {rules} rules</p>"


def _place(line: str, kernel: str) -> str:
    words = ", ".join(filter(None, (line, kernel and f"kernel {kernel}")))
    return f" <i>({_told(words)})</i>" if words else ""


def _told(text: str) -> str:
    return escape(plain(text, MOST))
