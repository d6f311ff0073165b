"""Inspections as text: tables for people, with the unit and the source of each number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar

from ..analysis.costs.roofline import HotKernel, attributed_share, hottest
from ..records import (
    Ceilings,
    Compiled,
    DeviceTime,
    Equation,
    EquationPath,
    Executed,
    Kernel,
    KernelTime,
    Record,
    Traced,
)

R = TypeVar("R", Traced, Compiled, Executed)

#: Operations named in a kernel's row, and source lines in a timing's.
MOST_NAMES = 8


def fusions(found: Sequence[Record]) -> str:
    """The kernels of a program, each with the equations that XLA put into it."""
    compiled = one(Compiled, found)
    equations = _equations(one(Traced, found))
    rows = [("kernel", "kind", "equations", "saved", "operations")]
    for kernel in compiled.kernels:
        known = [equations[path] for path in kernel.equations if path in equations]
        rows.append((kernel.name, kernel.kind, str(len(known)), _saved(kernel), operations(known)))
    first = _compiled_line(compiled, one(Traced, found))
    return "\n".join([first, *table(rows, right=(2,)), *_notes(compiled, equations), *unread(compiled)])


def timings(found: Sequence[Record]) -> str:
    """The kernels of a program with their measured times, and the same time by source line."""
    compiled, run = one(Compiled, found), one(Executed, found)
    equations = _equations(one(Traced, found))
    traced = one(Traced, found)
    titles = {each.file: each.title for each in traced.sources}
    ceilings = next((each for each in found if isinstance(each, Ceilings)), None)
    parts = [_compiled_line(compiled, traced), _run_line(run)]
    if ceilings is not None:
        parts.append(_ceilings_line(ceilings))
    for device in run.devices:
        hot = hottest(device, compiled, traced.jaxpr, ceilings)
        parts += _device_table(device, hot, compiled, equations, titles, run)
    parts += unread(compiled, run)
    return "\n".join(parts)


def one(kind: type[R], found: Iterable[Record]) -> R:
    """The first record of a kind."""
    return next(each for each in found if isinstance(each, kind))


def _equations(traced: Traced) -> dict[EquationPath, Equation]:
    return {each.path: each for each in traced.jaxpr.walk()}


def how_many_equations(traced: Traced) -> str:
    """``3 equations``, or that nobody knows: StableHLO was all there was, and its names say nothing of equations."""
    found = sum(1 for _ in traced.jaxpr.walk())
    return plural(found, "equation") if found or traced.text else "equations unknown"


def how_many_kernels(compiled: Compiled) -> str:
    """``3 kernels``, or that nobody knows: what the compiler wrote could not be read."""
    return "kernels that nobody knows" if compiled.unread else plural(len(compiled.kernels), "kernel")


def _compiled_line(compiled: Compiled, traced: Traced) -> str:
    many, kernels = how_many_equations(traced), how_many_kernels(compiled)
    return f"{compiled.function}: {many}, compiled in {seconds(compiled.seconds)} to {kernels} for {compiled.platform}"


def _notes(compiled: Compiled, equations: dict[EquationPath, Equation]) -> list[str]:
    """What the table leaves open: equations without a kernel of their own, and XLA's own estimate."""
    inside = {path for kernel in compiled.kernels for path in kernel.equations}
    missing = sum(1 for path, each in equations.items() if path not in inside and not each.bodies)
    notes = []
    if missing:
        notes.append(f"{plural(missing, 'equation')} in no kernel: folded into others, or only names for data")
    if compiled.flops is not None:
        notes.append(f"{compiled.flops:,.0f} floating-point operations (XLA's estimate)")
    return notes


def unread(*found: Compiled | Executed) -> list[str]:
    """What of the compiler's or the profiler's words could not be read, a line each."""
    return [f"note: {note}" for each in found for note in each.notes]


def _run_line(run: Executed) -> str:
    if not run.observed_calls:
        return f"{plural(run.calls, 'call')} in {seconds(run.seconds)} (host clock); the profiler saw none of them"
    return (
        f"{seconds(run.step)} per call on the devices (profiler, median of {run.observed_calls:,} calls), "
        f"{seconds(run.seconds / run.calls)} per call until the results are there (host clock, mean of {run.calls:,})"
    )


def _ceilings_line(ceilings: Ceilings) -> str:
    at_most = f"{rate(ceilings.flops, 'FLOP')} and {rate(ceilings.bytes_per_second, 'B')}"
    return f"{ceilings.device} can do {at_most} (measured here: {ceilings.source})"


def _device_table(
    device: DeviceTime,
    hot: Sequence[HotKernel],
    compiled: Compiled,
    equations: dict[EquationPath, Equation],
    titles: dict[str, str],
    run: Executed,
) -> list[str]:
    inside = {kernel.name: [equations[p] for p in kernel.equations if p in equations] for kernel in compiled.kernels}
    rows = [(f"kernel on {device.device}", "per call", "share", "FLOP/s", "B/s", "bound", "operations", "lines")]
    for each in hot:
        told = inside.get(each.kernel, [])
        per_call = seconds(each.seconds * each.calls / max(run.observed_calls, 1))
        share = f"{100 * each.share:.0f} %"
        rows.append((each.kernel, per_call, share, *_rates(each), operations(told), _lines(told, titles)))
    known = attributed_share([device], compiled.kernels) or 0.0
    heading = f"{100 * known:.0f} % of the time {device.device} was busy has an equation (profiler; rates: our count)"
    return ["", *table(rows, right=(1, 2, 3, 4)), heading, *_by_line(device.kernels, inside, titles, run)]


def _rates(hot: HotKernel) -> tuple[str, str, str]:
    """Operations and bytes per second, and what part of which ceiling that is."""
    flops = rate(hot.flops / hot.seconds, "") if hot.flops and hot.seconds else ""
    moved = rate(hot.bytes / hot.seconds, "") if hot.bytes and hot.seconds and hot.bound else ""
    if hot.of_ceiling is None:
        return flops, moved, ""
    if hot.bound == "memory" and hot.of_ceiling > 1:
        return flops, moved, "memory, in cache"
    return flops, moved, f"{hot.bound}, {100 * hot.of_ceiling:.0f} %"


def _by_line(
    times: Sequence[KernelTime], inside: dict[str, list[Equation]], titles: dict[str, str], run: Executed
) -> list[str]:
    """Time per source line; a kernel's time is split evenly over its equations, since nothing measures them apart."""
    sums: dict[tuple[str, int], float] = defaultdict(float)
    for each in times:
        told = inside.get(each.kernel, [])
        for equation in told:
            if equation.source is not None:
                place = titles.get(equation.source.file, equation.source.file), equation.source.line
                sums[place] += each.seconds / len(told) / max(run.observed_calls, 1)
    if not sums:
        return []
    rows = [("source line", "per call")]
    rows += [(f"{title}:{line}", seconds(time)) for (title, line), time in sorted(sums.items(), key=lambda x: -x[1])]
    return ["", *table(rows, right=(1,)), "(each kernel's time split evenly over its equations)"]


def operations(equations: Sequence[Equation]) -> str:
    """The names of the operations of these equations, the first ones."""
    names = [each.operation for each in equations]
    more = f" +{len(names) - MOST_NAMES}" if len(names) > MOST_NAMES else ""
    return " ".join(names[:MOST_NAMES]) + more if names else "no equation known"


def _lines(equations: Sequence[Equation], titles: dict[str, str]) -> str:
    """Titles and lines, as in ``In[3]:8,9 model.py:4``."""
    places: dict[str, set[int]] = defaultdict(set)
    for each in equations:
        if each.source is not None:
            places[titles.get(each.source.file, each.source.file)].add(each.source.line)
    return " ".join(f"{title}:{','.join(map(str, sorted(lines)[:MOST_NAMES]))}" for title, lines in places.items())


def _saved(kernel: Kernel) -> str:
    return size(kernel.bytes_saved) if kernel.bytes_saved else ""


def table(rows: Sequence[tuple[str, ...]], right: Sequence[int] = ()) -> list[str]:
    """Rows as lines with aligned columns, those numbered ``right`` to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(_padded(row, widths, right)).rstrip() for row in rows]


def _padded(row: tuple[str, ...], widths: Sequence[int], right: Sequence[int]) -> Iterable[str]:
    for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
        yield cell.rjust(width) if column in right else cell.ljust(width)


def plural(number: int, what: str) -> str:
    """A count and its noun.

    >>> plural(1, "kernel"), plural(2000, "kernel")
    ('1 kernel', '2,000 kernels')
    """
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def seconds(value: float) -> str:
    """A duration with its unit.

    >>> seconds(0.00182), seconds(4.2e-6)
    ('1.82 ms', '4.2 µs')
    """
    for one, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= one * 0.9995:
            return f"{value / one:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def rate(value: float, what: str) -> str:
    """A number of things per second; without a name for the thing, only the number and its power of ten.

    >>> rate(7.8e10, "FLOP"), rate(5.28e9, "")
    ('78 GFLOP/s', '5.28 G')
    """
    for one_of, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= one_of * 0.9995:
            return f"{value / one_of:.3g} {prefix}{what}" + ("/s" if what else "")
    return f"{value:.3g} {what}" + ("/s" if what else "")


def size(value: int) -> str:
    """A number of bytes with its unit.

    >>> size(524288)
    '524 kB'
    """
    for one, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if value >= one:
            return f"{value / one:.3g} {unit}"
    return f"{value} B"
