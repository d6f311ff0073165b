"""What was measured, and the compiler's plan of memory, as the JSON that crosses to the browser."""

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

#: Bars sent per device; of a step of more runs, neighbours that are too short to be seen are sent as one, with a count.
MOST_SPANS = 2000
#: Stretches of waiting sent per device.
MOST_WAITS = 500
#: Arrays sent, those needed at the peak first, and points of the curve of memory.
MOST_BUFFERS, MOST_POINTS = 800, 1000

KINDS = ("argument", "result", "constant", "temporary")


def stages(program: Program) -> list[list[Any]]:
    """What the host did for a program: stage, its beginning (seconds since the epoch), seconds, and where from."""
    found: list[list[Any]] = []
    if program.traced is not None and not program.is_operation:
        found.append(["trace", program.traced.time, program.traced.seconds])
    if program.lowered is not None:
        found.append(["lower", program.lowered.time, program.lowered.seconds])
    if program.compiled is not None:
        found.append(["compile", program.compiled.time, program.compiled.seconds, program.compiled.cache])
    return found


def ceilings(programs: Iterable[Program]) -> JSON:
    """What the device can do at most, as the latest program that asked was told; nothing where none has."""
    known = latest_ceilings(programs)
    return {"ceilings": _ceilings(known)} if known is not None else {}


def latest_ceilings(programs: Iterable[Program]) -> Ceilings | None:
    """The ceilings that were measured last."""
    known = (program.ceilings for program in programs if program.ceilings is not None)
    return max(known, key=lambda each: each.time, default=None)


def _ceilings(record: Ceilings) -> JSON:
    words = f"{record.device}, measured here: {record.source}"
    return {"flops_per_s": record.flops, "bytes_per_s": record.bytes_per_second, "source": words}


def executed(record: Executed, account: CallTimes, hot: Sequence[HotKernel], compiled: Compiled | None = None) -> JSON:
    """Calls, the step shown, the account of a call, and every device."""
    waits = waiting_spans(compiled, record) if compiled is not None else {}
    seen = {each.device: each for each in account.devices}
    wire: JSON = {
        "calls": record.calls,
        "seconds": record.seconds,
        "observed": account.calls,
        "step": record.step,
        "devices": [
            _device(device, seen.get(device.device)) | _waiting(waits.get(device.device)) for device in record.devices
        ],
    }
    wire |= {"clock": record.clock} if record.clock in ("host", "profile") else {}
    wire |= {"account": _account(account, hot)} if account.whole is not None else {}
    wire |= {"at_most": True} if record.at_most else {}
    wire |= {"profiling": record.profiling} if record.profiling else {}
    return wire | ({"notes": list(record.notes)} if record.notes else {})


def _account(account: CallTimes, hot: Sequence[HotKernel]) -> JSON:
    """What every view reads: seconds per call by kernel, equation and line, and what part of it has an equation.

    A kernel is its seconds, runs and share, its operations and bytes a second, what bounds it in words, and the larger
    part that it reached of a ceiling. A line is known by the first equation that it made.
    """
    assert account.whole is not None
    wire: JSON = {"kernels": {each.call.kernel: _kernel(each) for each in hot}}
    wire["equations"] = {path: round(seconds, 10) for path, seconds in account.equations.items()}
    wire["lines"] = {each.equation: round(each.seconds, 10) for each in account.lines.values()}
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


def _device(device: DeviceTime, seen: DeviceCall | None) -> JSON:
    """A device; of one that was seen for a part of a step only its bars."""
    wire: JSON = {"name": device.device, "busy": 0.0, "kernels": {}, **_bars(device)}
    if seen is None:
        wire["whole"] = False
    else:
        wire |= {
            "busy": seen.busy,
            "kernels": {each.kernel: [each.runs, round(each.seconds, 10)] for each in seen.kernels},
        }
    if device.transfers:
        wire["transfers"] = _rounded(device.transfers)
        wire |= {"copied": [copies_words(each) for each in copies_of(device)]}
    return wire


def _bars(device: DeviceTime) -> JSON:
    """The bars of a device; of one with streams those of each after the other, and where each stream's begin."""
    streams = streams_of(device)
    if not streams:
        return {"spans": _rounded(device.spans)}
    spans: list[list[Any]] = []
    first: list[list[Any]] = []
    most = max(MOST_SPANS // len(streams), 1)
    for stream in streams:
        first.append([stream.name, len(spans), stream.runs, round(stream.seconds, 9)])
        spans += _rounded([each for each in device.spans if each.stream == stream.name], most)
    idle = idle_of(device)
    return {"spans": spans, "streams": first, "idle": [round(idle.seconds, 9), round(idle.step, 9)]}


def _waiting(spans: Sequence[Span] | None) -> JSON:
    """Where a device waits for others in a collective; of very many the longest."""
    if not spans:
        return {}
    longest = sorted(spans, key=lambda each: -each.duration)[:MOST_WAITS]
    return {"waits": [[each.kernel, round(each.start, 9), round(each.duration, 9)] for each in longest]}


def _rounded(spans: Sequence[Span], most: int = MOST_SPANS) -> list[list[Any]]:
    return [[bar[0], round(bar[1], 9), round(bar[2], 9), *bar[3:]] for bar in merged(spans, most)]


def merged(spans: Sequence[Span], most: int = MOST_SPANS) -> list[list[Any]]:
    """Bars as kernel, start, seconds; of too many, neighbours as one more number: how many runs the bar stands for.

    The kernel of such a bar is the one that took longest in it. A copy has its bytes as a fifth.
    """
    if len(spans) <= most:
        return [[each.kernel, each.start, each.duration, *_size(each)] for each in spans]
    end = max(each.start + each.duration for each in spans)
    width = end / (most / 2)  # as many wide bars at most, and as many bins
    bars: list[list[Any]] = []
    bins: dict[int, list[Span]] = {}
    for each in spans:
        if each.duration >= width:
            bars.append([each.kernel, each.start, each.duration, *_size(each)])
        else:
            bins.setdefault(int(each.start / width), []).append(each)
    for together in bins.values():
        longest = max(together, key=lambda span: span.duration)
        start = min(span.start for span in together)
        stop = max(span.start + span.duration for span in together)
        bars.append([longest.kernel, start, stop - start, len(together)])
    return sorted(bars, key=lambda bar: (bar[1], -bar[2]))


def _size(span: Span) -> list[int]:
    return [] if span.bytes is None else [1, span.bytes]


def memory(record: Compiled) -> JSON:
    """The plan of memory: a curve over the kernels in order, its peak, and the arrays, largest first.

    An array is its maker (the kernel's number, or a name), kind (a number of `KINDS`), bytes, first and last kernel,
    its argument's number or -1, allocation, offset, and its equations where it has no kernel to tell them. Of ``per``
    kernels the curve has their maximum.
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
    wire |= {"own": use.peak, "buffers": [_buffer(each, numbers) for each in shown]}
    return {"memory": wire | {"more": len(use.buffers) - len(shown)}}


def _chosen(buffers: Sequence[Buffer], peak: int) -> list[Buffer]:
    if len(buffers) <= MOST_BUFFERS:
        return list(buffers)
    chosen = dict.fromkeys([*held_at(buffers, peak)[: MOST_BUFFERS // 2], *buffers[: MOST_BUFFERS // 2]])
    return sorted(chosen, key=lambda each: -each.bytes)


def _buffer(each: Buffer, numbers: dict[str, int]) -> list[Any]:
    known = numbers.get(each.maker)
    wire = [each.maker if known is None else known, KINDS.index(each.kind), each.bytes, each.first, each.last]
    return [*wire, each.argument, each.allocation, each.offset, *(each.equations if known is None else ())]
