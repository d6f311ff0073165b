"""The memory of a program as text: how much at most, when, and what holds it then."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.figures import plural, size
from ..analysis.memory import held_at, live_bytes, peak_of
from ..records import Buffer, Compiled, Equation, EquationPath, Jaxpr, MemoryUse, Record, Traced
from .text import one, table, unread

#: Arrays and source lines listed.
MOST_ROWS = 20

KINDS = {"argument": "argument", "result": "result", "constant": "constant", "temporary": "in between"}


def memory_text(found: Sequence[Record]) -> str:
    """The peak, the arrays that hold it, and the same by source line."""
    compiled, traced = one(Compiled, found), one(Traced, found)
    use = compiled.memory
    if use is None or not use.buffers:
        return "\n".join([*unread(compiled), *_without_buffers(compiled)])
    live = live_bytes(use.buffers, max(len(compiled.kernels), 1))
    peak = peak_of(live)
    held = held_at(use.buffers, peak)
    titles = {each.file: each.title for each in traced.sources}
    equations = {each.path: each for each in traced.jaxpr.walk()}
    parts = [_heading(compiled, live[peak], peak), _own_number(use), ""]
    parts += table(_rows(held, traced.jaxpr, equations, titles, compiled), right=(1,))
    if len(held) > MOST_ROWS:
        rest = held[MOST_ROWS:]
        parts.append(f"{plural(len(rest), 'more array')}, {size(sum(each.bytes for each in rest))}")
    return "\n".join([*parts, *_by_line(held, equations, titles), *unread(compiled)])


def _without_buffers(compiled: Compiled) -> list[str]:
    """Return what is known of a program whose compiler does not report when which array is needed."""
    if compiled.memory is None:
        return [f"{compiled.function}: the compiler for {compiled.platform} reports no plan of memory"]
    sizes = _own_number(compiled.memory)
    return [
        f"{compiled.function}: {sizes}",
        f"the compiler for {compiled.platform} does not report which arrays these are",
    ]


def allocated(use: MemoryUse) -> int:
    """What a call reserves, in bytes: arguments, results and temporaries. A donated argument counts once."""
    ends: dict[int, int] = {}
    for each in use.buffers:
        ends[each.allocation] = max(ends.get(each.allocation, 0), each.offset + each.bytes)
    return sum(ends.values())


def _heading(compiled: Compiled, most: int, peak: int) -> str:
    assert compiled.memory is not None
    at = compiled.kernels[peak].name if compiled.kernels else "nothing"
    where = f"while {at} runs (kernel {peak + 1:,} of {len(compiled.kernels):,})"
    reserved = f"{size(allocated(compiled.memory))} allocated for the call"
    return f"{compiled.function}: {size(most)} needed at most, {where}; {reserved}"


def _own_number(use: MemoryUse) -> str:
    return (
        f"arguments {size(use.arguments)}, results {size(use.outputs)}, temporaries {size(use.temporaries)}; "
        f"XLA's own peak {size(use.peak)} (XLA's plan; on a CPU its peak leaves temporaries out)"
    )


def _rows(
    held: Sequence[Buffer],
    jaxpr: Jaxpr,
    equations: dict[EquationPath, Equation],
    titles: dict[str, str],
    compiled: Compiled,
) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("held at the peak", "size", "what", "made by", "needed while kernels", "line")]
    for each in held[:MOST_ROWS]:
        made = [equations[path] for path in each.equations if path in equations]
        name, by = each.maker, " ".join(dict.fromkeys(equation.operation for equation in made)) or "no source known"
        if each.kind == "argument":
            name, by = argument_label(jaxpr, each.argument) or each.maker, ""
        while_ = f"{each.first + 1:,} to {each.last + 1:,}"
        rows.append((name, size(each.bytes), KINDS[each.kind], by, while_, _line(made, titles)))
    return rows


def argument_label(jaxpr: Jaxpr, number: int) -> str:
    """What the user calls an argument, or its variable's name; ``""`` where the number is none."""
    names = (*jaxpr.constants, *jaxpr.inputs)
    if not 0 <= number < len(names):
        return ""
    return jaxpr.variables[names[number]].label or names[number]


def _line(made: Sequence[Equation], titles: dict[str, str]) -> str:
    places = [f"{titles.get(e.source.file, e.source.file)}:{e.source.line}" for e in made if e.source is not None]
    return " ".join(dict.fromkeys(places))


def _by_line(held: Sequence[Buffer], equations: dict[EquationPath, Equation], titles: dict[str, str]) -> list[str]:
    """Bytes at the peak per source line: an array belongs to the first line that its equations name."""
    sums: dict[str, int] = {}
    for each in held:
        made = [equations[path] for path in each.equations if path in equations]
        place = _line(made, titles).split(" ")[0]
        if place:
            sums[place] = sums.get(place, 0) + each.bytes
    if not sums:
        return []
    rows = [("source line", "held at the peak")]
    rows += [(place, size(total)) for place, total in sorted(sums.items(), key=lambda item: -item[1])[:MOST_ROWS]]
    return ["", *table(rows, right=(1,))]
