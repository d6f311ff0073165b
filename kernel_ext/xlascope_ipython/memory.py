"""What was recorded in earlier cells, by program: a cell that only calls what is compiled shows it again."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict

from xlascope.records import Compiled, Record, Started, Traced
from xlascope.records.stages import Stages

#: Programs remembered; those that have not been met for longest are forgotten first.
MOST_PROGRAMS = 200
#: Compilations of one program, the first ones.
MOST_COMPILED = 8


class Memory:
    """The ``Traced`` and ``Compiled`` records of the last programs that were traced."""

    def __init__(self) -> None:
        self._programs: OrderedDict[int, Stages] = OrderedDict()

    def keep(self, record: Record) -> None:
        """Remember a record, if it is one of those; of programs without a trace (single operations) none is kept."""
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
        """The record of the same stage, program and module that was kept first, or else this one."""
        if record.program is None or record.program not in self._programs:
            return record
        self._programs.move_to_end(record.program)
        kept = self._programs[record.program].same(record)
        return record if kept is None else _again(kept)

    def known(self, start: Started) -> list[Record]:
        """What came before a stage that starts now: the program's trace, and before it runs its compilations."""
        stages = self._programs.get(start.program, Stages())
        return [_again(each) for each in stages.records() if isinstance(each, Traced) or start.stage == "run"]


def _again(record: Record) -> Record:
    """A record that is told again: a trace that this cell does not make is none that it could have spared."""
    return dataclasses.replace(record, fix="") if isinstance(record, Traced) and record.fix else record
