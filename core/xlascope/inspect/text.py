"""Text of inspections: tables with the unit and the source of each number."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from ..analysis.costs.call_times import CallTimes, DeviceCall, break_down_call
from ..analysis.costs.roofline import MIN_BOUND_FRACTION, HotKernel, kernel_flops, rank_kernels
from ..analysis.costs.waiting import waits_of
from ..analysis.eager_call import EagerCall
from ..analysis.formatting import percent, plural, rate, seconds, size
from ..analysis.run_times import describe_percentiles
from ..ir.user_frames import title_of
from ..records import Ceilings, Collective, Compiled, Equation, EquationPath, Executed, Kernel, Record, Traced
from .device_text import device_activity_lines
from .materialization_text import materialization_line

R = TypeVar("R", Traced, Compiled, Executed)

#: Number of operations in a kernel's row, and of source lines in a timing's.
MAX_NAMES = 8

#: A function is said to be faster, or slower, jitted from this ratio on.
MIN_SPEEDUP_RATIO = 1.1
#: Source of a time per call, by clock.
CLOCK_NAMES = {"host": "host clock, until the results are there", "profile": "profiler", "": "measured"}
NO_COMPLETE_CALL = "the profiler saw no whole call: kernels have no times"


def format_fusions(records: Sequence[Record]) -> str:
    """Return a table of a program's kernels, each with the equations that XLA fused into it, and notes.

    ``records`` contain a ``Compiled`` and a ``Traced``.
    """
    compiled = first_record(Compiled, records)
    equations = _equations_by_path(first_record(Traced, records))
    rows = [("kernel", "kind", "equations", "saved", "operations")]
    for kernel in compiled.kernels:
        kernel_equations = _lookup_equations(kernel.equations, equations)
        description = join_operations(kernel_equations) if kernel_equations else describe_source(kernel, equations)
        rows.append((kernel.name, kernel.kind, str(len(kernel_equations)), _format_saved_bytes(kernel), description))
    first = "\n".join([_compiled_line(compiled, first_record(Traced, records)), *materialization_line(compiled.kept)])
    across = collective_lines(
        compiled, equations, {source.file: source.title for source in first_record(Traced, records).sources}
    )
    return "\n".join([first, *table(rows, right=(2,)), *across, *_notes(compiled, equations), *format_notes(compiled)])


def format_timings(records: Sequence[Record], eager: EagerCall | None = None) -> str:
    """Return a table of a program's kernels with their measured times, and the same time by source line.

    ``records`` contain a ``Compiled``, a ``Traced`` and an ``Executed``. ``eager`` is the call as written if the
    function is not jitted.
    """
    compiled, run = first_record(Compiled, records), first_record(Executed, records)
    equations = _equations_by_path(first_record(Traced, records))
    traced = first_record(Traced, records)
    titles = {item.file: item.title for item in traced.sources}
    ceilings = next((item for item in records if isinstance(item, Ceilings)), None)
    as_written = eager_lines(eager, titles) if eager is not None else []
    parts = [*as_written, _compiled_line(compiled, traced), ("jitted: " if eager is not None else "") + _run_line(run)]
    if ceilings is not None:
        parts.append(_ceilings_line(ceilings))
    account = break_down_call(run, compiled, traced)
    flops = kernel_flops(compiled.kernels, traced.jaxpr, len(compiled.devices))
    for device in account.devices:
        hot = rank_kernels(device, compiled, flops, ceilings)
        parts += ["", *_device_table(device, hot, compiled, equations, titles), *_overlap_lines(device)]
        parts += doubtful_lines(hot)
    parts += device_activity_lines(run)
    parts += collective_timing_lines(compiled, run, account, equations, titles)
    if account.mean is not None:
        parts += [_attribution_line(account), *_lines_by_source(account, titles)]
    parts += format_notes(compiled, run)
    return "\n".join(parts)


def eager_lines(eager: EagerCall, titles: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return lines about a call as written: its times, what it dispatches, and where.

    ``titles`` are the titles of source files.
    """
    lines = [eager.summary + _format_speedup(eager.speedup)]
    lines.append(eager.spread_text)
    if eager.line is not None and eager.operations > 1:
        location = f"{title_of_file(eager.line.file, titles)}:{eager.line.line}"
        lines.append(f"{eager.line_operations:,} of {plural(eager.operations, 'eager operation')} start at {location}")
    if eager.fetches:
        location = (
            f", at {title_of_file(eager.fetch_line.file, titles)}:{eager.fetch_line.line}" if eager.fetch_line else ""
        )
        lines.append(
            f"values fetched to the host: {eager.fetches:,}, {seconds(eager.fetch_seconds)} of a call{location}"
        )
    return [*lines, *(f"note: {note}" for note in eager.notes)]


def _format_speedup(speedup: float) -> str:
    """Return how much faster or slower the jitted function is; ``""`` if that is unknown, or about the same."""
    if not speedup or 1 / MIN_SPEEDUP_RATIO < speedup < MIN_SPEEDUP_RATIO:
        return ""
    return f" ({speedup:.3g} times faster)" if speedup > 1 else f" ({1 / speedup:.3g} times slower)"


def title_of_file(file: str, titles: Mapping[str, str]) -> str:
    """Return the display name of a file: its title in ``titles``, that of a notebook's cell, or its base name."""
    return titles.get(file) or title_of(file) or os.path.basename(file)


def first_record(kind: type[R], records: Iterable[Record]) -> R:
    """Return the first record of the class ``kind``; StopIteration is raised if there is none."""
    return next(record for record in records if isinstance(record, kind))


def _equations_by_path(traced: Traced) -> dict[EquationPath, Equation]:
    return {equation.path: equation for equation in traced.jaxpr.walk()}


def describe_equation_count(traced: Traced) -> str:
    """Return a count such as ``3 equations``, or that it is unknown from StableHLO without names."""
    count = sum(1 for _ in traced.jaxpr.walk())
    return plural(count, "equation") if count or traced.text else "equations unknown"


def describe_kernel_count(compiled: Compiled) -> str:
    """Return a count such as ``3 kernels``, or that the compiler's output could not be read."""
    return "kernels that nobody knows" if compiled.unread else plural(len(compiled.kernels), "kernel")


def _compiled_line(compiled: Compiled, traced: Traced) -> str:
    equations, kernels = describe_equation_count(traced), describe_kernel_count(compiled)
    platform = (
        f"{len(compiled.devices)} devices ({compiled.platform})" if len(compiled.devices) > 1 else compiled.platform
    )
    return f"{compiled.function}: {equations}, compiled in {seconds(compiled.seconds)} to {kernels} for {platform}"


def _notes(compiled: Compiled, equations: dict[EquationPath, Equation]) -> list[str]:
    """Return notes about the table: equations without a kernel of their own, and XLA's own estimate.

    ``equations`` are those of the program by path.
    """
    inside = {path for kernel in compiled.kernels for path in kernel.equations}
    missing = sum(1 for path, equation in equations.items() if path not in inside and not equation.bodies)
    notes = []
    if missing:
        notes.append(f"{plural(missing, 'equation')} in no kernel: folded into others, or only names for data")
    if compiled.flops is not None:
        notes.append(f"{compiled.flops:,.0f} floating-point operations (XLA's estimate)")
    return notes


def format_notes(*sources: Compiled | Executed) -> list[str]:
    """Return notes about compiler or profiler output that could not be read, a line each."""
    return [f"note: {note}" for source in sources for note in source.notes]


def _run_line(run: Executed) -> str:
    """Return a line with the number of calls and the time of one, with its clock."""
    if not run.step:
        return f"{plural(run.calls, 'call')} in {seconds(run.seconds)} (host clock)"
    clock = CLOCK_NAMES.get(run.clock, "by a clock that this version does not know")
    profiled = (
        f"the profiler saw {plural(run.observed_calls, 'whole call')}" if run.observed_calls else NO_COMPLETE_CALL
    )
    spread = "" if run.period is None else f", {describe_percentiles(run.period)}"
    return f"{seconds(run.step)} per call{spread} ({clock}; {plural(run.calls, 'call')}); {profiled}"


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
    """Return the lines of a table of one device's most expensive kernels, ``hot``.

    ``equations`` are those of the program by path, ``titles`` the titles of files.
    """
    kernels = {kernel.name: kernel for kernel in compiled.kernels}
    rows = [(f"kernel on {device.device}", "per call", "share", "FLOP/s", "B/s", "bound by", "operations", "lines")]
    for item in hot:
        kernel = kernels.get(item.call.kernel)
        row_equations = _lookup_equations(kernel.equations, equations) if kernel is not None else []
        flops = rate(item.flop_rate, "") if item.flop_rate else ""
        byte_rate = rate(item.byte_rate, "") if item.byte_rate else ""
        description = join_operations(row_equations) if row_equations else describe_source(kernel, equations)
        figures = seconds(item.call.seconds), percent(item.call.share), flops, byte_rate, item.utilization.words
        rows.append((item.call.kernel, *figures, description, _format_locations(row_equations, titles)))
    return table(rows, right=(1, 2, 3, 4))


def doubtful_lines(hot: Sequence[HotKernel]) -> list[str]:
    """Return a line about kernels that computed more than the device can; no line if there are none."""
    count = sum(item.utilization.is_doubtful for item in hot)
    if not count:
        return []
    return [
        f"{plural(count, 'kernel')} above the measured peak: the time or the calibration is doubtful (a busy machine "
        "when it was calibrated, or fewer operations than the equations have)"
    ]


def collective_lines(compiled: Compiled, equations: dict[EquationPath, Equation], titles: dict[str, str]) -> list[str]:
    """Return a table of the kernels that communicate across devices, as lines; empty if there are none.

    ``equations`` are those of the program by path, ``titles`` the titles of source files.
    """
    rows = [("collective", *_KIND_AND_BYTES, "operations", "lines")]
    for kernel in compiled.kernels:
        if kernel.collective is not None:
            row_equations = _lookup_equations(kernel.equations, equations)
            rows.append(
                (
                    kernel.name,
                    *_kind_and_bytes(kernel.collective),
                    join_operations(row_equations),
                    _format_locations(row_equations, titles),
                )
            )
    return ["", *table(rows, right=(2, 3, 4)), _IN_AND_OUT] if len(rows) > 1 else []


def collective_timing_lines(
    compiled: Compiled,
    run: Executed,
    account: CallTimes,
    equations: dict[EquationPath, Equation],
    titles: dict[str, str],
) -> list[str]:
    """Return a table of the collectives with their times in a call, and how much of that is waiting for others.

    ``equations`` are those of the program by path, ``titles`` the titles of source files.
    """
    if account.mean is None:
        return collective_lines(compiled, equations, titles)
    kernel_calls = {item.kernel: item for item in account.mean.kernels}
    waits = {item.kernel: item for item in waits_of(compiled, run)}
    rows = [("collective", *_KIND_AND_BYTES, "per call", "share", "waits", "operations", "lines")]
    for kernel in compiled.kernels:
        if kernel.collective is None:
            continue
        call, wait, row_equations = (
            kernel_calls.get(kernel.name),
            waits.get(kernel.name),
            _lookup_equations(kernel.equations, equations),
        )
        time = (seconds(call.seconds), percent(call.share)) if call is not None else ("", "")
        words = f"{seconds(wait.waiting)} of {seconds(wait.seconds)}, last {wait.last}" if wait is not None else ""
        columns = (*_kind_and_bytes(kernel.collective), *time, words)
        rows.append((kernel.name, *columns, join_operations(row_equations), _format_locations(row_equations, titles)))
    if len(rows) == 1:
        return []
    return ["", *table(rows, right=(2, 3, 4, 5, 6)), _IN_AND_OUT, *([_WAITS] if waits else [])]


_KIND_AND_BYTES = ("kind", "between", "in", "out")
_IN_AND_OUT = "(in and out: bytes of operands and results on one device, in one run)"
_WAITS = "(waits: until the last device has come; derived from when each began in the step shown; mean of the devices)"


def _kind_and_bytes(collective: Collective) -> tuple[str, str, str, str]:
    between = f"{collective.devices:,}" if collective.devices else "unknown"
    return collective.kind, between, size(collective.operand_bytes), size(collective.result_bytes)


def _overlap_lines(device: DeviceCall) -> list[str]:
    """Return a line with the sum and the union of the kernels' times if they overlap on a device, no line otherwise."""
    if not device.overlaps:
        return []
    return [
        f"kernels on {device.device} overlap in time: their times add up to {seconds(device.kernel_seconds)} per call, "
        f"and during {seconds(device.running_seconds)} of it at least one ran"
    ]


def _attribution_line(account: CallTimes) -> str:
    """Return a line with the shares of the kernels' time in equations and in copies."""
    copied = f", {percent(account.copied)} only copies" if account.copied else ""
    ceiling = f"bound by a ceiling: reached {percent(MIN_BOUND_FRACTION)} of it or more"
    how = f"profiler; rates: roofline estimates; {ceiling}"
    return f"{percent(account.attributed)} of the kernels' time has an equation{copied} ({how})"


def _lines_by_source(account: CallTimes, titles: dict[str, str]) -> list[str]:
    """Return a table of the time per source line, and how the kernels' times were shared by equations.

    ``titles`` are the titles of source files.
    """
    if not account.lines:
        return []
    rows = [("source line", "per call")]
    rows += [
        (f"{titles.get(file, file)}:{line}", seconds(line_time.seconds))
        for (file, line), line_time in account.lines.items()
    ]
    mean = f"mean of {len(account.devices)} devices" if len(account.devices) > 1 else ""
    notes = "; ".join(note for note in (account.sharing_text, mean) if note)
    return ["", *table(rows, right=(1,)), *([f"({notes})"] if notes else [])]


def _lookup_equations(paths: Iterable[EquationPath], equations: dict[EquationPath, Equation]) -> list[Equation]:
    return [equations[path] for path in dict.fromkeys(paths) if path in equations]


def describe_source(kernel: Kernel | None, equations: dict[EquationPath, Equation]) -> str:
    """Return the source of a kernel without equations as text: what it copies, if known.

    ``kernel`` is None if the compiled program has no kernel of that name. ``equations`` are those of the program by
    path.
    """
    copied = _lookup_equations(kernel.moves, equations) if kernel is not None else []
    if not copied and kernel is not None and kernel.kind == "call":
        return "runs what is within"
    if kernel is not None and kernel.copies:
        return f"copies {kernel.copies}"
    return f"copies what {join_operations(copied)} made" if copied else "no source information"


def join_operations(equations: Sequence[Equation]) -> str:
    """Return the operation names of equations, shortened; in a long list, repeated names appear once."""
    names = [equation.operation for equation in equations]
    if len(names) > MAX_NAMES:
        counts = Counter(names)
        names = [f"{name} ×{count}" if count > 1 else name for name, count in counts.items()]
    more = f" +{len(names) - MAX_NAMES}" if len(names) > MAX_NAMES else ""
    return " ".join(names[:MAX_NAMES]) + more if names else "no source information"


def _format_locations(equations: Sequence[Equation], titles: dict[str, str]) -> str:
    """Return the titles and lines of equations, as in ``In[3]:8,9 model.py:4``; ``titles`` are those of files."""
    lines_by_title: dict[str, set[int]] = defaultdict(set)
    for equation in equations:
        if equation.source is not None:
            lines_by_title[titles.get(equation.source.file, equation.source.file)].add(equation.source.line)
    return " ".join(
        f"{title}:{','.join(map(str, sorted(lines)[:MAX_NAMES]))}" for title, lines in lines_by_title.items()
    )


def _format_saved_bytes(kernel: Kernel) -> str:
    return size(kernel.bytes_saved) if kernel.bytes_saved else ""


def table(rows: Sequence[tuple[str, ...]], right: Sequence[int] = ()) -> list[str]:
    """Return rows as lines with aligned columns.

    ``right`` has the numbers of the columns that are aligned to the right.
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(_pad_cells(row, widths, right)).rstrip() for row in rows]


def _pad_cells(row: tuple[str, ...], widths: Sequence[int], right: Sequence[int]) -> Iterable[str]:
    for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
        yield cell.rjust(width) if column in right else cell.ljust(width)
