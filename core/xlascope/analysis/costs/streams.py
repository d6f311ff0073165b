"""Streams, copies and idle time of a GPU or TPU in the profiled step.

A device without streams (a CPU) has none of these.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from ...records.events import DeviceTime, Span
from ..formatting import plural, rate, seconds, size

_COPY_KIND = re.compile(r"([HDP])(?:2|to)([HDP])$")
_MEMORY_KINDS = {"H": "host", "D": "device", "P": "device"}


class Stream(NamedTuple):
    """Queue of a device: the number of kernel runs on it, and the seconds in which at least one of them ran."""

    name: str
    runs: int
    seconds: float


class Copies(NamedTuple):
    """Copies of one kind: their number, bytes (None where one is unknown), and the sum of their times."""

    kind: str
    number: int
    bytes: int | None
    seconds: float


class Idle(NamedTuple):
    """Seconds in which neither a kernel nor a copy ran, and the seconds of the profiled step."""

    seconds: float
    step: float


def streams_of(device: DeviceTime) -> tuple[Stream, ...]:
    """Return the streams of a device in the order in which they began."""
    by_stream: dict[str, list[Span]] = defaultdict(list)
    for span in device.spans:
        if span.stream:
            by_stream[span.stream].append(span)
    return tuple(Stream(name, len(spans), covered_seconds(spans)) for name, spans in by_stream.items())


def copies_of(device: DeviceTime) -> tuple[Copies, ...]:
    """Return the copies of the profiled step, by kind.

    >>> copies = (Span("MemcpyH2D", 0.0, 2e-6, "", 4000), Span("MemcpyH2D", 3e-6, 2e-6, "", 4000))
    >>> copies_of(DeviceTime("gpu:0", 0.0, (), (), copies))
    (Copies(kind='host → device', number=2, bytes=8000, seconds=4e-06),)
    """
    by_kind: dict[str, list[Span]] = defaultdict(list)
    for copy in device.transfers:
        by_kind[kind_of_copy(copy.kernel)].append(copy)
    return tuple(
        Copies(kind, len(copies), _sum_or_none(copy.bytes for copy in copies), sum(copy.duration for copy in copies))
        for kind, copies in by_kind.items()
    )


def _sum_or_none(values: Iterable[int | None]) -> int | None:
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def kind_of_copy(name: str) -> str:
    """Return the direction in a profiler's name for a copy, or the name without its number.

    >>> kind_of_copy("MemcpyH2D"), kind_of_copy("MemcpyP2P"), kind_of_copy("copy-start.12")
    ('host → device', 'device → device', 'copy-start')
    """
    match = _COPY_KIND.search(name)
    return f"{_MEMORY_KINDS[match[1]]} → {_MEMORY_KINDS[match[2]]}" if match else re.sub(r"\.\d+$", "", name)


def idle_of(device: DeviceTime) -> Idle:
    """Return the idle time of a device in the profiled step, from its first kernel to the end of its last one.

    >>> spans = (Span("a", 0.0, 1.0, "Stream #1"), Span("b", 3.0, 1.0, "Stream #1"))
    >>> idle_of(DeviceTime("gpu:0", 0.0, (), spans, (Span("MemcpyH2D", 0.5, 1.5),)))
    Idle(seconds=1.0, step=4.0)
    """
    if not device.spans:
        return Idle(0.0, 0.0)
    start = min(span.start for span in device.spans)
    end = max(span.start + span.duration for span in device.spans)
    running = covered_seconds((*device.spans, *device.transfers), start, end)
    return Idle(max(round(end - start - running, 10), 0.0), end - start)  # sums of times are not exact


def covered_seconds(spans: Iterable[Span], start: float = 0.0, end: float = float("inf")) -> float:
    """Return the time between ``start`` and ``end``, in seconds, that at least one of the spans covers."""
    total, until = 0.0, start
    for span in sorted(spans, key=lambda span: span.start):
        stop = min(span.start + span.duration, end)
        total += max(stop - max(span.start, until), 0.0)
        until = max(until, stop)
    return total


def describe_copies(copies: Copies) -> str:
    """Return a description of copies with their rate.

    >>> describe_copies(Copies("host → device", 2, 8000, 4e-6))
    '2 copies host → device: 8 kB in 4 µs, 2 GB/s'
    >>> describe_copies(Copies("device → host", 1, None, 4e-6))
    '1 copy device → host: 4 µs, bytes unknown'
    """
    number = "1 copy" if copies.number == 1 else f"{copies.number:,} copies"
    if copies.bytes is None:
        return f"{number} {copies.kind}: {seconds(copies.seconds)}, bytes unknown"
    speed = f", {rate(copies.bytes / copies.seconds, 'B')}" if copies.seconds > 0 else ""
    return f"{number} {copies.kind}: {size(copies.bytes)} in {seconds(copies.seconds)}{speed}"


def describe_streams(device: DeviceTime) -> str:
    """Return a description of a device's streams, ``""`` if it has none."""
    streams = streams_of(device)
    return ", ".join(
        f"{stream.name} {seconds(stream.seconds)} ({plural(stream.runs, 'kernel run')})" for stream in streams
    )
