"""Period of a program's calls: the time between the completions of successive calls in steady state.

Completions are known of some calls only, and those that a waiting thread notices are known late by up to the time
for which Python held the interpreter. So successive completions are joined to blocks that last long enough, and
a block's mean counts once for each of its calls. Long calls are blocks of their own.
"""

from __future__ import annotations

import itertools
import statistics
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...records.events import TimeDistribution

#: Number of completions that are stored of one program.
MAX_ANCHORS = 512
#: Minimum seconds of a block between two moments that the calling thread took itself, and of any other block.
MIN_EXACT_BLOCK_SECONDS, MIN_BLOCK_SECONDS = 2e-4, 1e-2
#: A block lasts at most this fraction of all the time that was measured, so that there are several.
MAX_BLOCK_FRACTION = 0.2
#: Within so many seconds, late notices decide over the mean of a block: there the period is the median of slopes
#: between moments at least this fraction of all calls apart, taken from at most so many moments.
MAX_SHORT_SECONDS, MIN_SLOPE_FRACTION, MAX_SLOPE_ANCHORS = 0.25, 0.3, 40
#: Fewer calls have no median.
MIN_CALLS = 5
#: Calls of which single times are stored.
MAX_FIRST_CALLS = 7
#: Number of warm-up calls after a compilation and without one: up to the first that found everything compiled, and
#: the next.
WARM_UP_AFTER_COMPILING, WARM_UP_CALLS = 3, 2
#: Completions are not enough if other moments are known of more than this multiple of their calls.
MAX_MISSING_FACTOR = 1.5
#: Of a profiled call the devices' share is trusted if it is at least this large.
MIN_BUSY_FRACTION = 0.7
#: Approximate seconds that the profiler adds to each run of a kernel, and the fraction of a call from which on its time
#: is an upper bound. A kernel of 0.36 µs takes 0.8 µs in a profile, one of 3.5 µs takes 3.9 µs.
PROFILER_SECONDS_PER_KERNEL, MAX_PROFILER_FRACTION = 4e-7, 0.1
#: Depth of the queue in which XLA holds calls that did not begin: a call returns late only when it is full.
QUEUE_DEPTH = 32
LOW, HIGH = 0.1, 0.9


class Anchor(NamedTuple):
    """Moment at which ``calls`` calls of a program were complete.

    ``is_exact`` says whether no call was queued behind another: then the calling thread took it, or waited, too.
    ``overhead`` are the seconds that the calling thread spent until then on noting earlier calls, and ``waited`` says
    whether the devices still worked when the call returned: then they did so while it was noted.
    """

    calls: int
    time: float
    is_exact: bool
    overhead: float = 0.0
    waited: bool = False


class Block(NamedTuple):
    """Seconds of a number of successive calls, and when they began and ended."""

    calls: int
    seconds: float
    start: float
    end: float


@dataclass
class CallLog:
    """Log of the completions of one program's calls, from its first call on or from its last compilation.

    ``warm_from`` is the number of calls from which on they are warm (None before the first completion), and
    ``compiled_at`` when the program was compiled last (``time.perf_counter``; None: before the log began).
    ``all_returns`` are the moments at which calls returned to their caller, ``returns`` those of warm calls, and
    ``last_late`` is the last completion that was noticed late.
    """

    compiled_at: float | None = None
    warm_from: int | None = None
    anchors: deque[Anchor] = field(default_factory=lambda: deque(maxlen=MAX_ANCHORS))
    returns: deque[Anchor] = field(default_factory=lambda: deque(maxlen=MAX_ANCHORS))
    all_returns: deque[Anchor] = field(default_factory=lambda: deque(maxlen=MAX_ANCHORS))
    first_calls: list[float] = field(default_factory=list)
    last_late: Anchor | None = None

    def restart(self, now: float) -> bool:
        """Forget the calls before time ``now``, when the program was compiled; return whether there are later ones."""
        later = [anchor for anchor in self.all_returns if anchor.time > now]
        self.compiled_at = now
        self.warm_from = later[0].calls + WARM_UP_AFTER_COMPILING - 1 if later else None
        for moments in (self.anchors, self.returns):
            warm = [anchor for anchor in moments if later and anchor.calls >= (self.warm_from or 0)]
            moments.clear()
            moments.extend(warm)
        self.last_late = None
        if not later:
            self.first_calls.clear()
        return bool(later)

    def add_completion(self, anchor: Anchor, returned: float) -> bool:
        """Add the completion of a call that returned to its caller at ``returned``; return whether it is warm."""
        if not self._is_warm(anchor.calls, returned):
            return False
        self.anchors.append(anchor)
        return True

    def add_return(self, calls: int, returned: float) -> None:
        """Add the return of a call to its caller."""
        self.all_returns.append(Anchor(calls, returned, is_exact=True))
        if self._is_warm(calls, returned):
            self.returns.append(Anchor(calls, returned, is_exact=True))

    def add_single(self, seconds: float) -> None:
        """Add the time of one of the first calls."""
        if len(self.first_calls) < MAX_FIRST_CALLS:
            self.first_calls.append(seconds)

    @property
    def is_warm(self) -> bool:
        """Return whether a warm call is known to be complete."""
        return bool(self.anchors or self.returns)

    def _is_warm(self, calls: int, returned: float) -> bool:
        if self.compiled_at is not None and returned <= self.compiled_at:
            return False  # a call of what was compiled before
        if self.warm_from is None:
            warm_up = WARM_UP_CALLS if self.compiled_at is None else WARM_UP_AFTER_COMPILING
            self.warm_from = calls + warm_up - 1
        return calls >= self.warm_from

    def steady_anchors(self) -> list[Anchor]:
        """Return the moments of warm calls, by number of calls.

        If too few completions are known (results were donated to the next call, or all were noticed late), these are
        the moments at which calls returned while the queue was full. A late one counts only at the end of a run, if
        many calls are missing there.
        """
        anchors = sorted(self.anchors)
        late = self.last_late
        if anchors and late is not None and late.calls - anchors[0].calls > MAX_MISSING_FACTOR * _count_calls(anchors):
            anchors.append(late)
        filled = [anchor for anchor in self.returns if anchor.calls >= (self.warm_from or 0) + QUEUE_DEPTH]
        if _count_calls(filled) > MAX_MISSING_FACTOR * max(_count_calls(anchors), MIN_CALLS):
            return filled
        return _without_overhead(anchors)


def _without_overhead(anchors: list[Anchor]) -> list[Anchor]:
    """Return the moments without the time of noting calls, if that made the loop longer.

    It did if most calls had ended when they returned, or if a call is shorter than noting one and most calls are not
    queued: otherwise the devices work meanwhile. All moments are treated alike. Where some calls had ended and others
    not, differences would be of two clocks otherwise.
    """
    calls, number = _count_calls(anchors), len(anchors)
    if not calls:
        return anchors
    seconds, overhead = anchors[-1].time - anchors[0].time, anchors[-1].overhead - anchors[0].overhead
    has_ended = 2 * sum(not anchor.waited for anchor in anchors) >= number
    is_shorter = seconds / calls < overhead / (number - 1) and 2 * sum(anchor.is_exact for anchor in anchors) > number
    if not has_ended and not is_shorter:
        return anchors
    return [anchor._replace(time=anchor.time - anchor.overhead) for anchor in anchors]


def _count_calls(anchors: Sequence[Anchor]) -> int:
    return anchors[-1].calls - anchors[0].calls if anchors else 0


def is_short(anchors: Sequence[Anchor]) -> bool:
    """Return whether the anchors lie so close together that late notices decide over the mean of a block."""
    return anchors[-1].time - anchors[0].time < MAX_SHORT_SECONDS and not all(item.is_exact for item in anchors)


def median_slope(anchors: Sequence[Anchor]) -> float:
    """Return the median of the seconds per call between moments far apart (Theil 1950, Sen 1968).

    >>> median_slope([Anchor(number, 0.1 * number + (0.04 if number == 3 else 0.0), False) for number in range(8)])
    0.1
    """
    chosen = anchors[:: -(-len(anchors) // MAX_SLOPE_ANCHORS)]
    least = max(MIN_SLOPE_FRACTION * (chosen[-1].calls - chosen[0].calls), 1)
    slopes = [
        (later.time - earlier.time) / (later.calls - earlier.calls)
        for earlier, later in itertools.combinations(chosen, 2)
        if later.calls - earlier.calls >= least
    ]
    return round(statistics.median(slopes), 12) if slopes else 0.0


def join_to_blocks(anchors: Sequence[Anchor]) -> list[Block]:
    """Return blocks of successive calls, each from one of the sorted ``anchors`` to a later one."""
    if len(anchors) < 2:
        return []
    longest = MAX_BLOCK_FRACTION * (anchors[-1].time - anchors[0].time)
    blocks: list[Block] = []
    start = anchors[0]
    for anchor in anchors[1:]:
        least = MIN_EXACT_BLOCK_SECONDS if start.is_exact and anchor.is_exact else MIN_BLOCK_SECONDS
        seconds = anchor.time - start.time
        if seconds >= min(least, longest) and anchor.calls > start.calls and seconds > 0:
            blocks.append(Block(anchor.calls - start.calls, seconds, start.time, anchor.time))
            start = anchor
    return blocks


def distribution_of_blocks(blocks: Iterable[Block], slope: float = 0.0) -> TimeDistribution | None:
    """Return the distribution of the seconds per call, None of fewer than ``MIN_CALLS`` calls.

    ``slope`` is the median, if it is known better than from blocks.

    >>> distribution_of_blocks([Block(5, 0.5, 0.0, 0.5), Block(2, 0.298, 0.5, 0.798)])
    TimeDistribution(median=0.1, low=0.1, high=0.149, mean=0.114, calls=7, clock='host', at_most=False, scale=1.0)
    """
    samples = [(block.seconds / block.calls, block.calls) for block in blocks]
    calls = sum(weight for _, weight in samples)
    if calls < MIN_CALLS:
        return None
    median, low, high = (weighted_quantile(samples, fraction) for fraction in (0.5, LOW, HIGH))
    median = slope or median
    mean = sum(value * weight for value, weight in samples) / calls
    return TimeDistribution(median, min(low, median), max(high, median), mean, calls, "host")


def distribution_of_calls(
    seconds: Sequence[float],
    intervals: Sequence[float] = (),
    kernel_runs: float = 0.0,
    period: TimeDistribution | None = None,
) -> TimeDistribution | None:
    """Return the distribution of the profiler's seconds of single calls, None of fewer than ``MIN_CALLS`` calls.

    ``intervals`` are the profiler's seconds from call to call and ``period`` is that of calls that were not profiled.
    Where the devices are busy for most of an interval that is longer than the period, their share of it is known,
    and the seconds are those of the same share of the period. ``kernel_runs`` is the mean number in a call: the
    profiler's own time in each is a part of the seconds.

    >>> period = TimeDistribution(0.3, 0.3, 0.3, 0.3, 90, "host")
    >>> distribution_of_calls([0.5] * 9, [0.6] * 8, 5.0, period)
    TimeDistribution(median=0.25, low=0.25, high=0.25, mean=0.25, calls=9, clock='profile', at_most=False, scale=0.5)
    """
    samples = [(value, 1) for value in seconds]
    if len(samples) < MIN_CALLS:
        return None
    values = *(weighted_quantile(samples, fraction) for fraction in (0.5, LOW, HIGH)), statistics.fmean(seconds)
    interval, scale = statistics.median(intervals or (0.0,)), 1.0
    if period is not None and MIN_BUSY_FRACTION * interval <= values[0] <= interval:
        scale = round(min(period.median / interval, 1.0), 3)
    is_bound = kernel_runs * PROFILER_SECONDS_PER_KERNEL > MAX_PROFILER_FRACTION * values[0]
    median, low, high, mean = (round(value * scale, 12) for value in values)
    return TimeDistribution(median, low, high, mean, len(samples), "profile", is_bound, scale)


def weighted_quantile(samples: Iterable[tuple[float, int]], fraction: float) -> float:
    """Return the quantile of (value, weight) pairs, where a value counts ``weight`` times; 0.0 of none.

    >>> weighted_quantile([(5.0, 1), (1.0, 3), (9.0, 1)], 0.5)
    1.0
    """
    ordered = sorted(samples)
    until, total = fraction * sum(weight for _, weight in ordered), 0
    for value, weight in ordered:
        total += weight
        if total >= until:
            return value
    return 0.0
