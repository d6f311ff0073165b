"""Figures in what xlascope shows of a function: the line of the strip or of the text, and what stands behind it.

The line is like ``2 ms each (host clock), one every 5 ms``, ``≤ 2 ms each`` or, of few calls, ``1.2, 1.3, 9.8 ms``.
Behind it (in the record, or on hovering over the strip) are the distributions of the period and of the device time.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

Kind = Literal["period", "call", "device"]
KINDS: tuple[Kind, ...] = ("period", "call", "device")
Mark = Literal["", "unsteady", "uncertain", "bound"]

_UNITS_IN_MS = {"s": 1e3, "ms": 1.0, "µs": 1e-3, "ns": 1e-6}
_TIME = r"([\d.,e+]+) (s|ms|µs|ns)\b"
_EACH = re.compile(rf"(≤ |at most |about |~)?{_TIME} each( on the devices?)?(?: \(([^)]*)\))?")
_MEAN = re.compile(rf"mean {_TIME}")
_EVERY = re.compile(rf"(≤ |at most )?one every {_TIME}")
_RAN = re.compile(r"ran [\d,]+ times?, (.*)")
_MEDIAN = rf": median (≤ )?{_TIME}, 10th to 90th percentile ([\d.,]+) ?(s|ms|µs|ns)? to {_TIME}(?:, mean {_TIME})?"
_BEHIND = {"period": re.compile(r"Period[^:]*" + _MEDIAN), "device": re.compile(r"Time on the devices" + _MEDIAN)}


class Figure(NamedTuple):
    """Time that is shown of a function, in milliseconds, with its percentiles and its mean where they are shown.

    ``mark`` says whether it is marked as ``uncertain`` (``≤``, or single calls instead of a figure), as the ``bound``
    of a device time, or as ``unsteady``: calls differ. ``on_device`` is what the profiler saw, without dispatch.
    """

    kind: Kind
    ms: float
    low: float | None = None
    high: float | None = None
    mark: Mark = ""
    mean: float | None = None
    on_device: bool = False


def line_of(shown: Mapping[str, Any]) -> str:
    """Return the line that is shown of a program's calls; ``""`` if there is none.

    ``shown`` is the record of the program as a dictionary, with ``text`` where that is what is shown, or the part of
    the strip's state about it.
    """
    if "text" in shown:
        found = _RAN.search(shown["text"].splitlines()[0].partition("; ")[2])
        return found[1].partition("; ")[0] if found else ""
    if "times" in shown:
        time, clock, period, *_ = shown["times"]
        return f"{time}{f' ({clock})' if clock else ''}{f', {period}' if period else ''}"
    if not shown.get("step"):
        return ""
    return f"{'≤ ' if shown.get('at_most') else ''}{shown['step'] * 1e3:.4g} ms each ({shown.get('clock', '')} clock)"


def figures(shown: Mapping[str, Any]) -> dict[Kind, Figure]:
    """Return the figures that are shown of a program, by kind; ``shown`` is as for :func:`line_of`."""
    found: dict[Kind, Figure] = {figure.kind: figure for figure in _behind(shown)}
    line = line_of(shown)
    each, every = _EACH.search(line), _EVERY.search(line)
    if each is not None:
        clock = each[5] or ""
        mark: Mark = "uncertain" if each[1] else "unsteady" if "unsteady" in clock else ""
        mean = _MEAN.search(clock)
        call = Figure("call", _ms(each[2], each[3]), mark=mark, mean=_ms(mean[1], mean[2]) if mean else None)
        if "profile" in clock:  # what stands behind the line is of the same calls
            call = call._replace(
                mark="bound" if each[1] and each[4] else call.mark,
                on_device=True,
                mean=found["device"].mean if "device" in found else call.mean,
            )
        found["call"] = call
        if mark == "unsteady" and "period" in found:
            found["period"] = found["period"]._replace(mark=mark)
    if every is not None and "period" not in found:
        found["period"] = Figure("period", _ms(every[2], every[3]), mark="uncertain" if every[1] else "")
    if line and each is None and every is None:
        times = re.findall(r"[\d.]+(?: (?:s|ms|µs|ns))?", line)
        values = [_ms(*_with_unit(times, n)) for n in range(len(times))]
        found["call"] = Figure("call", statistics.median(values), min(values), max(values), mark="uncertain")
    return found


def _with_unit(times: list[str], number: int) -> tuple[str, str]:
    """Return a time of a list and its unit, which may stand behind a later one."""
    unit = next((time.partition(" ")[2] for time in times[number:] if " " in time), "ms")
    return times[number].partition(" ")[0], unit


def _behind(shown: Mapping[str, Any]) -> Iterator[Figure]:
    """Yield the figures behind the line: of the record's distributions, or of the words on hovering."""
    by_kind: dict[Kind, str] = {"period": "period", "device": "device_time"}
    for kind, name in by_kind.items():
        times = shown.get(name)
        if isinstance(times, Mapping):
            median, low, high, mean = (times.get(name) for name in ("median", "low", "high", "mean"))
            mean = mean * 1e3 if mean else None
            mark: Mark = "bound" if times.get("at_most") else ""
            yield Figure(kind, median * 1e3, low * 1e3, high * 1e3, mark, mean=mean, on_device=kind == "device")
        elif "times" in shown and (found := _BEHIND[kind].search(shown["times"][-1])):
            bound, median, unit, low, low_unit, high, high_unit, mean, mean_unit = found.groups()
            ends = _ms(low, low_unit or high_unit), _ms(high, high_unit)
            mean = _ms(mean, mean_unit) if mean else None
            mark = "bound" if bound else ""
            yield Figure(kind, _ms(median, unit), *ends, mark, mean=mean, on_device=kind == "device")


def _ms(number: str, unit: str) -> float:
    return float(number.replace(",", "")) * _UNITS_IN_MS[unit]
