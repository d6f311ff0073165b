"""Static charts of one program as matplotlib figures, for papers, reports and scripts.

Each chart has a title that says what it shows, units on its axes, and the source of its numbers below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import EngFormatter

from xlascope.analysis.costs.call_times import CallTimes
from xlascope.analysis.memory import live_bytes, peak_position
from xlascope.analysis.run_times import describe_call_times
from xlascope.records import Executed, Record, Traced
from xlascope.records.plain import plain

from ..program_store import ProgramState, ProgramStore

COLOURS = {"forward": "#2f6fde", "tangent": "#54309c", "backward": "#c0541b", "": "#9aa5b5"}
INK, RULE = "#5d6878", "#e3e6eb"
#: The maximum number of bars, the largest first; the others are summed in one bar.
MAX_BARS = 24
#: The maximum number of spans drawn per device, and of names written into them.
MAX_SPANS, MAX_SPAN_NAMES = 5000, 60


def chart(shown: Iterable[Record], kind: str) -> Figure:
    """Draw a chart (``timeline``, ``lines``, ``roofline``, ``memory``) of the most important program in the records.

    Raises ValueError for an unknown kind, and for records that lack the necessary data.
    """
    if kind not in CHARTS:
        raise ValueError(f"no chart {kind!r}; there are {', '.join(CHARTS)}")
    program = ProgramStore.of(shown).main
    if program is None:
        raise ValueError("nothing to draw: these records hold no program")
    return CHARTS[kind](program)


def draw_timeline(program: ProgramState) -> Figure:
    """Draw one representative step: a lane per device, a bar per kernel run, coloured by phase."""
    run = _require_executed(program, "timeline")
    lanes = [device for device in run.devices if device.spans]
    if not lanes:
        raise ValueError("no timeline: the profiler saw no kernel run")
    is_complete = run.observed_calls > 0 and all(lane.whole for lane in lanes)
    shown = "One step" if is_complete else "Part of a step"
    figure, axes = _make_figure(1.2 + 0.7 * len(lanes), f"{shown} of {_plain_label(program.function)} on each device")
    passes, longest = _kernel_roles(program), max(s.start + s.duration for device in lanes for s in device.spans)
    for row, device in enumerate(lanes):
        spans = device.spans[:MAX_SPANS]
        axes.broken_barh(
            [(span.start, max(span.duration, longest / 2000)) for span in spans],
            (row - 0.36, 0.72),
            facecolors=[COLOURS[passes.get(span.kernel, "")] for span in spans],
            edgecolor="white",
            linewidth=0.3,
        )
        for span in sorted(spans, key=lambda candidate: -candidate.duration)[:MAX_SPAN_NAMES]:
            max_chars = int(100 * span.duration / longest)
            if max_chars >= 6:
                name = plain(span.kernel, max_chars)
                axes.text(
                    span.start + longest / 400,
                    row,
                    _plain_label(name),
                    va="center",
                    fontsize=6.5,
                    color="white",
                    clip_on=True,
                )
    axes.set_yticks(range(len(lanes)), [_plain_label(device.device, 24) for device in lanes])
    axes.invert_yaxis()
    axes.set_xlim(0, longest)
    axes.xaxis.set_major_formatter(EngFormatter("s"))
    axes.set_xlabel(f"time from the start of the {'step' if is_complete else 'part'}")
    _add_legend(axes, {passes.get(span.kernel, "") for device in lanes for span in device.spans})
    times = describe_call_times(run)
    step = f"; calls: {times}" if times else ""
    return _add_source_note(figure, f"bars: measured by the profiler{step}")


def draw_lines(program: ProgramState) -> Figure:
    """Draw the time per call by source line, the largest first."""
    account, traced = _require_account(program, "lines"), program.traced
    if traced is None or program.compiled is None:
        raise ValueError("no times by line: these records hold no traced and compiled program")
    rows = list(_line_times(traced, account).items())
    shown, remaining = rows[:MAX_BARS], rows[MAX_BARS:]
    if remaining:
        shown.append((f"{len(remaining)} more lines", sum(time for _, time in remaining)))
    figure, axes = _make_figure(
        1.2 + 0.24 * len(shown), f"Time per call of {_plain_label(program.function)} by source line"
    )
    axes.barh([name for name, _ in shown], [time for _, time in shown], color=COLOURS["forward"], height=0.7)
    axes.invert_yaxis()
    axes.tick_params(axis="y", labelsize=7.5)
    for label in axes.get_yticklabels():
        label.set_family("DejaVu Sans Mono")
    axes.xaxis.set_major_formatter(EngFormatter("s"))
    axes.set_xlabel("time per call")
    notes = [note for note in ("measured by the profiler", account.sharing_text) if note]
    return _add_source_note(figure, "; ".join(notes))


def draw_roofline(program: ProgramState) -> Figure:
    """Draw each kernel by its operations per byte and the rate reached, below the device's ceilings."""
    _require_account(program, "roofline")
    if program.traced is None or program.compiled is None:
        raise ValueError("no roofline: these records hold no traced and compiled program")
    points = _roofline_points(program)
    if not points:
        raise ValueError("no roofline: no kernel that was measured has floating-point operations (roofline estimate)")
    figure, axes = _make_figure(
        4.6, f"Kernels of {_plain_label(program.function)}: work per byte, and the rate reached"
    )
    passes, longest = _kernel_roles(program), max(point[3] for point in points)
    for name, intensity, rate, seconds in points:
        size = 12 + 200 * seconds / longest
        axes.scatter(intensity, rate, s=size, color=COLOURS[passes.get(name, "")], alpha=0.65, linewidth=0)
    for name, intensity, rate, _ in sorted(points, key=lambda point: -point[3])[:6]:
        axes.annotate(
            _plain_label(plain(name, 28)),
            (intensity, rate),
            xytext=(6, 4),
            textcoords="offset points",
            fontsize=6.5,
            color=INK,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    source = "rates from the profiler's times; operations and bytes: roofline estimates; area = time per call"
    if (top := program.ceilings) is not None:
        _draw_roof(axes, top.flops, top.bytes_per_second)
        source += f"; ceilings {plain(top.source, 110)}"
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(EngFormatter("FLOP/s"))
    axes.set_xlabel("floating-point operations per byte read and written")
    axes.set_ylabel("rate reached")
    _add_legend(axes, {passes.get(name, "") for name, *_ in points})
    return _add_source_note(figure, source)


def draw_memory(program: ProgramState) -> Figure:
    """Draw the memory needed while each kernel runs, by kind of buffer."""
    compiled = program.compiled
    buffers = compiled.memory.buffers if compiled is not None and compiled.memory is not None else ()
    if compiled is None or not buffers:
        raise ValueError("no memory over time: these records hold no plan of memory (ask inspect.fusions)")
    count = len(compiled.kernels)
    figure, axes = _make_figure(3.4, f"Memory that {_plain_label(program.function)} needs while each kernel runs")
    kinds = {"argument": "#9aa5b5", "constant": "#c9d0da", "result": "#2f6fde", "temporary": "#c0541b"}
    # Arrays may share memory: the height of a kind is the memory needed with it minus the memory needed without it.
    below, stacked = [0] * count, list[Any]()
    for kind, colour in kinds.items():
        stacked += [buffer for buffer in buffers if buffer.kind == kind]
        level = live_bytes(stacked, count)
        if any(a > b for a, b in zip(level, below, strict=True)):
            axes.fill_between(range(count), below, level, step="mid", color=colour, label=kind, linewidth=0)
        below = level
    peak = peak_position(below)
    axes.annotate(
        f"peak {EngFormatter('B', places=1)(below[peak])} at {_plain_label(plain(compiled.kernels[peak].name, 40))}",
        (peak, below[peak]), xytext=(0, 5), textcoords="offset points", fontsize=7.5,
        ha="left" if peak < count / 2 else "right",
    )  # fmt: skip
    axes.set_ylim(0, max(max(below), 1) * 1.15)
    axes.set_xlim(-0.5, count - 0.5)
    axes.yaxis.set_major_formatter(EngFormatter("B"))
    axes.set_xlabel("kernels in the order in which they run")
    axes.legend(frameon=False, fontsize=7.5, loc="lower right", ncols=4, bbox_to_anchor=(1, 1))
    return _add_source_note(figure, "sizes and places: XLA's plan of memory; lifetimes: from the order of kernels")


#: The drawing functions by kind of chart.
CHARTS: dict[str, Callable[[ProgramState], Figure]] = {
    "timeline": draw_timeline,
    "lines": draw_lines,
    "roofline": draw_roofline,
    "memory": draw_memory,
}


def _require_executed(program: ProgramState, chart_kind: str) -> Executed:
    if program.executed is None or not any(device.spans for device in program.executed.devices):
        raise ValueError(f"no {chart_kind}: nothing was measured (ask inspect.timings)")
    return program.executed


def _require_account(program: ProgramState, chart_kind: str) -> CallTimes:
    if program.account is None or program.account.mean is None:
        raise ValueError(f"no {chart_kind}: nothing was measured (ask inspect.timings)")
    return program.account


def _line_times(traced: Traced, account: CallTimes) -> dict[str, float]:
    """Return the seconds per call by source line, the largest first; a line is named by its title, number and code."""
    titles = {item.file: item.title for item in traced.sources}
    texts = {item.file: (item.first_line, item.text.splitlines()) for item in traced.sources}
    times: dict[str, float] = {}
    for (file, line), item in account.lines.items():
        first, text = texts.get(file, (1, []))
        code = text[line - first].strip() if 0 <= line - first < len(text) else ""
        times[_plain_label(plain(f"{titles.get(file, file)}:{line}  {code}", 64))] = item.seconds
    return times


def _roofline_points(program: ProgramState) -> list[tuple[str, float, float, float]]:
    """Return (name, operations per byte, operations per second, seconds per call) of each measured kernel."""
    return [
        (hot_kernel.call.kernel, hot_kernel.flops / hot_kernel.bytes, hot_kernel.flop_rate, hot_kernel.call.seconds)
        for hot_kernel in program.hottest(program.ceilings)
        if hot_kernel.flops and hot_kernel.bytes and hot_kernel.flop_rate
    ]


def _draw_roof(axes: Any, flops: float, bytes_per_second: float) -> None:
    """Draw the device's ceilings as a line over the axes: the bandwidth up to the knee, then the peak of operations.

    ``flops`` is the peak in operations per second. The x axis is operations per byte, extended to show the knee.
    """
    low, high = axes.get_xlim()
    knee = flops / bytes_per_second
    low, high = min(low, knee / 3), max(high, knee * 3)
    axes.plot([low, knee, high], [low * bytes_per_second, flops, flops], color="#1d2330", linewidth=1.2)
    axes.set_xlim(low, high)
    words = EngFormatter("FLOP/s", places=1)(flops), EngFormatter("B/s", places=1)(bytes_per_second)
    axes.annotate(words[0], (high, flops), xytext=(-3, 3), textcoords="offset points", fontsize=7, ha="right")
    axes.annotate(words[1], (low, low * bytes_per_second), xytext=(8, 2), textcoords="offset points", fontsize=7)


def _kernel_roles(program: ProgramState) -> dict[str, str]:
    """Return the role of each kernel by name: backward if any of its equations is, else that of its first equation."""
    roles = {equation.path: equation.role for equation in program.traced.jaxpr.walk()} if program.traced else {}
    by_kernel = {}
    for kernel in program.compiled.kernels if program.compiled else ():
        roles_of_kernel = [roles[path] for path in kernel.equations if path in roles]
        by_kernel[kernel.name] = next(
            (role for role in roles_of_kernel if role == "backward"), roles_of_kernel[0] if roles_of_kernel else ""
        )
    return by_kernel


def _make_figure(height: float, title: str) -> tuple[Figure, Any]:
    figure = Figure(figsize=(9, height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", fontsize=10.5, pad=16)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    return figure, axes


def _add_legend(axes: Any, passes: set[str]) -> None:
    words = {"": "no source information"}
    for role in (name for name in COLOURS if name in passes):
        axes.scatter([], [], color=COLOURS[role], marker="s", label=words.get(role, role))
    axes.legend(frameon=False, fontsize=7.5, loc="lower right", ncols=4, bbox_to_anchor=(1, 1), handletextpad=0.2)


def _add_source_note(figure: Figure, source: str) -> Figure:
    figure.supxlabel(_plain_label(source, 220), fontsize=7, color=INK, x=0.01, ha="left")
    return figure


def _format_seconds(value: float) -> str:
    return str(EngFormatter("s", places=2)(value))


def _plain_label(text: str, most: int = 64) -> str:
    """Return text that matplotlib shows literally, of at most ``most`` characters.

    An unescaped dollar sign would begin a formula.
    """
    return plain(text, most).replace("$", r"\$")


def texts_of(figure: Figure) -> Sequence[str]:
    """Return all texts in a figure, as a screen reader or a test can read them."""
    return [artist.get_text() for artist in figure.findobj(Text) if isinstance(artist, Text)]
