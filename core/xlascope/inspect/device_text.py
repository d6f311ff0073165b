"""A GPU or TPU in a timing's text: its streams, copies and idle time, and what its profile says that it can do."""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.costs.streams import copies_of, copies_words, idle_of, streams_words
from ..analysis.figures import percent, plural, rate, seconds, size
from ..records import DeviceTime, Executed, Peaks


def beside_kernels(run: Executed) -> list[str]:
    """What devices with streams did in the step shown; no line for those without."""
    return [line for device in run.devices for line in _of(device, run.observed_calls)]


def _of(device: DeviceTime, calls: int) -> Iterator[str]:
    streams = streams_words(device)
    if streams:
        idle = idle_of(device)
        what = "the step shown" if device.whole else "the part of a step that was seen"
        still = f"{seconds(idle.seconds)} idle ({percent(idle.seconds / idle.step)})" if idle.step else ""
        yield f"{device.device} in {what}, {seconds(idle.step)}: {streams}; {still}".rstrip("; ")
    for copies in copies_of(device):
        yield f"{device.device}: {copies_words(copies)}"
    if device.whole and calls:
        yield from _own_figures(device, calls)
    if device.peaks is not None:
        yield f"{device.device}, as its profile says: {peaks_words(device.peaks)}"


def _own_figures(device: DeviceTime, calls: int) -> Iterator[str]:
    """XLA's figures of a call, said of how many kernels they are: others have none."""
    known = [each for each in device.kernels if each.flops is not None or each.bytes_accessed is not None]
    took = sum(each.seconds for each in known)
    if not known or took <= 0:
        return
    flops = sum((each.flops or 0.0) * each.calls for each in known)
    moved = sum((each.bytes_accessed or 0.0) * each.calls for each in known)
    of_all = f"{len(known)} of {plural(len(device.kernels), 'kernel')}"
    at = f"{rate(flops / took, 'FLOP')} and {rate(moved / took, 'B')} while they ran"
    per_call = f"{flops / calls:,.0f} FLOP and {moved / calls:,.0f} B per call"
    yield f"{device.device}, XLA's own figures for {of_all}: {per_call}; {at}"


def peaks_words(peaks: Peaks) -> str:
    """What a device can do at most, in words.

    >>> peaks_words(Peaks(flops=197e12, bytes_per_second=819e9))
    '197 TFLOP/s, 819 GB/s to and from its memory'
    >>> peaks_words(Peaks(memory=17_179_869_184, cores=132, clock=1.98e9))
    '17.2 GB of memory, 132 cores at 1.98 GHz'
    """
    parts = [rate(peaks.flops, "FLOP")] if peaks.flops else []
    parts += [f"{rate(peaks.bytes_per_second, 'B')} to and from its memory"] if peaks.bytes_per_second else []
    parts += [f"{size(peaks.memory)} of memory"] if peaks.memory else []
    clock = f" at {peaks.clock / 1e9:.3g} GHz" if peaks.clock else ""
    parts += [f"{peaks.cores} cores{clock}"] if peaks.cores else []
    return ", ".join(parts)
