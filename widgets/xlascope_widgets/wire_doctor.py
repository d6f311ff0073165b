"""What the doctor finds in the programs of a panel, as the JSON that crosses to the browser.

A diagnosis that came with the records is told as it is. Of other programs the rules are asked when the cell has ended:
numbers that still move are no evidence.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from xlascope.analysis.doctor import Evidence, diagnose
from xlascope.analysis.retraces import Retrace, Retraces
from xlascope.records import Diagnosis, Finding, Record

from .bounded import bounded
from .ledger import Ledger, Program

JSON = dict[str, Any]

#: Programs of a cell that are examined, those with most to see, and the equations above which one is not: a look at
#: twenty thousand takes half a second.
MOST_EXAMINED, MOST_EQUATIONS = 3, 20_000


def doctor(ledger: Ledger, shown: Iterable[Program], finished: bool) -> JSON:
    """The findings by the program's number, under the key that the browser looks for; nothing where there are none."""
    if ledger.diff is not None:  # two programs are compared, and neither is asked about
        return {}
    found: JSON = {}
    for place, program in enumerate(shown):
        diagnosis = diagnosis_of(program, ledger.retraces) if finished and place < MOST_EXAMINED else program.diagnosis
        if diagnosis is not None and place:  # while one of the smaller programs does not run, the largest one may
            diagnosis = replace(diagnosis, findings=tuple(each for each in diagnosis.findings if each.rule != "waits"))
        if diagnosis is not None and (diagnosis.findings or program.diagnosis is not None):
            found[str(program.number)] = bounded(_wire(diagnosis, program))
    return {"doctor": found} if found else {}


def diagnosis_of(program: Program, retraces: Retraces) -> Diagnosis | None:
    """The diagnosis that came with a program's records, or one made now, once for what is known of it."""
    if program.diagnosis is not None or program.is_operation or program.equations > MOST_EQUATIONS:
        return program.diagnosis
    spared = _spared(program, retraces)
    made_of = (program.traced, program.lowered, program.compiled, program.executed, program.ceilings)
    key = (*made_of, *spared)
    if program.examined is None or not _same(program.examined[0], key):
        known: list[Record] = [each for each in made_of if each is not None]
        evidence = Evidence.of(known, spared)
        program.examined = key, diagnose(evidence) if evidence is not None else None
    return program.examined[1]


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether these are the same records, not only equal ones."""
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def _spared(program: Program, retraces: Retraces) -> tuple[Retrace, ...]:
    """The traces of a program's function that could have been spared, newest first, if it is one of them."""
    for function in retraces.functions.values():
        if any(each.program == program.number for each in function.retraces):
            return tuple(function.newest_first)
    return ()


def _wire(diagnosis: Diagnosis, program: Program) -> JSON:
    wire: JSON = {"findings": [_finding(each, program) for each in diagnosis.findings], "rules": len(diagnosis.rules)}
    return wire | ({"notes": list(diagnosis.notes)} if diagnosis.notes else {})


def _finding(finding: Finding, program: Program) -> JSON:
    wire: JSON = {"rule": finding.rule, "says": finding.sentence, "action": finding.action, "share": finding.share}
    optional: JSON = {"where": where(finding, program), "kernel": finding.kernel, "equation": finding.equation}
    optional["what_if"] = list(finding.what_if)
    wire |= {name: value for name, value in optional.items() if value}
    wire["evidence"] = [[each.name, each.value, each.unit, each.source] for each in finding.evidence]
    return wire


def where(finding: Finding, program: Program) -> str:
    """The user's line, ``In[7]:3``; ``""`` where it is not known."""
    place = finding.source
    if place is None:
        return ""
    titles = {each.file: each.title for each in program.traced.sources} if program.traced is not None else {}
    return f"{titles.get(place.file) or os.path.basename(place.file)}:{place.line}"
