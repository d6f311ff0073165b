"""The two programs of a comparison, as programs of one store."""

from __future__ import annotations

import dataclasses

from xlascope.analysis.diff import Diff
from xlascope.records import Record
from xlascope.records.plain import plain

#: The numbers of both programs in the panel, in place of their own, which may be equal.
BEFORE, AFTER = 1, 2


def records_of_both(diff: Diff) -> list[Record]:
    """Return the records of both programs, numbered ``BEFORE`` and ``AFTER`` and named by the comparison's labels."""
    records: list[Record] = []
    old, new = (plain(label, 80) for label in diff.labels)
    names = (old, new) if old != new else (f"{old} before", f"{new} after")
    for number, side, name in ((BEFORE, diff.before, names[0]), (AFTER, diff.after, names[1])):
        first = next((record.program for record in side if record.program is not None), None)
        mine = (record for record in side if record.program == first)
        records += [dataclasses.replace(record, program=number, function=name) for record in mine]
    return records
