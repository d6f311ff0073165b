"""Records as text: for terminals, for ``--text``, and for saved outputs where nothing else can be shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from xlascope.analysis.job.job_text import job_text, summarize_job
from xlascope.analysis.run_times import describe_call_times
from xlascope.analysis.script_text import script_text
from xlascope.analysis.time_account_text import time_account_text
from xlascope.analysis.values import history_text, report_text
from xlascope.records import EquationPath, Failure, Kernel, Record, ValueHistory, ValueReport
from xlascope.records.plain import plain, plain_lines

from .program_store import ProgramState, ProgramStore

#: The maximum number of programs of a script described in detail; a table lists all.
MAX_SCRIPT_PROGRAMS = 5
#: The maximum number of functions named of the programs that are left out.
MAX_OTHER_NAMES = 6
#: The maximum number of lines of a jaxpr shown in a summary.
MAX_JAXPR_LINES = 40
#: The maximum number of characters of text stored beside the picture in a saved notebook.
MAX_SAVED_CHARS = 16_000
#: The maximum number of characters of a line, of a whole jaxpr, and of an error message.
MAX_LINE_CHARS, MAX_TEXT_CHARS, MAX_MESSAGE_CHARS = 500, 100_000, 2_000


def text(records: Iterable[Record], *, jaxpr: bool = True) -> str:
    """Return a summary of every program in these records; ``jaxpr=False`` leaves the jaxprs out."""
    return store_text(ProgramStore.of(records), jaxpr=jaxpr)


def store_text(store: ProgramStore, *, jaxpr: bool = True, kernels: bool = True, most: int | None = None) -> str:
    """Return a summary of a store's programs by decreasing importance, at most ``most`` of them (None: all).

    It has their jaxprs and tables of their kernels, unless ``jaxpr`` or ``kernels`` is False.
    """
    programs = store.sorted_by_weight()
    shown = programs[:most] if store.script is None else store.select_shown(MAX_SCRIPT_PROGRAMS)[:most]
    parts = [] if store.script is None else [script_text(store.script)]
    parts += [program_text(program, jaxpr=jaxpr, kernels=kernels) for program in shown]
    parts += [_failure_text(failure) for failure in store.failures]
    if store.job is not None and parts:
        head, *rest = parts[0].split("\n", 1)
        parts[0] = "\n".join([f"{head}; {summarize_job(store.job)}", *rest])
    if len(programs) > len(shown) and store.script is None:
        parts.append(_other_programs(programs[len(shown) :]))
    parts += [] if store.job is None else [job_text(store.job)]
    parts += [] if store.time_account is None else [time_account_text(store.time_account)]
    return "\n\n".join(parts) or "xlascope: nothing was traced, compiled or run"


def _other_programs(programs: list[ProgramState]) -> str:
    """Return how many programs are left out, and the names of the most important of their functions."""
    names = list(dict.fromkeys(plain(program.title, 40) for program in programs))
    more = ", …" if len(names) > MAX_OTHER_NAMES else ""
    return f"and {_pluralize(len(programs), 'other program')}: {', '.join(names[:MAX_OTHER_NAMES])}{more}"


def clip_text(text: str, most: int = MAX_SAVED_CHARS) -> str:
    r"""Clip a text to the size that a saved notebook stores, in whole lines.

    >>> clip_text("one\ntwo\nthree", 8).splitlines()
    ['one', 'two', '… 1 more line']
    """
    text = plain_lines(text, len(text))
    if len(text) <= most:
        return text
    shown = text[: most + 1].rpartition("\n")[0] or plain(text, most)
    more = text.count("\n", len(shown) + 1) + 1
    return f"{shown}\n… {_pluralize(more, 'more line')}"


def program_text(program: ProgramState, *, jaxpr: bool = True, kernels: bool = True) -> str:
    """Return the summary of one program: its stages, the begin of its jaxpr, and its kernels with times.

    Without ``jaxpr`` or ``kernels`` these are left out.
    """
    is_told = program.failure is not None or any(isinstance(record, ValueHistory) for record in program.asked.values())
    parts = ["; ".join(_stage_summaries(program)) or ("" if is_told else f"{plain(program.function)}: started")]
    if jaxpr and program.traced is not None:
        parts.append(_clip_jaxpr(program.traced.text))
    if kernels and program.compiled is not None and program.compiled.kernels:
        parts.append(_kernel_table(program))
    parts += [*value_texts(program), *_overlap_note(program), *_note_lines(program)]
    if program.failure is not None:
        parts.append(_failure_text(program.failure))
    return "\n".join(part for part in parts if part)


def value_texts(program: ProgramState, *, table: bool = True) -> Iterator[str]:
    """Yield what is known of the values of a call, and of a step over its calls; without ``table`` not each value."""
    for record in program.asked.values():
        if isinstance(record, ValueReport) and program.traced is not None:
            yield plain_lines(report_text(record, program.traced, table=table), MAX_TEXT_CHARS)
        if isinstance(record, ValueHistory):
            yield plain_lines(history_text(record, program.traced), MAX_TEXT_CHARS)


def _note_lines(program: ProgramState) -> list[str]:
    """Return notes about output of the compiler or profiler that could not be parsed."""
    stage_records = (record for record in (program.compiled, program.executed) if record is not None)
    return [f"note: {plain(note, MAX_LINE_CHARS)}" for record in stage_records for note in record.notes]


def format_seconds(value: float) -> str:
    """Format a duration with its unit: ``1.82 ms``."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= size * 0.9995:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def format_bytes(value: int) -> str:
    """Format a size with its unit: ``524 kB``."""
    for size, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value} B"


def _pluralize(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _stage_summaries(program: ProgramState) -> list[str]:
    """Return a phrase for each stage that a program has reached: traced, compiled, ran."""
    parts = []
    if program.is_operation:
        parts.append(f"operation {plain(program.title)}")
    elif program.traced is not None:
        equations = _pluralize(program.equations, "equation")
        parts.append(f"traced {plain(program.function)}: {equations} in {format_seconds(program.traced.seconds)}")
    if (compiled := program.compiled) is not None:
        hit = " (from the cache)" if compiled.cache == "hit" else ""
        kernel_count = "kernels that nobody knows" if compiled.unread else _pluralize(len(compiled.kernels), "kernel")
        several = len(compiled.devices) > 1
        where = plain(f"{len(compiled.devices)} devices ({compiled.platform})" if several else compiled.platform, 40)
        quick = program.quick_compilation
        how = " quickly" if compiled.quick else ""
        before = (
            f" (quickly in {format_seconds(quick.seconds)} before)" if quick is not None and not compiled.quick else ""
        )
        parts.append(f"compiled{how} in {format_seconds(compiled.seconds)}{hit}{before} to {kernel_count} for {where}")
    if program.continued is not None:
        parts.append(f"{plain(program.function)} is still being compiled in the background")
    if (run := program.executed) is not None:
        times = describe_call_times(run)
        name = "" if parts else f"{plain(program.title)} "
        parts.append(f"{name}ran {_pluralize(run.calls, 'time')}" + (f", {times}" if times else ""))
    return parts


def _clip_jaxpr(jaxpr: str) -> str:
    lines = plain_lines(jaxpr, MAX_TEXT_CHARS).split("\n")
    shown = [plain(line, MAX_LINE_CHARS) for line in lines[:MAX_JAXPR_LINES]]
    return "\n".join(
        [*shown, f"… {len(lines) - MAX_JAXPR_LINES} more lines"] if len(lines) > MAX_JAXPR_LINES else shown
    )


def _kernel_table(program: ProgramState) -> str:
    assert program.compiled is not None
    times = kernel_times(program)
    kernels = sorted(program.compiled.kernels, key=lambda kernel: -times.get(kernel.name, -1.0))
    rows: list[tuple[str, ...]] = [("kernel", "kind", "equations", "time per call", "saved", "operations")]
    operations = {e.path: e.operation for e in program.traced.jaxpr.walk()} if program.traced else {}
    rows += [_kernel_row(kernel, times.get(kernel.name), operations) for kernel in kernels]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines)


def _kernel_row(kernel: Kernel, time: float | None, operations: Mapping[EquationPath, str]) -> tuple[str, ...]:
    names = [plain(operations.get(path, "?"), 40) for path in dict.fromkeys(kernel.equations or kernel.moves)]
    source = " ".join(names[:6]) + (f" +{len(names) - 6}" if len(names) > 6 else "")
    source = f"copies what {source} made" if kernel.moves else source
    return (
        plain(kernel.name, 80),
        plain(kernel.kind, 20),
        str(len(set(kernel.equations))),
        "" if time is None else f"{format_seconds(time)} (measured)",
        format_bytes(kernel.bytes_saved) if kernel.bytes_saved else "",
        source or (f"copies {plain(kernel.copies, 40)}" if kernel.copies else "no source information"),
    )


def kernel_times(program: ProgramState) -> dict[str, float]:
    """Return the seconds per call of each kernel, averaged over the devices."""
    call = program.account.mean if program.account is not None else None
    return {kernel.kernel: kernel.seconds for kernel in call.kernels} if call is not None else {}


def _overlap_note(program: ProgramState) -> list[str]:
    """Return a note with the sum and the union of the kernels' times if kernels ran concurrently, as a list."""
    call = program.account.mean if program.account is not None else None
    if call is None or not call.overlaps:
        return []
    both = format_seconds(call.kernel_seconds), format_seconds(call.running_seconds)
    return [f"kernels overlap in time: their times add up to {both[0]} per call; during {both[1]} at least one ran"]


def _failure_text(failure: Failure) -> str:
    where = f", line {failure.source.line} of {plain(failure.source.file)}" if failure.source else ""
    message = plain_lines(failure.message, MAX_MESSAGE_CHARS)
    if failure.stage == "results":
        return f"{plain(failure.function)}: {message}"
    return (
        f"failed in {plain(failure.stage, 20)} of {plain(failure.function)}{where}\n{plain(failure.error)}: {message}"
    )
