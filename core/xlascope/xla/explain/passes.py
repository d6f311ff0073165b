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


def compile_passes(given: CompilerInput, *, budget: float = 60.0, watch: Watch | None = None) -> Passes:
    """What every pass of a target's compiler changed in a program.

    Every snapshot is written to a temporary folder, and one at a time is held. ``budget`` is in seconds; the passes
    until then are told. Raises what compiling for the target raises.
    """
    began, clock = time.time(), time.perf_counter()
    overrides = [("xla_dump_hlo_as_text", True), ("xla_dump_hlo_pass_re", ".*")]
    with listened(given, budget, overrides=overrides, watch=watch) as session:
        if watch is not None:
            watch.tell("comparing the passes")
        notes = [] if session.built is not None else [_LATE.format(budget)]
        found = _read(session.folder, notes)
        if not found.whole:
            notes.append(_DAMAGED)
        if session.built is not None and not found.first:
            notes.append(_NONE.format(KNOWN))
        return Passes(
            program=given.number,
            function=given.name,
            time=began,
            seconds=time.perf_counter() - clock,
            target=given.target.name,
            module="the whole program",
            first=found.first,
            passes=found.passes,
            complete=session.built is not None and found.whole,
            note="; ".join(notes),
            seen=found.seen,
        )


def _read(folder: Path, notes: list[str]) -> ReadPasses:
    """The passes; none, and a note, where the snapshots have another form."""
    try:
        return read_passes(list_snapshots(folder))
    except FormatError as error:
        notes.append(str(error))
        return ReadPasses("", (), False, ())
