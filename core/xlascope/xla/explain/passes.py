"""A program after every pass of its compiler."""

from __future__ import annotations

import time
from pathlib import Path

from ...readers.dumps import ReadPasses, list_snapshots, read_passes
from ...readers.format_error import KNOWN, FormatError
from ...records import Passes
from ..targets import CompilerInput, Watch
from .session import listened

_LATE = "the budget of {:g} s ended before the compiler did: later passes are missing"
_NONE = "no pass can be shown: expected snapshots named MODULE.0001.PIPELINE.after_PASS.txt, as {} writes them"
_DAMAGED = "a snapshot was not whole, and is left out"


def compile_passes(program: CompilerInput, *, budget: float = 60.0, watch: Watch | None = None) -> Passes:
    """Compile a program for a target and return what every pass changed.

    Every snapshot is written to a temporary folder, and one at a time is held in memory. ``budget`` is in seconds;
    when it ends first, the passes until then are returned. Raises what compiling for the target raises.
    """
    began, clock = time.time(), time.perf_counter()
    overrides = [("xla_dump_hlo_as_text", True), ("xla_dump_hlo_pass_re", ".*")]
    with listened(program, budget, overrides=overrides, watch=watch) as session:
        if watch is not None:
            watch.tell("comparing the passes")
        notes = [] if session.built is not None else [_LATE.format(budget)]
        pass_history = _read(session.folder, notes)
        if not pass_history.whole:
            notes.append(_DAMAGED)
        if session.built is not None and not pass_history.first:
            notes.append(_NONE.format(KNOWN))
        return Passes(
            program=program.number,
            function=program.name,
            time=began,
            seconds=time.perf_counter() - clock,
            target=program.target.name,
            module="the whole program",
            first=pass_history.first,
            passes=pass_history.passes,
            complete=session.built is not None and pass_history.whole,
            note="; ".join(notes),
            seen=pass_history.seen,
        )


def _read(folder: Path, notes: list[str]) -> ReadPasses:
    """Read the passes; none, with a note, if the snapshots have an unknown format."""
    try:
        return read_passes(list_snapshots(folder))
    except FormatError as error:
        notes.append(str(error))
        return ReadPasses("", (), False, ())
