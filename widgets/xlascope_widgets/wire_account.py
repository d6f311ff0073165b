"""The JSON encoding of the account of a cell's time."""

from __future__ import annotations

from xlascope.analysis.time_account_text import describe_activity, describe_details
from xlascope.records import TimeAccount

from .encoding import JSON
from .sanitize import sanitize


def encode_account(account: TimeAccount | None) -> JSON:
    """Encode an account; empty if there is none.

    A part is its activity, its label, its seconds, and details. What is unaccounted is the last one. A device's share
    is a program's name, its calls and its seconds.
    """
    if account is None:
        return {}
    parts = [
        [part.activity, describe_activity(part), part.seconds, ", ".join(describe_details(part))]
        for part in account.parts
    ]
    parts.append(["unaccounted", "unaccounted", account.unaccounted_seconds, ""])
    devices = [[share.function, share.calls, share.seconds] for share in account.devices]
    wire: JSON = {"seconds": account.seconds, "parts": parts, "devices": devices}
    return {"account": sanitize(wire | ({"notes": list(account.notes)} if account.notes else {}))}
