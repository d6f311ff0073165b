"""Device-level content of a profile: lines of a GPU or TPU, peaks, and XLA's figures for a TPU's kernels.

The formats are those of XLA's profilers: ``/device:GPU:0`` with a line for each stream (``Stream
#134(Compute)``), whose events carry XLA's annotations, and ``/device:TPU:0`` with the lines ``XLA Modules``,
``XLA Ops`` and ``Async XLA Ops``, whose events are named by their HLO; the figures are attached to the names
(``event_metadata``), not to the events.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..records.events import Peaks
from .memory.wire_format import iter_fields

#: Lines of a device that TensorBoard's tools derive from the others, and lines without runs of kernels.
DERIVED_LINES = frozenset(
    {
        *("Steps", "Framework Ops", "Framework Name Scope", "TensorFlow Ops", "TensorFlow Name Scope", "Source code"),
        *("XLA Modules", "XLA TraceMe", "Launch Stats", "CUPTI overhead", "Source Code", "python"),
    }
)
OPS_LINE, ASYNC_OPS_LINE, MODULES_LINE = "XLA Ops", "Async XLA Ops", "XLA Modules"

_STREAM = re.compile(r"(Stream #\d+)")
_MODULE = re.compile(r"(.+)\((\d+)\)$")
_COPY_SIZE = re.compile(r"\bsize:(\d+)")

# Fields of the messages XSpace, XPlane, XEventMetadata, XStat and of a map's entry.
_PLANES, _NAME, _EVENTS, _STATS_OF_PLANE = 1, 2, 4, 5
_STATS, _VALUE = 5, 2
_STAT_ID, _DOUBLE, _UNSIGNED, _SIGNED = 1, 2, 3, 4


class ModuleRun(NamedTuple):
    """Call of a program on a TPU: XLA's number of the call, and its times in seconds from the start of the window."""

    module: str
    program_id: int
    run: int
    start: float
    end: float


class XlaFigures(NamedTuple):
    """XLA's figures for one run of a kernel; None where there are none."""

    flops: float | None
    bytes_accessed: float | None


def device_of(plane: str) -> str:
    """Return the device of a plane: ``/device:GPU:1`` is gpu:1.

    ``/host:CPU`` is cpu:0; its events have their own device ordinals.

    >>> device_of("/host:CPU"), device_of("/device:GPU:1"), device_of("/device:TPU:3")
    ('cpu:0', 'gpu:1', 'tpu:3')
    """
    parts = plane.split(":")
    platform = parts[1].split(" ")[0].lower() if len(parts) > 1 else "unknown"
    number = parts[2].split(" ")[0] if len(parts) > 2 else "0"
    return f"{platform}:{number}"


def stream_of(device: str, line: str) -> str:
    """Return the stream of a device that a line of the profile stands for, ``""`` for threads of a host.

    >>> stream_of("gpu:0", "Stream #134(Compute,MemcpyD2D)"), stream_of("cpu:0", "tf_XLAEigen/1")
    ('Stream #134', '')
    """
    if device.startswith("cpu:"):
        return ""
    match = _STREAM.match(line)
    return match[1] if match else line


def is_derived_line(device: str, line: str) -> bool:
    """Return whether a line of a profile repeats the events of other lines, or contains no runs of kernels."""
    if device.startswith("cpu:"):
        return False
    return line in DERIVED_LINES or (line in (OPS_LINE, ASYNC_OPS_LINE) and not device.startswith("tpu:"))


def copied_bytes(facts: Mapping[str, Any]) -> int | None:
    """Return the bytes of a GPU's copy from an event's statistics, or None if they are not reported.

    >>> copied_bytes({"memcpy_details": "kind_src:pinned kind_dst:device size:4096 dest:0 async:1"})
    4096
    """
    match = _COPY_SIZE.search(str(facts.get("memcpy_details", "")))
    return int(match[1]) if match else None


def operation_name(event: str) -> str:
    """Return the name of the instruction in an event of a TPU.

    >>> operation_name("%fusion.3 = f32[8]{0} fusion(%p), kind=kLoop"), operation_name("copy-start.1")
    ('fusion.3', 'copy-start.1')
    """
    return event.partition(" = ")[0].removeprefix("%")


def module_runs(lines: Iterable[Any]) -> list[ModuleRun]:
    """Return the calls of programs in a TPU's lines, in order."""
    runs: list[ModuleRun] = []
    for event in (event for line in lines if line.name == MODULES_LINE for event in line.events):
        match = _MODULE.match(event.name)
        facts = dict(event.stats)
        module, number = (match[1], int(match[2])) if match else (event.name, -1)
        run = facts.get("run_id")
        runs.append(
            ModuleRun(
                module,
                number,
                len(runs) if run is None else int(run),
                event.start_ns * 1e-9,
                event.end_ns * 1e-9,
            )
        )
    return sorted(runs, key=lambda module_run: module_run.start)


def peaks_of(plane: Any) -> Peaks | None:
    """Return the peak performance that a device's plane of a profile reports, or None if it reports none."""
    facts = dict(plane.stats)
    flops, bandwidth = (
        _positive_number(facts, "peak_teraflops_per_second"),
        _positive_number(facts, "peak_hbm_bw_gigabytes_per_second"),
    )
    clock, memory, cores = (_positive_number(facts, name) for name in ("clock_rate", "memory_size", "core_count"))
    peaks = Peaks(
        flops=flops * 1e12 if flops else None,
        bytes_per_second=bandwidth * 1e9 if bandwidth else _positive_number(facts, "memory_bandwidth"),
        memory=int(memory) if memory else None,
        cores=int(cores) if cores else None,
        clock=clock * 1e3 if clock else None,  # kilohertz
    )
    return None if peaks == Peaks() else peaks


def _positive_number(facts: Mapping[str, Any], name: str) -> float | None:
    value = facts.get(name)
    return float(value) if isinstance(value, (int, float)) and value > 0 else None


def read_xla_figures(data: bytes) -> dict[str, dict[str, XlaFigures]]:
    """Return XLA's figures for the kernels of each TPU, by device and event name; ``data`` is the serialized profile.

    jaxlib's parser leaves them out.
    """
    figures = {}
    for number, plane in iter_fields(data):
        if number == _PLANES and isinstance(plane, bytes) and b"/device:TPU:" in plane:
            content = list(iter_fields(plane))
            name = next((_decode_text(value) for field, value in content if field == _NAME), "")
            if name.startswith("/device:TPU:"):
                figures[device_of(name)] = dict(_iter_figures(content))
    return figures


def _iter_figures(plane: list[tuple[int, int | bytes]]) -> Iterator[tuple[str, XlaFigures]]:
    """Yield (event name, XLA's figures) of the kernels in a TPU's plane that have figures."""
    names = {
        number: _decode_text(message.get(_NAME, b""))
        for number, message, _ in _iter_map_entries(plane, _STATS_OF_PLANE)
    }
    for _, message, stats in _iter_map_entries(plane, _EVENTS):
        values = {names.get(number, ""): value for number, value in map(_parse_stat, stats)}
        figures = XlaFigures(values.get("flops"), values.get("bytes_accessed"))
        if figures != XlaFigures(None, None):
            yield _decode_text(message.get(_NAME, b"")), figures


def _iter_map_entries(
    plane: list[tuple[int, int | bytes]], field: int
) -> Iterator[tuple[int, dict[int, int | bytes], list[bytes]]]:
    """Yield (key, fields, serialized statistics) of each value of a map of a plane; ``field`` is the map's number."""
    for number, entry in plane:
        if number == field and isinstance(entry, bytes):
            for inner, value in iter_fields(entry):
                if inner == _VALUE and isinstance(value, bytes):
                    content = list(iter_fields(value))
                    message = dict(content)
                    key = message.get(1, 0)
                    stats = [stat for part, stat in content if part == _STATS and isinstance(stat, bytes)]
                    yield key if isinstance(key, int) else 0, message, stats


def _parse_stat(data: bytes) -> tuple[int, float | None]:
    """Return the number of a statistic's name, and its value; None if that is not a number."""
    message = dict(iter_fields(data))
    number = message.get(_STAT_ID, 0)
    value: float | None = None
    for field in (_UNSIGNED, _SIGNED, _DOUBLE):
        content = message.get(field)
        if isinstance(content, int):
            value = float(content)
        elif isinstance(content, bytes) and field == _DOUBLE and len(content) == struct.calcsize("<d"):
            value = float(struct.unpack("<d", content)[0])
    return (number if isinstance(number, int) else 0), value


def _decode_text(value: int | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
