"""Cache of the records of earlier cells by program: a cell that only calls compiled programs shows them again."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict

from xlascope.records import Compiled, Record, Started, Traced
from xlascope.records.stages import Stages

#: The maximum number of cached programs; the least recently used are evicted first.
MOST_PROGRAMS = 200
#: The maximum number of cached compilations of one program; later ones are not cached.
MOST_COMPILED = 8


class Memory:
    """Cache of the ``Traced`` and ``Compiled`` records of the most recently traced programs."""

    def __init__(self) -> None:
        self._programs: OrderedDict[int, Stages] = OrderedDict()

    def keep(self, record: Record) -> None:
        """Cache a ``Traced`` or ``Compiled`` record; programs without a trace (single operations) are not cached."""
        if isinstance(record, Traced):
            stages = self._programs.setdefault(record.program, Stages())
        elif isinstance(record, Compiled) and not record.target and record.program in self._programs:
            stages = self._programs[record.program]
        else:
            return
        if stages.same(record) is None and len(stages.compilations) < MOST_COMPILED:
            stages.receive(record)
        while len(self._programs) > MOST_PROGRAMS:
            self._programs.popitem(last=False)

    def first(self, record: Record) -> Record:
        """Return the first cached record of the same stage, program and module, or this record if there is none."""
        if record.program is None or record.program not in self._programs:
            return record
        self._programs.move_to_end(record.program)
        cached = self._programs[record.program].same(record)
        return record if cached is None else _again(cached)

    def known(self, start: Started) -> list[Record]:
        """Return the records that precede a stage: the program's trace, and before a run also its compilations."""
        stages = self._programs.get(start.program, Stages())
        return [_again(record) for record in stages.records() if isinstance(record, Traced) or start.stage == "run"]


def _again(record: Record) -> Record:
    """Return a record prepared for replay: a trace made by another cell carries no fix."""
    return dataclasses.replace(record, fix="") if isinstance(record, Traced) and record.fix else record
