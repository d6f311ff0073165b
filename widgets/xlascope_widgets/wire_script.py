"""A run of a script that was watched, as the JSON that crosses to the browser."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from xlascope.records import Failure, ScriptRun

from .bounded import bounded
from .ledger import Ledger, Program
from .packed import JSON

#: Devices named one by one.
MOST_DEVICES = 4


def script(ledger: Ledger, shown: Iterable[Program]) -> JSON:
    """The run that a ledger's programs belong to: nothing of most ledgers.

    A program is its number (-1 of many small ones), function, calls, seconds running and making it, how many programs
    it stands for, and whether it is ``shown`` as well.
    """
    run = ledger.script
    if run is None:
        return {}
    numbers = {program.number for program in shown}
    shares = [
        [
            -1 if each.program is None else each.program,
            each.function,
            each.calls,
            each.running,
            each.made,
            each.programs,
            int(each.program in numbers),
        ]
        for each in run.shares
    ]
    return {"script": bounded(_facts(run) | {"programs": shares})}


def _facts(run: ScriptRun) -> JSON:
    facts: JSON = {
        "name": run.function,
        "command": " ".join(run.command),
        "folder": run.folder,
        "began": run.time,
        "seconds": run.seconds,
        "ended": run.ended,
        "making": run.making,
        "facts": [*([f"process {run.process}"] if run.process else []), run.host, *_devices(run), *run.versions],
    }
    return facts | ({"notes": list(run.notes)} if run.notes else {})


def _devices(run: ScriptRun) -> list[str]:
    if not run.devices:
        return []
    more = len(run.devices) - MOST_DEVICES
    return [", ".join(run.devices[:MOST_DEVICES]) + (f" and {more} more" if more > 0 else "")]


def told_failures(ledger: Ledger, shown: Iterable[Program]) -> list[Failure]:
    """Failures that no program shown tells of."""
    numbers = {program.number for program in shown}
    others = [each.failure for each in ledger.programs.values() if each.failure and each.number not in numbers]
    return ledger.failures + [replace(each, program=None) for each in others if ledger.script is not None]
