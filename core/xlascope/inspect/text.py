"""Inspections as text: tables for people, with the unit and the source of each number."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar

from ..analysis.costs.call_times import CallTimes, DeviceCall, call_times, places_of
from ..analysis.costs.roofline import BOUND, HotKernel, hottest, kernel_flops
from ..analysis.costs.waiting import waits_of
from ..analysis.figures import percent, plural, rate, seconds, size
from ..records import Ceilings, Collective, Compiled, Equation, EquationPath, Executed, Kernel, Record, Traced
from .device_text import beside_kernels
from .kept_text import kept_line

R = TypeVar("R", Traced, Compiled, Executed)

#: Operations named in a kernel's row, and source lines in a timing's.
MOST_NAMES = 8

#: Whose a time per call is.
CLOCKS = {"host": "host clock, until the results are there", "profile": "profiler", "": "measured"}
NOT_WHOLE = "the profiler saw no whole call: kernels have no times"


def fusions(found: Sequence[Record]) -> str:
    """The kernels of a program, each with the equations that XLA put into it."""
    compiled = one(Compiled, found)
    equations = _equations(one(Traced, found))
    rows = [("kernel", "kind", "equations", "saved", "operations")]
    for kernel in compiled.kernels:
        known = _told(kernel.equations, equations)
        told = operations(known) if known else source_words(kernel, equations)
        rows.append((kernel.name, kernel.kind, str(len(known)), _saved(kernel), told))
    first = "\n".join([_compiled_line(compiled, one(Traced, found)), *kept_line(compiled.kept)])
    across = collectives(compiled, equations, {each.file: each.title for each in one(Traced, found).sources})
    return "\n".join([first, *table(rows, right=(2,)), *across, *_notes(compiled, equations), *unread(compiled)])


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
    account, flops = (
        call_times(run, compiled, places_of(traced)),
        kernel_flops(compiled.kernels, traced.jaxpr, len(compiled.devices)),
    )
    for device in account.devices:
        hot = hottest(device, compiled, flops, ceilings)
        parts += ["", *_device_table(device, hot, compiled, equations, titles), *_overlap(device)]
    parts += beside_kernels(run)
    parts += across_devices(compiled, run, account, equations, titles)
    if account.whole is not None:
        parts += [_attributed(account), *_by_line(account, titles)]
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
    where = f"{len(compiled.devices)} devices ({compiled.platform})" if len(compiled.devices) > 1 else compiled.platform
    return f"{compiled.function}: {many}, compiled in {seconds(compiled.seconds)} to {kernels} for {where}"


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
    """Calls, and how long one takes: one figure, with the clock that it is from."""
    if not run.step:
        return f"{plural(run.calls, 'call')} in {seconds(run.seconds)} (host clock)"
    clock = CLOCKS.get(run.clock, "by a clock that this version does not know")
    seen = f"the profiler saw {plural(run.observed_calls, 'whole call')}" if run.observed_calls else NOT_WHOLE
    return f"{seconds(run.step)} per call ({clock}; {plural(run.calls, 'call')}); {seen}"


def _ceilings_line(ceilings: Ceilings) -> str:
    at_most = f"{rate(ceilings.flops, 'FLOP')} and {rate(ceilings.bytes_per_second, 'B')}"
    return f"{ceilings.device} can do {at_most} (measured here: {ceilings.source})"


def _device_table(
    device: DeviceCall,
    hot: Sequence[HotKernel],
    compiled: Compiled,
    equations: dict[EquationPath, Equation],
    titles: dict[str, str],
) -> list[str]:
    kernels = {kernel.name: kernel for kernel in compiled.kernels}
    rows = [(f"kernel on {device.device}", "per call", "share", "FLOP/s", "B/s", "bound by", "operations", "lines")]
    for each in hot:
        kernel = kernels.get(each.call.kernel)
        told = _told(kernel.equations, equations) if kernel is not None else []
        flops = rate(each.flop_rate, "") if each.flop_rate else ""
        moved = rate(each.byte_rate, "") if each.byte_rate else ""
        told_as = operations(told) if told else source_words(kernel, equations)
        figures = seconds(each.call.seconds), percent(each.call.share), flops, moved, each.reached.words
        rows.append((each.call.kernel, *figures, told_as, _lines(told, titles)))
    return table(rows, right=(1, 2, 3, 4))


def collectives(compiled: Compiled, equations: dict[EquationPath, Equation], titles: dict[str, str]) -> list[str]:
    """The kernels that cross devices, with the equations that made them necessary; no line where there are none."""
    rows = [("collective", *_KIND_AND_BYTES, "operations", "lines")]
    for kernel in compiled.kernels:
        if kernel.collective is not None:
            told = _told(kernel.equations, equations)
            rows.append((kernel.name, *_kind_and_bytes(kernel.collective), operations(told), _lines(told, titles)))
    return ["", *table(rows, right=(2, 3, 4)), _IN_AND_OUT] if len(rows) > 1 else []


def across_devices(
    compiled: Compiled,
    run: Executed,
    account: CallTimes,
    equations: dict[EquationPath, Equation],
    titles: dict[str, str],
) -> list[str]:
    """The same with what each took of a call, and how much of that is waiting for others."""
    if account.whole is None:
        return collectives(compiled, equations, titles)
    taken = {each.kernel: each for each in account.whole.kernels}
    waits = {each.kernel: each for each in waits_of(compiled, run)}
    rows = [("collective", *_KIND_AND_BYTES, "per call", "share", "waits", "operations", "lines")]
    for kernel in compiled.kernels:
        if kernel.collective is None:
            continue
        call, wait, told = taken.get(kernel.name), waits.get(kernel.name), _told(kernel.equations, equations)
        time = (seconds(call.seconds), percent(call.share)) if call is not None else ("", "")
        words = f"{seconds(wait.waiting)} of {seconds(wait.seconds)}, last {wait.last}" if wait is not None else ""
        what = (*_kind_and_bytes(kernel.collective), *time, words)
        rows.append((kernel.name, *what, operations(told), _lines(told, titles)))
    if len(rows) == 1:
        return []
    return ["", *table(rows, right=(2, 3, 4, 5, 6)), _IN_AND_OUT, *([_WAITS] if waits else [])]


_KIND_AND_BYTES = ("kind", "between", "in", "out")
_IN_AND_OUT = "(in and out: bytes of operands and results on one device, in one run)"
_WAITS = "(waits: until the last device has come; derived from when each began in the step shown; mean of the devices)"


def _kind_and_bytes(collective: Collective) -> tuple[str, str, str, str]:
    between = f"{collective.devices:,}" if collective.devices else "unknown"
    return collective.kind, between, size(collective.operand_bytes), size(collective.result_bytes)


def _overlap(device: DeviceCall) -> list[str]:
    """Both sums, where they differ."""
    if not device.overlaps:
        return []
    return [
        f"kernels on {device.device} overlap in time: their times add up to {seconds(device.kernel_seconds)} per call, "
        f"and during {seconds(device.running_seconds)} of it at least one ran"
    ]


def _attributed(account: CallTimes) -> str:
    """How much of the kernels' time has an equation, and how much only copies what equations made."""
    copied = f", {percent(account.copied)} copies what equations made" if account.copied else ""
    how = f"profiler; rates: our count; bound by a ceiling: reached {percent(BOUND)} of it or more"
    return f"{percent(account.attributed)} of the kernels' time has an equation{copied} ({how})"


def _by_line(account: CallTimes, titles: dict[str, str]) -> list[str]:
    """Time per source line; a kernel's time is split evenly over its equations, since nothing measures them apart."""
    if not account.lines:
        return []
    rows = [("source line", "per call")]
    rows += [
        (f"{titles.get(file, file)}:{line}", seconds(each.seconds)) for (file, line), each in account.lines.items()
    ]
    mean = f", mean of {len(account.devices)} devices" if len(account.devices) > 1 else ""
    return ["", *table(rows, right=(1,)), f"(each kernel's time split evenly over its equations{mean})"]


def _told(paths: Iterable[EquationPath], equations: dict[EquationPath, Equation]) -> list[Equation]:
    return [equations[path] for path in dict.fromkeys(paths) if path in equations]


def source_words(kernel: Kernel | None, equations: dict[EquationPath, Equation]) -> str:
    """What is known of a kernel without equations: whose results it copies, or nothing."""
    moved = _told(kernel.moves, equations) if kernel is not None else []
    if not moved and kernel is not None and kernel.kind == "call":
        return "runs what is within"
    return f"copies what {operations(moved)} made" if moved else "no source known"


def operations(equations: Sequence[Equation]) -> str:
    """The names of the operations of these equations, the first ones; of many, those that come again once."""
    names = [each.operation for each in equations]
    if len(names) > MOST_NAMES:
        counts = Counter(names)
        names = [f"{name} ×{count}" if count > 1 else name for name, count in counts.items()]
    more = f" +{len(names) - MOST_NAMES}" if len(names) > MOST_NAMES else ""
    return " ".join(names[:MOST_NAMES]) + more if names else "no source known"


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
