"""The JSON encoding of records sent to the browser. Defaults are left out; HLO text is never sent.

It has two halves: ``encode_heavy`` does not change once a stage has ended and is sent once (jaxpr, sources,
kernels); ``encode_light`` is the few numbers that change while a cell runs.
"""

from __future__ import annotations

from xlascope.records import (
    Ceilings,
    Failure,
    SourceRange,
    SourceText,
    Traced,
)

from .bounded import bounded, checked, sound
from .ledger import Program, same
from .packed import JSON as JSON
from .packed import Packer
from .panes import panes
from .wire_compiler import compiled, findings, lies
from .wire_measured import executed, memory, stages


def heavy(program: Program) -> JSON:
    """Encode what the panel needs to draw a program, except the changing numbers."""
    return checked(_made(program)) | _traced_once(program)


def _traced_once(program: Program) -> JSON:
    """Encode a trace, which can take megabytes, once; return the same object from then on."""
    record = program.traced
    if record is None:
        return {"files": []}
    if program.packed is None or program.packed[0] is not record:
        files: list[str] = []
        program.packed = record, checked(_traced(record, files) | {"files": files})
    return program.packed[1]


def _made(program: Program) -> JSON:
    wire: JSON = {"number": program.number, "function": program.function}
    if program.compiled is not None:
        wire |= compiled(program.compiled) | memory(program.compiled) | lies(program.traced, program.compiled)
    wire |= panes(program)
    if program.asked:
        wire |= findings(program.asked.values()) | {"found": program.answers}
    return wire


def light(program: Program, ceilings: Ceilings | None = None) -> JSON:
    """Encode the stage, durations and measurements of a program; ``ceilings`` are those of the device, if known."""
    wire: JSON = bounded(_light(program))
    if program.executed is not None:
        wire["executed"] = _measured_once(program, ceilings or program.ceilings)
    return wire


def _measured_once(program: Program, ceilings: Ceilings | None) -> JSON:
    """Encode measurements once per record; the rest of the light state changes ten times a second."""
    run, account = program.executed, program.account
    assert run is not None and account is not None
    made_of = (run, program.compiled, program.traced, ceilings)
    if program.measured is None or not same(program.measured[0], made_of):
        measured = executed(run, account, program.hottest(ceilings), program.compiled)
        # This is large, and only its names and notes can need sanitizing.
        names = (
            name for device in run.devices for name in (device.device, *(kernel.kernel for kernel in device.kernels))
        )
        program.measured = made_of, measured if sound(names) and sound(run.notes) else bounded(measured)
    return program.measured[1]


def _light(program: Program) -> JSON:
    wire: JSON = {"number": program.number, "function": program.function, "traces": program.traces}
    if program.active is not None:
        wire |= {"stage": program.active.stage, "since": program.active.time}
    if program.continued is not None:
        wire |= {"continued": program.continued.time}
    if program.traced is not None:
        wire |= {"traced": program.traced.seconds, "equations": program.equations, "reason": program.traced.reason}
    if program.lowered is not None:
        wire |= {"lowered": program.lowered.seconds}
    if program.compiled is not None:
        wire |= {"compiled": program.compiled.seconds, "cache": program.compiled.cache}
        if (quick := program.quick) is not None:
            wire |= {"quick": quick.seconds, "optimized": not program.compiled.quick}
        wire |= {} if program.compiled.unread else {"kernels": len(program.compiled.kernels)}
    if built := stages(program):
        wire["stages"] = built
    if program.failure is not None:
        wire["failure"] = failure(program.failure)
    return wire


def failure(record: Failure) -> JSON:
    """Encode a failure with its line and message."""
    return {name: bounded(value) for name, value in _failure(record).items()}


def _failure(record: Failure) -> JSON:
    wire: JSON = {"function": record.function, "stage": record.stage, "error": record.error, "message": record.message}
    if record.source is not None:
        wire |= {"file": record.source.file, "line": record.source.line}
    if record.excerpt is not None:
        wire |= {"title": record.excerpt.title, "first": record.excerpt.first_line, "text": record.excerpt.text}
    return wire


def _traced(record: Traced, files: list[str]) -> JSON:
    wire: JSON = {"jaxpr": Packer(lambda file: _file(file, files)).pack(record.jaxpr), "reason": record.reason}
    wire["sources"] = [_text(source, files) for source in record.sources]
    if record.call_site is not None:
        wire["site"] = _source(record.call_site, files)
    return wire


def _text(source: SourceText, files: list[str]) -> JSON:
    wire: JSON = {"file": _file(source.file, files), "title": source.title, "first": source.first_line}
    return wire | {"text": source.text} | ({"note": source.note} if source.note else {})


def _source(source: SourceRange, files: list[str]) -> list[int]:
    return [_file(source.file, files), source.line, source.end_line]


def _file(file: str, files: list[str]) -> int:
    if file not in files:
        files.append(file)
    return files.index(file)
