"""The two programs of a comparison, as programs of one ledger."""

from __future__ import annotations

import dataclasses

from xlascope.analysis.diff import Diff
from xlascope.records import Record
from xlascope.records.plain import plain

#: The numbers under which both programs are sent, whatever they were before: they may be one and the same.
BEFORE, AFTER = 1, 2


def both_sides(diff: Diff) -> list[Record]:
    """The records of both programs, as programs ``BEFORE`` and ``AFTER``, called by the labels of the comparison."""
    found: list[Record] = []
    old, new = (plain(label, 80) for label in diff.labels)
    names = (old, new) if old != new else (f"{old} before", f"{new} after")
    for number, side, name in ((BEFORE, diff.before, names[0]), (AFTER, diff.after, names[1])):
        first = next((each.program for each in side if each.program is not None), None)
        mine = (each for each in side if each.program == first)
        found += [dataclasses.replace(each, program=number, function=name) for each in mine]
    return found
