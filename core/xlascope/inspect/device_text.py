"""Text about a GPU or TPU in timings: its streams, copies and idle time, and the peaks in its profile."""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.costs.streams import copies_of, describe_copies, describe_streams, idle_of
from ..analysis.formatting import percent, plural, rate, seconds, size
from ..records import DeviceTime, Executed, Peaks


def device_activity_lines(run: Executed) -> list[str]:
    """Return lines about the activity of devices with streams in the profiled step."""
    return [line for device in run.devices for line in _iter_lines(device, run.observed_calls)]


def _iter_lines(device: DeviceTime, calls: int) -> Iterator[str]:
    """Yield lines about a device's streams, copies, XLA's own figures and peaks; ``calls`` counts profiled calls."""
    streams = describe_streams(device)
    if streams:
        idle = idle_of(device)
        period = "the step shown" if device.whole else "the part of a step that was seen"
        idle_text = f"{seconds(idle.seconds)} idle ({percent(idle.seconds / idle.step)})" if idle.step else ""
        yield f"{device.device} in {period}, {seconds(idle.step)}: {streams}; {idle_text}".rstrip("; ")
    for copies in copies_of(device):
        yield f"{device.device}: {describe_copies(copies)}"
    if device.whole and calls:
        yield from _iter_xla_figures(device, calls)
    if device.peaks is not None:
        yield f"{device.device}, as its profile says: {describe_peaks(device.peaks)}"


def _iter_xla_figures(device: DeviceTime, calls: int) -> Iterator[str]:
    """Yield one line with XLA's count of operations and bytes per call, and how many kernels that count covers.

    ``calls`` is the number of profiled calls. Nothing is yielded if no kernel has figures.
    """
    with_figures = [
        kernel for kernel in device.kernels if kernel.flops is not None or kernel.bytes_accessed is not None
    ]
    took = sum(kernel.seconds for kernel in with_figures)
    if not with_figures or took <= 0:
        return
    flops = sum((kernel.flops or 0.0) * kernel.calls for kernel in with_figures)
    nbytes = sum((kernel.bytes_accessed or 0.0) * kernel.calls for kernel in with_figures)
    of_all = f"{len(with_figures)} of {plural(len(device.kernels), 'kernel')}"
    rates = f"{rate(flops / took, 'FLOP')} and {rate(nbytes / took, 'B')} while they ran"
    per_call = f"{flops / calls:,.0f} FLOP and {nbytes / calls:,.0f} B per call"
    yield f"{device.device}, XLA's own figures for {of_all}: {per_call}; {rates}"


def describe_peaks(peaks: Peaks) -> str:
    """Return the peaks of a device as text.

    >>> describe_peaks(Peaks(flops=197e12, bytes_per_second=819e9))
    '197 TFLOP/s, 819 GB/s to and from its memory'
    >>> describe_peaks(Peaks(memory=17_179_869_184, cores=132, clock=1.98e9))
    '17.2 GB of memory, 132 cores at 1.98 GHz'
    """
    parts = [rate(peaks.flops, "FLOP")] if peaks.flops else []
    parts += [f"{rate(peaks.bytes_per_second, 'B')} to and from its memory"] if peaks.bytes_per_second else []
    parts += [f"{size(peaks.memory)} of memory"] if peaks.memory else []
    clock = f" at {peaks.clock / 1e9:.3g} GHz" if peaks.clock else ""
    parts += [f"{peaks.cores} cores{clock}"] if peaks.cores else []
    return ", ".join(parts)
