"""The JSON encoding of measurements and of the compiler's buffer assignment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from xlascope.analysis.costs.call_times import CallTimes, DeviceCall
from xlascope.analysis.costs.roofline import HotKernel
from xlascope.analysis.costs.streams import copies_of, copies_words, idle_of, streams_of
from xlascope.analysis.costs.waiting import waiting_spans
from xlascope.analysis.memory import held_at, live_bytes, peak_of
from xlascope.records import Buffer, Ceilings, Compiled, DeviceTime, Executed, Span

from .ledger import Program
from .packed import JSON

#: The maximum number of bars sent per device; beyond it, neighbours too short to be visible are merged, with a count.
MOST_SPANS = 2000
#: The maximum number of waits sent per device.
MOST_WAITS = 500
#: The maximum number of buffers sent, those live at the peak first, and of points of the memory curve.
MOST_BUFFERS, MOST_POINTS = 800, 1000

KINDS = ("argument", "result", "constant", "temporary")


def stages(program: Program) -> list[list[Any]]:
    """Encode the host's stages of a program: name, start (seconds since the epoch), seconds, and cache state."""
    rows: list[list[Any]] = []
    if program.traced is not None and not program.is_operation:
        rows.append(["trace", program.traced.time, program.traced.seconds])
    if program.lowered is not None:
        rows.append(["lower", program.lowered.time, program.lowered.seconds])
    if program.compiled is not None:
        rows.append(["compile", program.compiled.time, program.compiled.seconds, program.compiled.cache])
    return rows


def ceilings(programs: Iterable[Program]) -> JSON:
    """Encode the most recently measured ceilings of the device; empty if none were measured."""
    latest = latest_ceilings(programs)
    return {"ceilings": _ceilings(latest)} if latest is not None else {}


def latest_ceilings(programs: Iterable[Program]) -> Ceilings | None:
    """Return the ceilings that were measured last."""
    measured = (program.ceilings for program in programs if program.ceilings is not None)
    return max(measured, key=lambda record: record.time, default=None)


def _ceilings(record: Ceilings) -> JSON:
    words = f"{record.device}, measured here: {record.source}"
    return {"flops_per_s": record.flops, "bytes_per_s": record.bytes_per_second, "source": words}


def executed(record: Executed, account: CallTimes, hot: Sequence[HotKernel], compiled: Compiled | None = None) -> JSON:
    """Encode calls, the step shown, the breakdown of a call, and every device."""
    waits = waiting_spans(compiled, record) if compiled is not None else {}
    by_device = {call.device: call for call in account.devices}
    wire: JSON = {
        "calls": record.calls,
        "seconds": record.seconds,
        "observed": account.calls,
        "step": record.step,
        "devices": [
            _device(device, by_device.get(device.device)) | _waiting(waits.get(device.device))
            for device in record.devices
        ],
    }
    wire |= {"clock": record.clock} if record.clock in ("host", "profile") else {}
    wire |= {"account": _account(account, hot)} if account.whole is not None else {}
    wire |= {"at_most": True} if record.at_most else {}
    wire |= {"profiling": record.profiling} if record.profiling else {}
    return wire | ({"notes": list(record.notes)} if record.notes else {})


def _account(account: CallTimes, hot: Sequence[HotKernel]) -> JSON:
    """Encode the breakdown of a call: seconds by kernel, equation and line, and the attributed share.

    A kernel is its seconds, runs and share, its operations and bytes per second, what bounds it in words, and
    the larger share of a ceiling that it reached. A line is identified by its first equation.
    """
    assert account.whole is not None
    wire: JSON = {"kernels": {item.call.kernel: _kernel(item) for item in hot}}
    wire["equations"] = {path: round(seconds, 10) for path, seconds in account.equations.items()}
    wire["lines"] = {item.equation: round(item.seconds, 10) for item in account.lines.values()}
    wire |= {"attributed": account.attributed, "copied": account.copied}
    if account.whole.overlaps:
        wire["sums"] = [account.whole.kernel_seconds, account.whole.running_seconds]
    return wire


def _kernel(hot: HotKernel) -> list[Any]:
    call = hot.call
    wire: list[Any] = [call.seconds, call.runs, call.share]
    if hot.byte_rate is not None:
        part = max(hot.reached.compute or 0.0, hot.reached.memory or 0.0)
        wire += [int(hot.flop_rate or 0), int(hot.byte_rate), hot.reached.words, part]
    return wire


def _device(device: DeviceTime, call: DeviceCall | None) -> JSON:
    """Encode a device; if only part of a step was observed, only its bars."""
    wire: JSON = {"name": device.device, "busy": 0.0, "kernels": {}, **_bars(device)}
    if call is None:
        wire["whole"] = False
    else:
        wire |= {
            "busy": call.busy,
            "kernels": {item.kernel: [item.runs, round(item.seconds, 10)] for item in call.kernels},
        }
    if device.transfers:
        wire["transfers"] = _rounded(device.transfers)
        wire |= {"copied": [copies_words(item) for item in copies_of(device)]}
    return wire


def _bars(device: DeviceTime) -> JSON:
    """Encode the bars of a device; with streams, one stream after the other, and where each begins."""
    streams = streams_of(device)
    if not streams:
        return {"spans": _rounded(device.spans)}
    spans: list[list[Any]] = []
    first: list[list[Any]] = []
    most = max(MOST_SPANS // len(streams), 1)
    for stream in streams:
        first.append([stream.name, len(spans), stream.runs, round(stream.seconds, 9)])
        spans += _rounded([span for span in device.spans if span.stream == stream.name], most)
    idle = idle_of(device)
    return {"spans": spans, "streams": first, "idle": [round(idle.seconds, 9), round(idle.step, 9)]}


def _waiting(spans: Sequence[Span] | None) -> JSON:
    """Encode where a device waits for others in a collective; if there are very many, the longest."""
    if not spans:
        return {}
    longest = sorted(spans, key=lambda span: -span.duration)[:MOST_WAITS]
    return {"waits": [[span.kernel, round(span.start, 9), round(span.duration, 9)] for span in longest]}


def _rounded(spans: Sequence[Span], most: int = MOST_SPANS) -> list[list[Any]]:
    return [[bar[0], round(bar[1], 9), round(bar[2], 9), *bar[3:]] for bar in merged(spans, most)]


def merged(spans: Sequence[Span], most: int = MOST_SPANS) -> list[list[Any]]:
    """Return bars as kernel, start, seconds; merge neighbours if there are too many.

    A merged bar has the number of runs that it stands for as a fourth item, and the kernel that took longest.
    A copy has its bytes as a fifth item.
    """
    if len(spans) <= most:
        return [[item.kernel, item.start, item.duration, *_size(item)] for item in spans]
    end = max(item.start + item.duration for item in spans)
    width = end / (most / 2)  # at most this many wide bars, and as many bins
    bars: list[list[Any]] = []
    bins: dict[int, list[Span]] = {}
    for item in spans:
        if item.duration >= width:
            bars.append([item.kernel, item.start, item.duration, *_size(item)])
        else:
            bins.setdefault(int(item.start / width), []).append(item)
    for group in bins.values():
        longest = max(group, key=lambda span: span.duration)
        start = min(span.start for span in group)
        stop = max(span.start + span.duration for span in group)
        bars.append([longest.kernel, start, stop - start, len(group)])
    return sorted(bars, key=lambda bar: (bar[1], -bar[2]))


def _size(span: Span) -> list[int]:
    return [] if span.bytes is None else [1, span.bytes]


def memory(record: Compiled) -> JSON:
    """Encode the buffer assignment: memory in use by kernel, its peak, and the buffers, largest first.

    A buffer is its maker (the kernel's number, or a name), kind (an index into `BUFFER_KINDS`), bytes, first
    and last kernel, its argument's number or -1, allocation, offset, and its equations if it has no kernel
    that names them. Each point of the curve is the maximum over ``per`` kernels.
    """
    use = record.memory
    if use is None or not use.buffers:
        return {}
    live = live_bytes(use.buffers, max(len(record.kernels), 1))
    peak, per = peak_of(live), -(-len(live) // MOST_POINTS)
    shown = _chosen(use.buffers, peak)
    wire: JSON = {"live": [max(live[i : i + per]) for i in range(0, len(live), per)], "per": per, "at": peak}
    wire |= {"most": live[peak], "arguments": use.arguments, "results": use.outputs, "temporaries": use.temporaries}
    numbers = {kernel.name: number for number, kernel in enumerate(record.kernels)}
    wire |= {"own": use.peak, "buffers": [_buffer(buffer, numbers) for buffer in shown]}
    return {"memory": wire | {"more": len(use.buffers) - len(shown)}}


def _chosen(buffers: Sequence[Buffer], peak: int) -> list[Buffer]:
    if len(buffers) <= MOST_BUFFERS:
        return list(buffers)
    chosen = dict.fromkeys([*held_at(buffers, peak)[: MOST_BUFFERS // 2], *buffers[: MOST_BUFFERS // 2]])
    return sorted(chosen, key=lambda buffer: -buffer.bytes)


def _buffer(buffer: Buffer, numbers: dict[str, int]) -> list[Any]:
    kernel_number = numbers.get(buffer.maker)
    wire = [
        buffer.maker if kernel_number is None else kernel_number,
        KINDS.index(buffer.kind),
        buffer.bytes,
        buffer.first,
        buffer.last,
    ]
    return [
        *wire,
        buffer.argument,
        buffer.allocation,
        buffer.offset,
        *(buffer.equations if kernel_number is None else ()),
    ]
