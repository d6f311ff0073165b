"""What was recorded in earlier cells, by program: a cell that only calls what is compiled shows it again."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict

from xlascope.records import Compiled, Record, Started, Traced

#: Programs remembered; those that have not been met for longest are forgotten first.
MOST_PROGRAMS = 200
#: Records of one program: its trace, and its first compilations.
MOST_RECORDS = 9
_Key = tuple[type, str]


class Memory:
    """The ``Traced`` and ``Compiled`` records of the last programs that were traced."""

    def __init__(self) -> None:
        self._programs: OrderedDict[int, dict[_Key, Record]] = OrderedDict()

    def keep(self, record: Record) -> None:
        """Remember a record, if it is one of those; of programs without a trace (single operations) none is kept."""
        if isinstance(record, Traced):
            self._programs.setdefault(record.program, {}).setdefault(_key(record), record)
        elif isinstance(record, Compiled) and len(self._programs.get(record.program, ())) in range(1, MOST_RECORDS):
            self._programs[record.program].setdefault(_key(record), record)
        while len(self._programs) > MOST_PROGRAMS:
            self._programs.popitem(last=False)

    def first(self, record: Record) -> Record:
        """The record of the same stage, program and module that was kept first, or else this one."""
        if record.program is None or record.program not in self._programs:
            return record
        self._programs.move_to_end(record.program)
        kept = self._programs[record.program].get(_key(record))
        return record if kept is None else _again(kept)

    def known(self, start: Started) -> list[Record]:
        """What came before a stage that starts now: the program's trace, and before it runs its compilations."""
        found = self._programs.get(start.program, {}).values()
        return [_again(each) for each in found if isinstance(each, Traced) or start.stage == "run"]


def _key(record: Record) -> _Key:
    """What a record is about. A trace is compiled again where its operands lie elsewhere: as another module."""
    return type(record), record.module if isinstance(record, Compiled) else ""


def _again(record: Record) -> Record:
    """A record that is told again: a trace that this cell does not make is none that it could have spared."""
    return dataclasses.replace(record, fix="") if isinstance(record, Traced) and record.fix else record
