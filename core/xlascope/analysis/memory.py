"""Memory use over time: live bytes per kernel, the peak, and the buffers live at a kernel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ..records import Buffer


def live_bytes(buffers: Iterable[Buffer], kernels: int) -> list[int]:
    """Return the live bytes while each kernel runs, by its index; memory shared by several buffers counts once.

    ``kernels`` is the number of kernels.

    >>> one = Buffer("a", "temporary", (), 0, 0, 64, 0, 1)
    >>> same = Buffer("b", "temporary", (), 0, 32, 32, 1, 2)
    >>> live_bytes([one, same], 3)
    [64, 64, 32]
    """
    begin: dict[int, list[Buffer]] = defaultdict(list)
    end: dict[int, list[Buffer]] = defaultdict(list)
    for buffer in buffers:
        begin[buffer.first].append(buffer)
        end[buffer.last].append(buffer)
    active: dict[int, set[Buffer]] = defaultdict(set)
    sizes: dict[int, int] = {}
    live = []
    for position in range(kernels):
        expired = end[position - 1]
        for buffer in expired:
            active[buffer.allocation].discard(buffer)
        for buffer in begin[position]:
            active[buffer.allocation].add(buffer)
        for allocation in {buffer.allocation for buffer in (*expired, *begin[position])}:
            sizes[allocation] = _covered_bytes(active[allocation])
        live.append(sum(sizes.values()))
    return live


def peak_position(live: list[int]) -> int:
    """Return the first index with the most live bytes, 0 for an empty list."""
    return max(range(len(live)), key=live.__getitem__, default=0)


def live_buffers_at(buffers: Iterable[Buffer], position: int) -> list[Buffer]:
    """Return the buffers that are live while the kernel at index ``position`` runs, largest first.

    A buffer within the memory of a larger one is left out.
    """
    result: list[Buffer] = []
    occupied: dict[int, list[tuple[int, int]]] = defaultdict(list)
    live = [buffer for buffer in buffers if buffer.first <= position <= buffer.last]
    for buffer in sorted(live, key=lambda candidate: -candidate.bytes):
        start, stop = buffer.offset, buffer.offset + buffer.bytes
        if not any(low <= start and stop <= high for low, high in occupied[buffer.allocation]):
            occupied[buffer.allocation].append((start, stop))
            result.append(buffer)
    return result


def _covered_bytes(buffers: Iterable[Buffer]) -> int:
    """Return the bytes of an allocation that at least one of the buffers covers."""
    total, until = 0, 0
    for start, stop in sorted((buffer.offset, buffer.offset + buffer.bytes) for buffer in buffers):
        total += max(stop - max(start, until), 0)
        until = max(until, stop)
    return total
