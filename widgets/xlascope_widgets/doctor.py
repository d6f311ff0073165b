"""The doctor's findings as HTML for untrusted notebooks: a list without scripts and styles."""

from __future__ import annotations

from html import escape

from xlascope.records.plain import plain

from .program_store import ProgramStore
from .wire_doctor import locate

#: The maximum number of characters of one sentence.
MAX_SENTENCE_CHARS = 600


def doctor_html(store: ProgramStore) -> str:
    """Return the findings of the main program as an HTML list; ``""`` if it was not examined.

    >>> doctor_html(ProgramStore())
    ''
    """
    program = store.main
    if program is None or program.diagnosis is None:
        return ""
    items = [
        f"<li>{_html(item.sentence)}{_note(locate(item, program), item.kernel)}<br><b>do:</b> {_html(item.action)}</li>"
        for item in program.diagnosis.findings
    ]
    rules = len(program.diagnosis.rules)
    return f"<ol>{''.join(items)}</ol>" if items else f"<p>no finding, by {rules} rules</p>"


def _note(line: str, kernel: str) -> str:
    words = ", ".join(filter(None, (line, kernel and f"kernel {kernel}")))
    return f" <i>({_html(words)})</i>" if words else ""


def _html(text: str) -> str:
    return escape(plain(text, MAX_SENTENCE_CHARS))
