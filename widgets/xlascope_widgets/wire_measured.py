"""The JSON encoding of measurements and of the compiler's buffer assignment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from xlascope.analysis.costs.call_times import CallTimes, DeviceCall
from xlascope.analysis.costs.roofline import HotKernel
from xlascope.analysis.costs.streams import copies_of, describe_copies, idle_of, streams_of
from xlascope.analysis.costs.waiting import waiting_spans
from xlascope.analysis.memory import live_buffers_at, live_bytes, peak_position
from xlascope.analysis.run_times import explain_call_times, word_call_times
from xlascope.records import Buffer, Ceilings, Compiled, DeviceTime, Executed, Span

from .encoding import JSON
from .identity_cache import IdentityCache
from .program_store import ProgramState

#: The maximum number of bars sent per device; beyond it, neighbours too short to be visible are merged, with a count.
MAX_SPANS = 2000
#: The maximum number of waits sent per device.
MAX_WAITS = 500
#: The maximum number of buffers sent, those live at the peak first, and of points of the memory curve.
MAX_BUFFERS, MAX_CURVE_POINTS = 800, 1000

#: The number of devices' bars that are encoded once for all reports of a profile.
MAX_ENCODED_DEVICES = 64

_BARS: IdentityCache[JSON] = IdentityCache(MAX_ENCODED_DEVICES)
BUFFER_KINDS = ("argument", "result", "constant", "temporary")


def encode_stages(program: ProgramState) -> list[list[Any]]:
    """Return name, start and seconds of each stage that built a program, and for compilation the cache state.

    The start is in seconds since the epoch.
    """
    rows: list[list[Any]] = []
    if program.traced is not None and not program.is_operation:
        rows.append(["trace", program.traced.time, program.traced.seconds])
    if program.lowered is not None:
        rows.append(["lower", program.lowered.time, program.lowered.seconds])
    if program.compiled is not None:
        rows.append(["compile", program.compiled.time, program.compiled.seconds, program.compiled.cache])
    return rows


def encode_ceilings(programs: Iterable[ProgramState]) -> JSON:
    """Encode the device's ceilings that were measured last with any of the programs, as ``{"ceilings": …}``.

    The dictionary is empty if none of the ``programs`` has measured ceilings.
    """
    latest = latest_ceilings(programs)
    return {"ceilings": _ceilings_fields(latest)} if latest is not None else {}


def latest_ceilings(programs: Iterable[ProgramState]) -> Ceilings | None:
    """Return the ceilings that were measured last with any of the programs, or None."""
    measured = (program.ceilings for program in programs if program.ceilings is not None)
    return max(measured, key=lambda record: record.time, default=None)


def _ceilings_fields(record: Ceilings) -> JSON:
    words = f"{record.device}, measured here: {record.source}"
    return {"flops_per_s": record.flops, "bytes_per_s": record.bytes_per_second, "source": words}


def encode_executed(
    record: Executed, account: CallTimes, hot: Sequence[HotKernel], compiled: Compiled | None = None
) -> JSON:
    """Encode the measurements of a program: calls, their times in words, the breakdown of a call, and every device.

    ``account`` is that breakdown, ``hot`` are the kernels by time; without ``compiled`` there are no waits.
    """
    return encode_numbers(record, account) | encode_profile(record, account, hot, compiled)


def encode_numbers(record: Executed, account: CallTimes) -> JSON:
    """Encode what changes with each report of a program's runs: calls, and their times in words.

    ``account`` is the breakdown of a call.
    """
    wire: JSON = {
        "calls": record.calls,
        "seconds": record.seconds,
        "observed": account.calls,
        "step": record.step,
    }
    wire |= {"clock": record.clock} if record.clock in ("host", "profile") else {}
    wire["times"] = [*word_call_times(record), " ".join(explain_call_times(record))]
    wire |= {"profiling": record.profiling} if record.profiling else {}
    return wire | ({"notes": list(record.notes)} if record.notes else {})


def encode_profile(
    record: Executed, account: CallTimes, hot: Sequence[HotKernel], compiled: Compiled | None = None
) -> JSON:
    """Encode the breakdown of a call, and the activity of every device; arguments as of :func:`encode_executed`."""
    waits = waiting_spans(compiled, record) if compiled is not None else {}
    by_device = {call.device: call for call in account.devices}
    wire: JSON = {
        "devices": [
            _encode_device(device, by_device.get(device.device)) | _encode_waits(waits.get(device.device))
            for device in record.devices
        ]
    }
    return wire | ({"account": _encode_account(account, hot)} if account.mean is not None else {})


def _encode_account(account: CallTimes, hot: Sequence[HotKernel]) -> JSON:
    """Encode the breakdown of a call: seconds by kernel, equation and line, and the attributed fraction.

    A kernel is its seconds, runs and share, its operations and bytes per second, what bounds it in words, and the
    larger share of a ceiling that it reached. A line is identified by its first equation.
    """
    assert account.mean is not None
    wire: JSON = {"kernels": {item.call.kernel: _encode_hot_kernel(item) for item in hot}}
    wire["equations"] = {path: round(seconds, 10) for path, seconds in account.equations.items()}
    wire["lines"] = {item.equation: round(item.seconds, 10) for item in account.lines.values()}
    wire |= {"attributed": account.attributed, "copied": account.copied}
    wire |= {"sharing": account.sharing_text} if account.sharing_text else {}
    if account.mean.overlaps:
        wire["sums"] = [account.mean.kernel_seconds, account.mean.running_seconds]
    return wire


def _encode_hot_kernel(hot: HotKernel) -> list[Any]:
    call = hot.call
    wire: list[Any] = [call.seconds, call.runs, call.share]
    if hot.byte_rate is not None:
        part = max(hot.utilization.compute or 0.0, hot.utilization.memory or 0.0)
        wire += [int(hot.flop_rate or 0), int(hot.byte_rate), hot.utilization.words, part]
    return wire


def _encode_device(device: DeviceTime, call: DeviceCall | None) -> JSON:
    """Encode the activity of a device; ``call`` is its breakdown, None if only a part of a step was observed."""
    wire: JSON = {"name": device.device, "busy": 0.0, "kernels": {}}
    wire |= _BARS.get_or_compute((device,), (), lambda: _encode_bars(device))
    if call is None:
        wire["whole"] = False
    else:
        wire |= {
            "busy": call.busy,
            "kernels": {item.kernel: [item.runs, round(item.seconds, 10)] for item in call.kernels},
        }
    if device.transfers:
        wire["transfers"] = _encode_spans(device.transfers)
        wire |= {"copied": [describe_copies(item) for item in copies_of(device)]}
    return wire


def _encode_bars(device: DeviceTime) -> JSON:
    """Encode the kernel runs of a device in the profiled step, as bars of a timeline.

    With streams, one stream follows the other, and ``streams`` says where each begins.
    """
    streams = streams_of(device)
    if not streams:
        return {"spans": _encode_spans(device.spans)}
    spans: list[list[Any]] = []
    first: list[list[Any]] = []
    most = max(MAX_SPANS // len(streams), 1)
    for stream in streams:
        first.append([stream.name, len(spans), stream.runs, round(stream.seconds, 9)])
        spans += _encode_spans([span for span in device.spans if span.stream == stream.name], most)
    idle = idle_of(device)
    return {"spans": spans, "streams": first, "idle": [round(idle.seconds, 9), round(idle.step, 9)]}


def _encode_waits(spans: Sequence[Span] | None) -> JSON:
    """Encode where a device waits for others in a collective; of very many waits, only the longest."""
    if not spans:
        return {}
    longest = sorted(spans, key=lambda span: -span.duration)[:MAX_WAITS]
    return {"waits": [[span.kernel, round(span.start, 9), round(span.duration, 9)] for span in longest]}


def _encode_spans(spans: Sequence[Span], most: int = MAX_SPANS) -> list[list[Any]]:
    return [[bar[0], round(bar[1], 9), round(bar[2], 9), *bar[3:]] for bar in merge_spans(spans, most)]


def merge_spans(spans: Sequence[Span], most: int = MAX_SPANS) -> list[list[Any]]:
    """Return kernel runs as bars (kernel, start, seconds); neighbours are merged if there are more than ``most``.

    A merged bar has the number of runs that it stands for as a fourth item, and the kernel that took longest. A copy
    has its bytes as a fifth item.
    """
    if len(spans) <= most:
        return [[item.kernel, item.start, item.duration, *_byte_fields(item)] for item in spans]
    end = max(item.start + item.duration for item in spans)
    width = end / (most / 2)  # at most this many wide bars, and as many bins
    bars: list[list[Any]] = []
    bins: dict[int, list[Span]] = {}
    for item in spans:
        if item.duration >= width:
            bars.append([item.kernel, item.start, item.duration, *_byte_fields(item)])
        else:
            bins.setdefault(int(item.start / width), []).append(item)
    for group in bins.values():
        longest = max(group, key=lambda span: span.duration)
        start = min(span.start for span in group)
        stop = max(span.start + span.duration for span in group)
        bars.append([longest.kernel, start, stop - start, len(group)])
    return sorted(bars, key=lambda bar: (bar[1], -bar[2]))


def _byte_fields(span: Span) -> list[int]:
    return [] if span.bytes is None else [1, span.bytes]


def encode_memory(record: Compiled) -> JSON:
    """Encode the buffer assignment: memory in use by kernel, its peak, and the buffers, largest first.

    A buffer is its maker (the kernel's number, or a name), kind (an index into `BUFFER_KINDS`), bytes, first
    and last kernel, its argument's number or -1, allocation, offset, and its equations if it has no kernel
    that names them. Each point of the curve is the maximum over ``per`` kernels.
    """
    use = record.memory
    if use is None or not use.buffers:
        return {}
    live = live_bytes(use.buffers, max(len(record.kernels), 1))
    peak, per = peak_position(live), -(-len(live) // MAX_CURVE_POINTS)
    shown = _select_buffers(use.buffers, peak)
    wire: JSON = {"live": [max(live[i : i + per]) for i in range(0, len(live), per)], "per": per, "at": peak}
    wire |= {"most": live[peak], "arguments": use.arguments, "results": use.outputs, "temporaries": use.temporaries}
    numbers = {kernel.name: number for number, kernel in enumerate(record.kernels)}
    wire |= {"own": use.peak, "buffers": [_encode_buffer(buffer, numbers) for buffer in shown]}
    return {"memory": wire | {"more": len(use.buffers) - len(shown)}}


def _select_buffers(buffers: Sequence[Buffer], peak: int) -> list[Buffer]:
    """Return the buffers to send: if there are too many, the largest ones and those live at the kernel ``peak``."""
    if len(buffers) <= MAX_BUFFERS:
        return list(buffers)
    selected = dict.fromkeys([*live_buffers_at(buffers, peak)[: MAX_BUFFERS // 2], *buffers[: MAX_BUFFERS // 2]])
    return sorted(selected, key=lambda buffer: -buffer.bytes)


def _encode_buffer(buffer: Buffer, numbers: dict[str, int]) -> list[Any]:
    """Encode a buffer as a row of :func:`encode_memory`; ``numbers`` are the kernels' indices by name."""
    kernel_number = numbers.get(buffer.maker)
    wire = [
        buffer.maker if kernel_number is None else kernel_number,
        BUFFER_KINDS.index(buffer.kind),
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
