"""The JSON encoding of records sent to the browser. Defaults are left out; HLO text is never sent.

It has two halves: ``encode_heavy`` does not change once a stage has ended and is sent once (jaxpr, sources,
kernels); ``encode_light`` has the numbers that change while a cell runs. Most of these are a profile, which a live
panel gets once as well: ``encode_light_apart`` has the few numbers of each report.
"""

from __future__ import annotations

import itertools

from xlascope.analysis.costs.call_times import CallTimes, compute_busy_fractions, compute_profiler_scale
from xlascope.records import (
    Ceilings,
    Compiled,
    Executed,
    Failure,
    SourceRange,
    SourceText,
    Traced,
)

from .encoding import JSON as JSON
from .encoding import JaxprEncoder
from .identity_cache import IdentityCache
from .panes import encode_panes
from .program_store import MAX_PROFILED_PROGRAMS, ProgramState, are_identical
from .sanitize import is_safe, sanitize, sanitize_if_needed
from .wire_compiler import encode_compiled, encode_findings, encode_shardings
from .wire_measured import encode_executed, encode_memory, encode_numbers, encode_profile, encode_stages

_TRACES: IdentityCache[JSON] = IdentityCache()
_COMPILATIONS: IdentityCache[JSON] = IdentityCache()
_PROFILES: IdentityCache[JSON] = IdentityCache(MAX_PROFILED_PROGRAMS)
_profile_numbers = itertools.count(1)


def encode_heavy(program: ProgramState) -> JSON:
    """Encode what the panel needs to draw a program and what does not change once a stage has ended."""
    return _encode_compiled_state(program) | _encode_trace_once(program)


def _encode_trace_once(program: ProgramState) -> JSON:
    """Encode a trace, which can take megabytes, once; return the same object from then on."""
    record = program.traced
    if record is None:
        return {"files": []}
    if program.encoded_trace is None or program.encoded_trace[0] is not record:
        parts, values = (record.jaxpr, record.sources), (record.reason, record.call_site)
        program.encoded_trace = record, _TRACES.get_or_compute(parts, values, lambda: _encode_with_files(record))
    return program.encoded_trace[1]


def _encode_with_files(record: Traced) -> JSON:
    files: list[str] = []
    return sanitize_if_needed(_encode_trace(record, files) | {"files": files})


def _encode_compiled_state(program: ProgramState) -> JSON:
    """Encode all but the trace, sanitized."""
    wire: JSON = {"number": program.number, "function": program.title} | encode_panes(program)
    if program.asked:
        wire |= encode_findings(program.asked.values()) | {"found": program.answer_count}
    compilation = {} if program.compiled is None else _encode_compilation(program.traced, program.compiled)
    return compilation | sanitize_if_needed(wire)


def _encode_compilation(traced: Traced | None, compiled: Compiled) -> JSON:
    """Encode a compilation, sanitized; of the same records it is the same object."""

    def encode() -> JSON:
        parts = encode_compiled(compiled) | encode_memory(compiled) | encode_shardings(traced, compiled)
        return sanitize_if_needed(parts)

    return encode() if traced is None else _COMPILATIONS.get_or_compute((compiled, traced.jaxpr), (), encode)


def encode_light(program: ProgramState, ceilings: Ceilings | None = None) -> JSON:
    """Encode the stage, durations and measurements of a program: the numbers that change while it runs.

    ``ceilings`` are those of the device (None: those recorded with the program, if any).
    """
    wire: JSON = sanitize(_encode_progress(program))
    if program.executed is not None:
        wire["executed"] = _encode_run_once(program, ceilings or program.ceilings)
    return wire


def _encode_run_once(program: ProgramState, ceilings: Ceilings | None) -> JSON:
    """Encode the measurements of a program; the result is cached until its records or ``ceilings`` change."""
    run, account = program.executed, program.account
    assert run is not None and account is not None
    made_of = (run, program.compiled, program.traced, ceilings)
    if program.encoded_run is None or not are_identical(program.encoded_run[0], made_of):
        measured = encode_executed(run, account, program.hottest(ceilings), program.compiled)
        # This is large, and only its names and notes can need sanitizing.
        program.encoded_run = made_of, measured if _has_safe_names(run) and is_safe(run.notes) else sanitize(measured)
    return program.encoded_run[1]


def _has_safe_names(run: Executed) -> bool:
    """Return whether no name of a device or kernel needs sanitizing."""
    return is_safe(name for item in run.devices for name in (item.device, *(kernel.kernel for kernel in item.kernels)))


def encode_light_apart(program: ProgramState, ceilings: Ceilings | None = None) -> tuple[JSON, JSON | None]:
    """Encode what :func:`encode_light` does in two parts: the numbers, and the profile that they belong to.

    The profile is the same object until there is another one. It has the profiler's own seconds, of which the numbers
    have the factor (``scale``), and a number of its own (``id``, ``profile``). None if there is no profile, or if the
    numbers have it: with ceilings the words about its kernels change with each report.
    """
    run, ceilings = program.executed, ceilings or program.ceilings
    if run is None or not run.devices or ceilings is not None:
        return encode_light(program, ceilings), None
    profiled = program.profiled_times(run)
    profile = _PROFILES.get_or_compute(
        (profiled, *run.devices, program.compiled), (), lambda: _encode_profile(program, run, profiled)
    )
    made_of = (run, program.compiled, program.traced)
    if program.encoded_numbers is None or not are_identical(program.encoded_numbers[0], made_of):
        scale = {"profile": profile["id"], "scale": compute_profiler_scale(run)}
        busy = {"busy": compute_busy_fractions(profiled, run), "devices": []}
        numbers = encode_numbers(run, profiled)
        program.encoded_numbers = made_of, (numbers if is_safe(run.notes) else sanitize(numbers)) | scale | busy
    wire: JSON = sanitize(_encode_progress(program))
    return wire | {"executed": program.encoded_numbers[1]}, profile


def _encode_profile(program: ProgramState, run: Executed, profiled: CallTimes) -> JSON:
    hot = () if profiled.mean is None else program.rank_kernels(profiled.mean, None)
    profile = encode_profile(run, profiled, hot, program.compiled)
    return (profile if _has_safe_names(run) else sanitize(profile)) | {"id": next(_profile_numbers)}


def _encode_progress(program: ProgramState) -> JSON:
    """Encode the stages that a program has reached, with their durations, and its failure."""
    wire: JSON = {"number": program.number, "function": program.title, "traces": program.traces}
    if program.active is not None:
        wire |= {"stage": program.active.stage, "since": program.active.time}
    if program.continued is not None:
        wire |= {"continued": program.continued.time}
    if program.traced is not None:
        seconds = 0.0 if program.is_operation else program.traced.seconds
        wire |= {"traced": seconds, "equations": program.equations, "reason": program.traced.reason}
    if program.lowered is not None:
        wire |= {"lowered": program.lowered.seconds}
    if program.compiled is not None:
        wire |= {"compiled": program.compiled.seconds, "cache": program.compiled.cache}
        if (quick := program.quick_compilation) is not None:
            wire |= {"quick": quick.seconds, "optimized": not program.compiled.quick}
        wire |= {} if program.compiled.unread else {"kernels": len(program.compiled.kernels)}
    if built := encode_stages(program):
        wire["stages"] = built
    if program.failure is not None:
        wire["failure"] = encode_failure(program.failure)
    return wire


def encode_failure(record: Failure) -> JSON:
    """Encode a failure with its line and message."""
    return {name: sanitize(value) for name, value in _failure_fields(record).items()}


def _failure_fields(record: Failure) -> JSON:
    wire: JSON = {"function": record.function, "stage": record.stage, "error": record.error, "message": record.message}
    if record.source is not None:
        wire |= {"file": record.source.file, "line": record.source.line}
    if record.excerpt is not None:
        wire |= {"title": record.excerpt.title, "first": record.excerpt.first_line, "text": record.excerpt.text}
    return wire


def _encode_trace(record: Traced, files: list[str]) -> JSON:
    """Encode the record of a trace: its jaxpr, source texts, and the reason for tracing.

    A file is encoded as its index in ``files``, to which new names are added.
    """
    wire: JSON = {
        "jaxpr": JaxprEncoder(lambda file: _file_index(file, files)).encode(record.jaxpr),
        "reason": record.reason,
    }
    wire["sources"] = [_encode_source_text(source, files) for source in record.sources]
    if record.call_site is not None:
        wire["site"] = _encode_source_range(record.call_site, files)
    return wire


def _encode_source_text(source: SourceText, files: list[str]) -> JSON:
    wire: JSON = {"file": _file_index(source.file, files), "title": source.title, "first": source.first_line}
    return wire | {"text": source.text} | ({"note": source.note} if source.note else {})


def _encode_source_range(source: SourceRange, files: list[str]) -> list[int]:
    return [_file_index(source.file, files), source.line, source.end_line]


def _file_index(file: str, files: list[str]) -> int:
    if file not in files:
        files.append(file)
    return files.index(file)
