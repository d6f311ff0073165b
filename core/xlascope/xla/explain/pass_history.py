"""A program after every pass of its compiler."""

from __future__ import annotations

import time
from pathlib import Path

from ...readers.dumps import ReadPasses, list_snapshots, read_passes
from ...readers.format_error import KNOWN, FormatError
from ...records import Passes
from ..targets import CompileProgress, CompilerInput
from .dump_session import compile_with_dumps

_BUDGET_NOTE = "the budget of {:g} s ended before the compiler did: later passes are missing"
_NO_SNAPSHOTS_NOTE = (
    "no pass can be shown: expected snapshots named MODULE.0001.PIPELINE.after_PASS.txt, as {} writes them"
)
_DAMAGED_NOTE = "a snapshot was not whole, and is left out"


def compile_passes(program: CompilerInput, *, budget: float = 60.0, watch: CompileProgress | None = None) -> Passes:
    """Compile a program for a target and return what every pass changed.

    Every snapshot is written to a temporary folder, and one at a time is held in memory. ``budget`` is in seconds;
    when it ends first, the passes until then are returned. ``watch`` is told of the progress. Raises what compiling
    for the target raises.
    """
    began, clock = time.time(), time.perf_counter()
    overrides = [("xla_dump_hlo_as_text", True), ("xla_dump_hlo_pass_re", ".*")]
    with compile_with_dumps(program, budget, overrides=overrides, watch=watch) as session:
        if watch is not None:
            watch.report("comparing the passes")
        notes = [] if session.result is not None else [_BUDGET_NOTE.format(budget)]
        pass_history = _read_snapshots(session.folder, notes)
        if not pass_history.complete:
            notes.append(_DAMAGED_NOTE)
        if session.result is not None and not pass_history.first:
            notes.append(_NO_SNAPSHOTS_NOTE.format(KNOWN))
        return Passes(
            program=program.number,
            function=program.name,
            time=began,
            seconds=time.perf_counter() - clock,
            target=program.target.name,
            module="the whole program",
            first=pass_history.first,
            passes=pass_history.passes,
            complete=session.result is not None and pass_history.complete,
            note="; ".join(notes),
            seen=pass_history.equations,
        )


def _read_snapshots(folder: Path, notes: list[str]) -> ReadPasses:
    """Read the passes from the snapshots in a folder; none if these have an unknown format.

    ``notes`` then gets a message.
    """
    try:
        return read_passes(list_snapshots(folder))
    except FormatError as error:
        notes.append(str(error))
        return ReadPasses("", (), False, ())
