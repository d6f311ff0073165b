"""Text of a time account: a row for each part with its share of the whole, its number, and its line."""

from __future__ import annotations

import os

from ..records.plain import plain
from ..records.programs import SourceRange
from ..records.time_account import ACTIVITY_LABELS, TimeAccount, TimePart
from .formatting import percent, plural, seconds

#: What is counted where it is not times.
_COUNTED = {
    "eager": "operation",
    "wait": "wait",
    "to_device": "transfer",
    "to_host": "transfer",
    "trace": "program",
    "lower": "program",
    "compile": "program",
    "dispatch": "call",
}
_MEANINGS = {
    "python": "its processor time outside of all other rows",
    "queue": "a call is taken when an earlier one has ended",
    "processor": "other threads and processes ran",
}
#: What is shorter than this is shown as 0.
MIN_SHOWN_SECONDS = 1e-8
#: Maximum number of characters of a program's name.
MAX_NAME_CHARS = 40


def time_account_text(account: TimeAccount) -> str:
    """Return an account as text, longest part first.

    >>> parts = (TimePart("wait", 1.5, 10), TimePart("python", 0.4))
    >>> print(time_account_text(TimeAccount(None, "In[3]", 0.0, 2.0, 0.4, parts)))
    In[3] took 2 s; its thread:
           1.5 s   75 %  waiting for results, 10 waits
          400 ms   20 %  Python, its processor time outside of all other rows
          100 ms    5 %  unaccounted
    """
    total = account.seconds or 1.0
    rows = [(part.seconds, describe_part(part)) for part in sorted(account.parts, key=lambda p: -p.seconds)]
    rows.append((account.unaccounted_seconds, "unaccounted"))
    lines = [f"{plain(account.function, MAX_NAME_CHARS)} took {seconds(account.seconds)}; its thread:"]
    lines += [
        f"{format_signed(value):>12} {_format_share(value / total):>6}  {description}" for value, description in rows
    ]
    if account.devices:
        lines.append("on the devices meanwhile (measured by the profiler, no part of the above):")
        for share in account.devices:
            name = plain(share.function, MAX_NAME_CHARS)
            lines.append(f"{seconds(share.seconds):>12} {'':>6}  {name}, {plural(share.calls, 'call')}")
    return "\n".join([*lines, *(f"note: {plain(note, 300)}" for note in account.notes)])


def describe_part(part: TimePart) -> str:
    """Return the label of a part with what is known of it: its number, how much of it was timed, its line.

    >>> describe_part(TimePart("dispatch", 0.01, 100, 1, "update", measured=26))
    'dispatching update, 100 calls, measured on 26'
    """
    return ", ".join([describe_activity(part), *describe_details(part)])


def describe_activity(part: TimePart) -> str:
    """Return the label of a part's activity, with the program."""
    label = ACTIVITY_LABELS[part.activity]
    if part.activity != "dispatch":
        return label
    return f"{label} {plain(part.function, MAX_NAME_CHARS) if part.function else 'other programs'}"


def describe_details(part: TimePart) -> list[str]:
    """Return phrases on a part's number, how it was measured, and its line."""
    details = [plural(part.count, _COUNTED[part.activity])] if part.count and part.activity in _COUNTED else []
    details += [_MEANINGS[part.activity]] if part.activity in _MEANINGS else []
    if part.measured and part.measured < part.count:
        details.append(f"measured on {part.measured:,}")
    if part.activity == "dispatch" and part.count and not part.seconds:
        details.append("not timed")
    if part.at_most:
        details.append("at most: with the Python code before the calls")
    if part.source is not None:
        share = "" if part.line_share > 1 - 1e-9 else f" ({percent(part.line_share)} of the looks)"
        details.append(f"at {format_line(part.source)}{share}")
    return details


def format_line(source: SourceRange) -> str:
    """Return a line as text: ``line 4 of In[7]``, ``line 4 of train.py``."""
    return f"line {source.line} of {plain(os.path.basename(source.file), 60)}"


def format_signed(value: float) -> str:
    """Return a duration that may be negative, or rounding alone."""
    if abs(value) < MIN_SHOWN_SECONDS:
        return "0 s"
    return f"-{seconds(-value)}" if value < 0 else seconds(value)


def _format_share(share: float) -> str:
    return f"-{percent(-share)}" if share < -0.005 else percent(max(share, 0.0))
