"""What a plan of memory comes to: how many bytes are needed when, when most are, and which arrays hold them then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ..records import Buffer


def live_bytes(buffers: Iterable[Buffer], kernels: int) -> list[int]:
    """How many bytes are needed while each of so many kernels runs; what several names share counts once.

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
        over = end[position - 1]
        for buffer in over:
            active[buffer.allocation].discard(buffer)
        for buffer in begin[position]:
            active[buffer.allocation].add(buffer)
        for allocation in {buffer.allocation for buffer in (*over, *begin[position])}:
            sizes[allocation] = _covered(active[allocation])
        live.append(sum(sizes.values()))
    return live


def peak_of(live: list[int]) -> int:
    """The first position at which most is needed; 0 where nothing runs."""
    return max(range(len(live)), key=live.__getitem__, default=0)


def held_at(buffers: Iterable[Buffer], position: int) -> list[Buffer]:
    """The buffers that are needed while a kernel runs, largest first, without those within another."""
    held: list[Buffer] = []
    taken: dict[int, list[tuple[int, int]]] = defaultdict(list)
    here = [buffer for buffer in buffers if buffer.first <= position <= buffer.last]
    for buffer in sorted(here, key=lambda each: -each.bytes):
        start, stop = buffer.offset, buffer.offset + buffer.bytes
        if not any(low <= start and stop <= high for low, high in taken[buffer.allocation]):
            taken[buffer.allocation].append((start, stop))
            held.append(buffer)
    return held


def _covered(buffers: Iterable[Buffer]) -> int:
    """The bytes of an allocation that at least one of these covers."""
    total, until = 0, 0
    for start, stop in sorted((buffer.offset, buffer.offset + buffer.bytes) for buffer in buffers):
        total += max(stop - max(start, until), 0)
        until = max(until, stop)
    return total
