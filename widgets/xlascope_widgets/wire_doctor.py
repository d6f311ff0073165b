"""The JSON encoding of the doctor's findings about the programs of a panel.

A diagnosis that comes with the records is sent unchanged. Other programs are diagnosed when the cell has
ended, because numbers that still change are no evidence.
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

#: The maximum number of programs of a cell that are examined, and the maximum size of one: examining twenty thousand
#: equations takes half a second.
MOST_EXAMINED, MOST_EQUATIONS = 3, 20_000


def doctor(store: Ledger, shown: Iterable[Program], finished: bool) -> JSON:
    """Encode the findings by program number, under the key that the browser expects; empty if there are none."""
    if store.diff is not None:  # a comparison shows no diagnosis of its programs
        return {}
    by_number: JSON = {}
    for rank, program in enumerate(shown):
        diagnosis = diagnosis_of(program, store.retraces) if finished and rank < MOST_EXAMINED else program.diagnosis
        if diagnosis is not None and rank:  # a smaller program may wait because the largest one runs
            diagnosis = replace(
                diagnosis, findings=tuple(finding for finding in diagnosis.findings if finding.rule != "waits")
            )
        if diagnosis is not None and (diagnosis.findings or program.diagnosis is not None):
            by_number[str(program.number)] = bounded(_wire(diagnosis, program))
    return {"doctor": by_number} if by_number else {}


def diagnosis_of(program: Program, retraces: Retraces) -> Diagnosis | None:
    """Return the diagnosis recorded with a program, or one made now and cached until its records change."""
    if program.diagnosis is not None or program.is_operation or program.equations > MOST_EQUATIONS:
        return program.diagnosis
    retraced = _spared(program, retraces)
    made_of = (program.traced, program.lowered, program.compiled, program.executed, program.ceilings)
    key = (*made_of, *retraced)
    if program.examined is None or not _same(program.examined[0], key):
        evidence_records: list[Record] = [record for record in made_of if record is not None]
        evidence = Evidence.of(evidence_records, retraced)
        program.examined = key, diagnose(evidence) if evidence is not None else None
    return program.examined[1]


def _same(first: tuple[object, ...], second: tuple[object, ...]) -> bool:
    """Return whether two tuples consist of the same objects."""
    return len(first) == len(second) and all(a is b for a, b in zip(first, second, strict=True))


def _spared(program: Program, retraces: Retraces) -> tuple[Retrace, ...]:
    """Return the avoidable retraces of a program's function, newest first, if the program is one of them."""
    for function in retraces.functions.values():
        if any(retrace.program == program.number for retrace in function.retraces):
            return tuple(function.newest_first)
    return ()


def _wire(diagnosis: Diagnosis, program: Program) -> JSON:
    wire: JSON = {
        "findings": [_finding(finding, program) for finding in diagnosis.findings],
        "rules": len(diagnosis.rules),
    }
    return wire | ({"notes": list(diagnosis.notes)} if diagnosis.notes else {})


def _finding(finding: Finding, program: Program) -> JSON:
    wire: JSON = {"rule": finding.rule, "says": finding.sentence, "action": finding.action, "share": finding.share}
    optional: JSON = {"where": where(finding, program), "kernel": finding.kernel, "equation": finding.equation}
    optional["what_if"] = list(finding.what_if)
    wire |= {name: value for name, value in optional.items() if value}
    wire["evidence"] = [[item.name, item.value, item.unit, item.source] for item in finding.evidence]
    return wire


def where(finding: Finding, program: Program) -> str:
    """Return the user's line as ``In[7]:3``, or ``""`` if it is not known."""
    source_range = finding.source
    if source_range is None:
        return ""
    titles = {source.file: source.title for source in program.traced.sources} if program.traced is not None else {}
    return f"{titles.get(source_range.file) or os.path.basename(source_range.file)}:{source_range.line}"
