"""The JSON encoding of the doctor's findings about the programs of a panel.

A diagnosis that comes with the records is sent unchanged. Other programs are diagnosed when the cell has
ended, because numbers that still change are no evidence; while it runs, only values that its loop fetches are found.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from xlascope.analysis.doctor import Evidence, diagnose, find_fetches_of_cell
from xlascope.analysis.retraces import Retrace, Retraces
from xlascope.records import Diagnosis, Finding, Record, TimeAccount

from .program_store import ProgramState, ProgramStore
from .sanitize import sanitize

JSON = dict[str, Any]

#: The maximum number of programs of a cell that are examined, and the maximum size of one: examining twenty thousand
#: equations takes half a second.
MAX_EXAMINED_PROGRAMS, MAX_EQUATIONS = 3, 20_000


def encode_doctor(store: ProgramStore, shown: Iterable[ProgramState], finished: bool) -> JSON:
    """Encode the findings about the shown programs, by program number; empty if there are none.

    ``finished`` says that the cell has ended: then programs without a recorded diagnosis are examined by all rules.
    """
    if store.diff is not None:  # a comparison shows no diagnosis of its programs
        return {}
    by_number: JSON = {}
    for rank, program in enumerate(shown):
        diagnosis = program.diagnosis
        if rank < MAX_EXAMINED_PROGRAMS and finished:
            diagnosis = get_diagnosis(program, store.retraces, store.time_account)
        elif diagnosis is None and not rank:
            diagnosis = _diagnose_running(program, store.time_account)
        if diagnosis is not None and rank:  # a smaller program may wait because the largest one runs
            diagnosis = replace(
                diagnosis, findings=tuple(finding for finding in diagnosis.findings if finding.rule != "waits")
            )
        if diagnosis is not None and (diagnosis.findings or program.diagnosis is not None):
            by_number[str(program.number)] = sanitize(_encode_diagnosis(diagnosis, program))
    return {"doctor": by_number} if by_number else {}


def _diagnose_running(program: ProgramState, account: TimeAccount | None) -> Diagnosis | None:
    """Return what is known of a program while it runs: values that are fetched in each iteration; None for nothing."""
    if account is None or program.traced is None or program.is_operation:
        return None
    traced = program.traced
    findings = tuple(find_fetches_of_cell(Evidence(traced, cell=account)))
    names = tuple({finding.rule: None for finding in findings})
    return Diagnosis(traced.program, traced.function, traced.time, findings, names) if findings else None


def get_diagnosis(program: ProgramState, retraces: Retraces, account: TimeAccount | None = None) -> Diagnosis | None:
    """Return the diagnosis recorded with a program, or one made now and cached until its records change.

    ``retraces`` and ``account`` are those of the whole cell. None for operations outside of jit, and for very large
    programs.
    """
    if program.diagnosis is not None or program.is_operation or program.equations > MAX_EQUATIONS:
        return program.diagnosis
    retraced = _avoidable_retraces(program, retraces)
    made_of = (program.traced, program.lowered, program.compiled, program.executed, program.ceilings)
    key = (*made_of, *retraced, account)
    if program.diagnosis_cache is None or not _are_identical(program.diagnosis_cache[0], key):
        evidence_records: list[Record] = [record for record in made_of if record is not None]
        evidence = Evidence.of(evidence_records, retraced, cell=account, call_times=program.account)
        program.diagnosis_cache = key, diagnose(evidence) if evidence is not None else None
    return program.diagnosis_cache[1]


def _are_identical(first: tuple[object, ...], second: tuple[object, ...]) -> bool:
    """Return whether two tuples consist of the same objects."""
    return len(first) == len(second) and all(a is b for a, b in zip(first, second, strict=True))


def _avoidable_retraces(program: ProgramState, retraces: Retraces) -> tuple[Retrace, ...]:
    """Return the retraces of a program's function, newest first; () unless the program is one of them."""
    for function in retraces.functions.values():
        if any(retrace.program == program.number for retrace in function.retraces):
            return tuple(function.newest_first)
    return ()


def _encode_diagnosis(diagnosis: Diagnosis, program: ProgramState) -> JSON:
    wire: JSON = {
        "findings": [_encode_finding(finding, program) for finding in diagnosis.findings],
        "rules": len(diagnosis.rules),
    }
    return wire | ({"notes": list(diagnosis.notes)} if diagnosis.notes else {})


def _encode_finding(finding: Finding, program: ProgramState) -> JSON:
    wire: JSON = {"rule": finding.rule, "says": finding.sentence, "action": finding.action, "share": finding.share}
    optional: JSON = {"where": locate(finding, program), "kernel": finding.kernel, "equation": finding.equation}
    optional["what_if"] = list(finding.what_if)
    wire |= {name: value for name, value in optional.items() if value}
    wire["evidence"] = [[item.name, item.value, item.unit, item.source] for item in finding.evidence]
    return wire


def locate(finding: Finding, program: ProgramState) -> str:
    """Return the line of a finding as ``In[7]:3`` or ``model.py:12``, or ``""`` if it is not known.

    ``program`` is the one that the finding is about: it has the titles of files.
    """
    source_range = finding.source
    if source_range is None:
        return ""
    titles = {source.file: source.title for source in program.traced.sources} if program.traced is not None else {}
    return f"{titles.get(source_range.file) or os.path.basename(source_range.file)}:{source_range.line}"
