"""Records as text: for terminals, for ``--text``, and for saved outputs where nothing else can be shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xlascope.analysis.script_text import script_text
from xlascope.records import EquationPath, Failure, Kernel, Record
from xlascope.records.plain import plain, plain_lines

from .ledger import Ledger, Program

#: The source of a call's time.
CLOCKS = {"host": "host clock", "profile": "profiler", "": "measured"}
UNKNOWN_CLOCK = "by a clock that this version does not know"

#: The maximum number of programs of a script described in detail; a table lists all.
MOST_OF_SCRIPT = 5
#: The maximum number of lines of a jaxpr shown in a summary.
MOST_LINES = 40
#: The maximum number of characters of text stored beside the picture in a saved notebook.
MOST_KEPT = 16_000
#: The maximum number of characters of a line, of a whole jaxpr, and of an error message.
MOST_LINE, MOST_TEXT, MOST_MESSAGE = 500, 100_000, 2_000


def text(records: Iterable[Record], *, jaxpr: bool = True) -> str:
    """Return a summary of every program in these records; ``jaxpr=False`` leaves the jaxprs out."""
    return ledger_text(Ledger.of(records), jaxpr=jaxpr)


def ledger_text(store: Ledger, *, jaxpr: bool = True, most: int | None = None) -> str:
    """Return a summary of a store's programs by decreasing importance, at most ``most`` of them."""
    programs = store.by_weight()
    shown = programs[:most] if store.script is None else store.shown(MOST_OF_SCRIPT)[:most]
    parts = [] if store.script is None else [script_text(store.script)]
    parts += [program_text(program, jaxpr=jaxpr) for program in shown] + [_failure(f) for f in store.failures]
    if len(programs) > len(shown) and store.script is None:
        parts.append(_plural(len(programs) - len(shown), "more program"))
    return "\n\n".join(parts) or "xlascope: nothing was traced, compiled or run"


def kept(text: str, most: int = MOST_KEPT) -> str:
    r"""Clip a text to the size that a saved notebook stores, in whole lines.

    >>> clip_text("one\ntwo\nthree", 8).splitlines()
    ['one', 'two', '… 1 more line']
    """
    text = plain_lines(text, len(text))
    if len(text) <= most:
        return text
    shown = text[: most + 1].rpartition("\n")[0] or plain(text, most)
    more = text.count("\n", len(shown) + 1) + 1
    return f"{shown}\n… {_plural(more, 'more line')}"


def program_text(program: Program, *, jaxpr: bool = True) -> str:
    """Return the summary of one program: its stages, its jaxpr if short, its kernels with times."""
    parts = ["; ".join(_stages(program)) or f"{plain(program.function)}: started"]
    if jaxpr and program.traced is not None:
        parts.append(_shortened(program.traced.text))
    if program.compiled is not None and program.compiled.kernels:
        parts.append(_kernel_table(program))
    parts += _overlap(program) + _notes(program)
    if program.failure is not None:
        parts.append(_failure(program.failure))
    return "\n".join(part for part in parts if part)


def _notes(program: Program) -> list[str]:
    """Return notes about output of the compiler or profiler that could not be parsed."""
    stage_records = (record for record in (program.compiled, program.executed) if record is not None)
    return [f"note: {plain(note, MOST_LINE)}" for record in stage_records for note in record.notes]


def seconds(value: float) -> str:
    """Format a duration with its unit: ``1.82 ms``."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= size * 0.9995:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def byte_size(value: int) -> str:
    """Format a size with its unit: ``524 kB``."""
    for size, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value} B"


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _stages(program: Program) -> list[str]:
    parts = []
    if program.is_operation:
        parts.append(f"operation {plain(program.function)}")
    elif program.traced is not None:
        equations = _plural(program.equations, "equation")
        parts.append(f"traced {plain(program.function)}: {equations} in {seconds(program.traced.seconds)}")
    if (compiled := program.compiled) is not None:
        hit = " (from the cache)" if compiled.cache == "hit" else ""
        kernel_count = "kernels that nobody knows" if compiled.unread else _plural(len(compiled.kernels), "kernel")
        several = len(compiled.devices) > 1
        where = plain(f"{len(compiled.devices)} devices ({compiled.platform})" if several else compiled.platform, 40)
        quick = program.quick
        how = " quickly" if compiled.quick else ""
        before = f" (quickly in {seconds(quick.seconds)} before)" if quick is not None and not compiled.quick else ""
        parts.append(f"compiled{how} in {seconds(compiled.seconds)}{hit}{before} to {kernel_count} for {where}")
    if program.continued is not None:
        parts.append(f"{plain(program.function)} is still being compiled in the background")
    if (run := program.executed) is not None:
        step_time = f", {seconds(run.step)} each ({CLOCKS.get(run.clock, UNKNOWN_CLOCK)})" if run.step else ""
        parts.append(f"ran {_plural(run.calls, 'time')}{step_time}")
    return parts


def _shortened(jaxpr: str) -> str:
    lines = plain_lines(jaxpr, MOST_TEXT).split("\n")
    shown = [plain(line, MOST_LINE) for line in lines[:MOST_LINES]]
    return "\n".join([*shown, f"… {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else shown)


def _kernel_table(program: Program) -> str:
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
        "" if time is None else f"{seconds(time)} (measured)",
        byte_size(kernel.bytes_saved) if kernel.bytes_saved else "",
        source or "no source known",
    )


def kernel_times(program: Program) -> dict[str, float]:
    """Return the seconds per call of each kernel, averaged over the devices."""
    call = program.account.whole if program.account is not None else None
    return {kernel.kernel: kernel.seconds for kernel in call.kernels} if call is not None else {}


def _overlap(program: Program) -> list[str]:
    """Return a note with both totals if kernels ran concurrently."""
    call = program.account.whole if program.account is not None else None
    if call is None or not call.overlaps:
        return []
    both = seconds(call.kernel_seconds), seconds(call.running_seconds)
    return [f"kernels overlap in time: their times add up to {both[0]} per call; during {both[1]} at least one ran"]


def _failure(failure: Failure) -> str:
    where = f", line {failure.source.line} of {plain(failure.source.file)}" if failure.source else ""
    message = plain_lines(failure.message, MOST_MESSAGE)
    return (
        f"failed in {plain(failure.stage, 20)} of {plain(failure.function)}{where}\n{plain(failure.error)}: {message}"
    )
