"""Text about the memory of a program: the peak, when it occurs, and the arrays live then."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.formatting import plural, size
from ..analysis.memory import live_buffers_at, live_bytes, peak_position
from ..records import Buffer, Compiled, Equation, EquationPath, Jaxpr, MemoryUse, Record, Traced
from .text import first_record, format_notes, table

#: Number of arrays, and of source lines, that are listed.
MAX_ROWS = 20

KIND_NAMES = {"argument": "argument", "result": "result", "constant": "constant", "temporary": "in between"}


def memory_text(records: Sequence[Record]) -> str:
    """Return the peak memory of a program, a table of the arrays live then, and their bytes by source line.

    ``records`` contain a ``Compiled`` and a ``Traced``.
    """
    compiled, traced = first_record(Compiled, records), first_record(Traced, records)
    use = compiled.memory
    if use is None or not use.buffers:
        return "\n".join([*format_notes(compiled), *_without_buffers(compiled)])
    live = live_bytes(use.buffers, max(len(compiled.kernels), 1))
    peak = peak_position(live)
    peak_buffers = live_buffers_at(use.buffers, peak)
    titles = {item.file: item.title for item in traced.sources}
    equations = {item.path: item for item in traced.jaxpr.walk()}
    parts = [_format_heading(compiled, live[peak], peak), _format_sizes(use), ""]
    parts += table(_buffer_rows(peak_buffers, traced.jaxpr, equations, titles, compiled), right=(1,))
    if len(peak_buffers) > MAX_ROWS:
        remaining = peak_buffers[MAX_ROWS:]
        parts.append(f"{plural(len(remaining), 'more array')}, {size(sum(item.bytes for item in remaining))}")
    return "\n".join([*parts, *_peak_by_line(peak_buffers, equations, titles), *format_notes(compiled)])


def _without_buffers(compiled: Compiled) -> list[str]:
    """Return lines for a program whose compiler does not report live ranges."""
    if compiled.memory is None:
        return [f"{compiled.function}: the compiler for {compiled.platform} reports no plan of memory"]
    sizes = _format_sizes(compiled.memory)
    return [
        f"{compiled.function}: {sizes}",
        f"the compiler for {compiled.platform} does not report which arrays these are",
    ]


def allocated_bytes(use: MemoryUse) -> int:
    """Return the bytes that a call allocates: arguments, results and temporaries. Donated arguments count once."""
    ends: dict[int, int] = {}
    for buffer in use.buffers:
        ends[buffer.allocation] = max(ends.get(buffer.allocation, 0), buffer.offset + buffer.bytes)
    return sum(ends.values())


def _format_heading(compiled: Compiled, most: int, peak: int) -> str:
    assert compiled.memory is not None
    kernel = compiled.kernels[peak].name if compiled.kernels else "nothing"
    moment = f"while {kernel} runs (kernel {peak + 1:,} of {len(compiled.kernels):,})"
    reserved = f"{size(allocated_bytes(compiled.memory))} allocated for the call"
    return f"{compiled.function}: {size(most)} needed at most, {moment}; {reserved}"


def _format_sizes(use: MemoryUse) -> str:
    return (
        f"arguments {size(use.arguments)}, results {size(use.outputs)}, temporaries {size(use.temporaries)}; "
        f"XLA's own peak {size(use.peak)} (XLA's plan; on a CPU its peak leaves temporaries out)"
    )


def _buffer_rows(
    peak_buffers: Sequence[Buffer],
    jaxpr: Jaxpr,
    equations: dict[EquationPath, Equation],
    titles: dict[str, str],
    compiled: Compiled,
) -> list[tuple[str, ...]]:
    """Return the rows of the table of arrays live at the peak, the headings first.

    ``equations`` are those of the program by path, ``titles`` the titles of files; ``jaxpr`` names the arguments.
    """
    rows: list[tuple[str, ...]] = [("held at the peak", "size", "what", "made by", "needed while kernels", "line")]
    for buffer in peak_buffers[:MAX_ROWS]:
        producers = [equations[path] for path in buffer.equations if path in equations]
        name, operations = (
            buffer.maker,
            " ".join(dict.fromkeys(equation.operation for equation in producers)) or "no source information",
        )
        if buffer.kind == "argument":
            name, operations = argument_label(jaxpr, buffer.argument) or buffer.maker, ""
        while_ = f"{buffer.first + 1:,} to {buffer.last + 1:,}"
        rows.append(
            (
                name,
                size(buffer.bytes),
                KIND_NAMES[buffer.kind],
                operations,
                while_,
                _format_locations(producers, titles),
            )
        )
    return rows


def argument_label(jaxpr: Jaxpr, number: int) -> str:
    """Return the user's name of an argument, or the name of its variable; ``""`` if there is no such argument.

    ``number`` counts the constants of the jaxpr first, then its inputs.
    """
    names = (*jaxpr.constants, *jaxpr.inputs)
    if not 0 <= number < len(names):
        return ""
    return jaxpr.variables[names[number]].label or names[number]


def _format_locations(producers: Sequence[Equation], titles: dict[str, str]) -> str:
    locations = [
        f"{titles.get(equation.source.file, equation.source.file)}:{equation.source.line}"
        for equation in producers
        if equation.source is not None
    ]
    return " ".join(dict.fromkeys(locations))


def _peak_by_line(
    peak_buffers: Sequence[Buffer], equations: dict[EquationPath, Equation], titles: dict[str, str]
) -> list[str]:
    """Return the lines of a table of the bytes at the peak by source line; [] if no line is known.

    An array counts for the first line of its equations. ``equations`` are those of the program by path, ``titles`` the
    titles of files.
    """
    sums: dict[str, int] = {}
    for buffer in peak_buffers:
        producers = [equations[path] for path in buffer.equations if path in equations]
        location = _format_locations(producers, titles).split(" ")[0]
        if location:
            sums[location] = sums.get(location, 0) + buffer.bytes
    if not sums:
        return []
    rows = [("source line", "held at the peak")]
    rows += [(location, size(total)) for location, total in sorted(sums.items(), key=lambda item: -item[1])[:MAX_ROWS]]
    return ["", *table(rows, right=(1,))]
