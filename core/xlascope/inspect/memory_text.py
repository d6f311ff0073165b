"""Text about the memory of a program: the peak, when it occurs, and the arrays live then."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.figures import plural, size
from ..analysis.memory import held_at, live_bytes, peak_of
from ..records import Buffer, Compiled, Equation, EquationPath, Jaxpr, MemoryUse, Record, Traced
from .text import one, table, unread

#: Number of arrays, and of source lines, that are listed.
MOST_ROWS = 20

KINDS = {"argument": "argument", "result": "result", "constant": "constant", "temporary": "in between"}


def memory_text(records: Sequence[Record]) -> str:
    """Return the peak, the arrays live at it, and the same by source line."""
    compiled, traced = one(Compiled, records), one(Traced, records)
    use = compiled.memory
    if use is None or not use.buffers:
        return "\n".join([*unread(compiled), *_without_buffers(compiled)])
    live = live_bytes(use.buffers, max(len(compiled.kernels), 1))
    peak = peak_of(live)
    peak_buffers = held_at(use.buffers, peak)
    titles = {item.file: item.title for item in traced.sources}
    equations = {item.path: item for item in traced.jaxpr.walk()}
    parts = [_heading(compiled, live[peak], peak), _own_number(use), ""]
    parts += table(_rows(peak_buffers, traced.jaxpr, equations, titles, compiled), right=(1,))
    if len(peak_buffers) > MOST_ROWS:
        remaining = peak_buffers[MOST_ROWS:]
        parts.append(f"{plural(len(remaining), 'more array')}, {size(sum(item.bytes for item in remaining))}")
    return "\n".join([*parts, *_by_line(peak_buffers, equations, titles), *unread(compiled)])


def _without_buffers(compiled: Compiled) -> list[str]:
    """Return lines for a program whose compiler does not report live ranges."""
    if compiled.memory is None:
        return [f"{compiled.function}: the compiler for {compiled.platform} reports no plan of memory"]
    sizes = _own_number(compiled.memory)
    return [
        f"{compiled.function}: {sizes}",
        f"the compiler for {compiled.platform} does not report which arrays these are",
    ]


def allocated(use: MemoryUse) -> int:
    """Return the bytes that a call allocates: arguments, results and temporaries. Donated arguments count once."""
    ends: dict[int, int] = {}
    for buffer in use.buffers:
        ends[buffer.allocation] = max(ends.get(buffer.allocation, 0), buffer.offset + buffer.bytes)
    return sum(ends.values())


def _heading(compiled: Compiled, most: int, peak: int) -> str:
    assert compiled.memory is not None
    kernel = compiled.kernels[peak].name if compiled.kernels else "nothing"
    moment = f"while {kernel} runs (kernel {peak + 1:,} of {len(compiled.kernels):,})"
    reserved = f"{size(allocated(compiled.memory))} allocated for the call"
    return f"{compiled.function}: {size(most)} needed at most, {moment}; {reserved}"


def _own_number(use: MemoryUse) -> str:
    return (
        f"arguments {size(use.arguments)}, results {size(use.outputs)}, temporaries {size(use.temporaries)}; "
        f"XLA's own peak {size(use.peak)} (XLA's plan; on a CPU its peak leaves temporaries out)"
    )


def _rows(
    peak_buffers: Sequence[Buffer],
    jaxpr: Jaxpr,
    equations: dict[EquationPath, Equation],
    titles: dict[str, str],
    compiled: Compiled,
) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("held at the peak", "size", "what", "made by", "needed while kernels", "line")]
    for buffer in peak_buffers[:MOST_ROWS]:
        producers = [equations[path] for path in buffer.equations if path in equations]
        name, operations = (
            buffer.maker,
            " ".join(dict.fromkeys(equation.operation for equation in producers)) or "no source known",
        )
        if buffer.kind == "argument":
            name, operations = argument_label(jaxpr, buffer.argument) or buffer.maker, ""
        while_ = f"{buffer.first + 1:,} to {buffer.last + 1:,}"
        rows.append((name, size(buffer.bytes), KINDS[buffer.kind], operations, while_, _line(producers, titles)))
    return rows


def argument_label(jaxpr: Jaxpr, number: int) -> str:
    """Return the user's name of an argument, or its variable's name; ``""`` for an invalid number."""
    names = (*jaxpr.constants, *jaxpr.inputs)
    if not 0 <= number < len(names):
        return ""
    return jaxpr.variables[names[number]].label or names[number]


def _line(producers: Sequence[Equation], titles: dict[str, str]) -> str:
    locations = [
        f"{titles.get(equation.source.file, equation.source.file)}:{equation.source.line}"
        for equation in producers
        if equation.source is not None
    ]
    return " ".join(dict.fromkeys(locations))


def _by_line(
    peak_buffers: Sequence[Buffer], equations: dict[EquationPath, Equation], titles: dict[str, str]
) -> list[str]:
    """Return the bytes at the peak per source line; an array counts for the first line of its equations."""
    sums: dict[str, int] = {}
    for buffer in peak_buffers:
        producers = [equations[path] for path in buffer.equations if path in equations]
        location = _line(producers, titles).split(" ")[0]
        if location:
            sums[location] = sums.get(location, 0) + buffer.bytes
    if not sums:
        return []
    rows = [("source line", "held at the peak")]
    rows += [(location, size(total)) for location, total in sorted(sums.items(), key=lambda item: -item[1])[:MOST_ROWS]]
    return ["", *table(rows, right=(1,))]
