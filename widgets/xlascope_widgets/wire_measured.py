"""What was measured, and the compiler's plan of memory, as the JSON that crosses to the browser."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from xlascope.analysis.memory import held_at, live_bytes, peak_of
from xlascope.records import Buffer, Ceilings, Compiled, DeviceTime, Executed, Span

from .ledger import Program
from .packed import JSON

#: Bars sent per device; of a step of more runs, neighbours that are too short to be seen are sent as one, with a count.
MOST_SPANS = 2000
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
    known = [program.ceilings for program in programs if program.ceilings is not None]
    return {"ceilings": _ceilings(max(known, key=lambda each: each.time))} if known else {}


def _ceilings(record: Ceilings) -> JSON:
    words = f"{record.device}, measured here: {record.source}"
    return {"flops_per_s": record.flops, "bytes_per_s": record.bytes_per_second, "source": words}


def executed(record: Executed) -> JSON:
    """Calls, the step shown, and every device."""
    wire: JSON = {
        "calls": record.calls,
        "seconds": record.seconds,
        "window": record.window,
        "observed": record.observed_calls,
        "step": record.step,
        "devices": [_device(device, record.window) for device in record.devices],
    }
    return wire | ({"notes": list(record.notes)} if record.notes else {})


def _device(device: DeviceTime, window: float) -> JSON:
    wire: JSON = {
        "name": device.device,
        "busy": device.busy / window if window else 0.0,
        "seconds": device.busy,
        "kernels": {k.kernel: [k.calls, round(k.seconds, 9)] for k in device.kernels},
        "spans": _rounded(device.spans),
    }
    return wire | ({"transfers": _rounded(device.transfers)} if device.transfers else {})


def _rounded(spans: Sequence[Span]) -> list[list[Any]]:
    return [[bar[0], round(bar[1], 9), round(bar[2], 9), *bar[3:]] for bar in merged(spans)]


def merged(spans: Sequence[Span]) -> list[list[Any]]:
    """Bars as kernel, start, seconds; of too many, neighbours as one more number: how many runs the bar stands for.

    The kernel of such a bar is the one that took longest in it.
    """
    if len(spans) <= MOST_SPANS:
        return [[each.kernel, each.start, each.duration] for each in spans]
    end = max(each.start + each.duration for each in spans)
    width = end / (MOST_SPANS / 2)  # as many wide bars at most, and as many bins
    bars: list[list[Any]] = []
    bins: dict[int, list[Span]] = {}
    for each in spans:
        if each.duration >= width:
            bars.append([each.kernel, each.start, each.duration])
        else:
            bins.setdefault(int(each.start / width), []).append(each)
    for together in bins.values():
        longest = max(together, key=lambda span: span.duration)
        start = min(span.start for span in together)
        stop = max(span.start + span.duration for span in together)
        bars.append([longest.kernel, start, stop - start, len(together)])
    return sorted(bars, key=lambda bar: (bar[1], -bar[2]))


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
