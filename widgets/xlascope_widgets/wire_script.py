"""The JSON encoding of a watched script's run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from xlascope.records import Failure, ScriptRun

from .encoding import JSON
from .program_store import ProgramState, ProgramStore
from .sanitize import sanitize

#: The maximum number of devices listed by name.
MAX_DEVICES = 4


def encode_script(store: ProgramStore, shown: Iterable[ProgramState]) -> JSON:
    """Encode the run of the script that a store's programs belong to; empty if they belong to none.

    A program is its number (-1 for many small ones), function, calls, seconds running and building, how many programs
    it stands for, and whether it is in ``shown``.
    """
    run = store.script
    if run is None:
        return {}
    numbers = {program.number for program in shown}
    shares = [
        [
            -1 if share.program is None else share.program,
            share.function,
            share.calls,
            share.running,
            share.made,
            share.programs,
            int(share.program in numbers),
        ]
        for share in run.shares
    ]
    return {"script": sanitize(_facts(run) | {"programs": shares})}


def _facts(run: ScriptRun) -> JSON:
    facts: JSON = {
        "name": run.function,
        "command": " ".join(run.command),
        "folder": run.folder,
        "began": run.time,
        "seconds": run.seconds,
        "ended": run.ended,
        "making": run.making,
        "facts": [*([f"process {run.process}"] if run.process else []), run.host, *_device_facts(run), *run.versions],
    }
    return facts | ({"notes": list(run.notes)} if run.notes else {})


def _device_facts(run: ScriptRun) -> list[str]:
    if not run.devices:
        return []
    more = len(run.devices) - MAX_DEVICES
    return [", ".join(run.devices[:MAX_DEVICES]) + (f" and {more} more" if more > 0 else "")]


def unshown_failures(store: ProgramStore, shown: Iterable[ProgramState]) -> list[Failure]:
    """Return the failures that belong to no program and, of a watched script, those of programs that are not shown."""
    numbers = {program.number for program in shown}
    hidden = [item.failure for item in store.programs.values() if item.failure and item.number not in numbers]
    return store.failures + [replace(item, program=None) for item in hidden if store.script is not None]
