"""Cache of the records of earlier cells by program: a cell that only calls compiled programs shows them again."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Iterator

from xlascope.inspect.running.earlier_profiles import EarlierProfiles
from xlascope.records import Compiled, Record, Started, Traced
from xlascope.records.stages import Stages

#: The maximum number of cached programs; the least recently used are evicted first.
MAX_PROGRAMS = 200
#: The maximum number of cached compilations of one program; later ones are not cached.
MAX_COMPILATIONS_PER_PROGRAM = 8


class RecordCache:
    """Cache of ``Traced`` and ``Compiled`` records by program, so that later cells can show them again.

    At most ``MAX_PROGRAMS`` are stored; the least recently used is evicted first. ``profiles`` has their latest
    profiles, which a short cell shows.
    """

    def __init__(self) -> None:
        self.profiles = EarlierProfiles()
        self._programs: OrderedDict[int, Stages] = OrderedDict()

    def add(self, record: Record) -> None:
        """Cache a ``Traced`` or ``Compiled`` record; programs without a trace (single operations) are not cached."""
        if isinstance(record, Traced):
            stages = self._programs.setdefault(record.program, Stages())
        elif isinstance(record, Compiled) and not record.target and record.program in self._programs:
            stages = self._programs[record.program]
        else:
            return
        if stages.same(record) is None and len(stages.compilations) < MAX_COMPILATIONS_PER_PROGRAM:
            stages.receive(record)
        while len(self._programs) > MAX_PROGRAMS:
            self._programs.popitem(last=False)

    def canonical_record(self, record: Record) -> Record:
        """Return the first cached record of the same stage, program and module, or the record itself if none is."""
        if record.program is None or record.program not in self._programs:
            return record
        self._programs.move_to_end(record.program)
        cached = self._programs[record.program].same(record)
        return record if cached is None else _as_replayed(cached)

    def records_of(self, program: int) -> tuple[Record, ...]:
        """Return the cached records of a program, in the order of its stages."""
        stages = self._programs.get(program)
        return () if stages is None else tuple(_as_replayed(record) for record in stages.records())

    def programs(self) -> Iterator[Record]:
        """Yield the cached records of all programs."""
        for stages in self._programs.values():
            yield from stages.records()

    def records_before(self, start: Started) -> list[Record]:
        """Return the cached records that precede a stage: the program's trace, and before a run its compilations."""
        stages = self._programs.get(start.program, Stages())
        return [
            _as_replayed(record) for record in stages.records() if isinstance(record, Traced) or start.stage == "run"
        ]


def _as_replayed(record: Record) -> Record:
    """Return a record of an earlier cell as a later cell shows it: without the fix for its retrace."""
    return dataclasses.replace(record, fix="") if isinstance(record, Traced) and record.fix else record
