"""Interleaved timing of two programs, so that disturbances of the machine affect both alike."""

from __future__ import annotations

import time
from collections.abc import Callable

from ...analysis.diff import Timing, compare_timings

#: Calls before timing starts: the first ones touch memory for the first time.
WARM_UP_CALLS = 3
#: Approximate seconds of each program in a round; it runs at least once.
ROUND_SECONDS = 0.01
#: Numbers of rounds, and seconds after which no round starts; fewer than eight rounds give no bounds on noise.
MAX_ROUNDS, MIN_ROUNDS, TARGET_SECONDS, MAX_SECONDS = 24, 8, 0.6, 20.0

CLOCK_SOURCE = "host clock, until the results are there"


def time_interleaved(before: Callable[[], None], after: Callable[[], None]) -> Timing:
    """Run both programs in turn and return their times per call; the order changes from round to round.

    ``before`` and ``after`` each make one call and wait for its results.
    """
    runs = (before, after)
    calls = [max(1, int(ROUND_SECONDS / warm_up(run))) for run in runs]
    seconds: tuple[list[float], list[float]] = ([], [])
    began = time.perf_counter()
    for number in range(MAX_ROUNDS):
        for side in (0, 1) if number % 2 else (1, 0):
            seconds[side].append(_seconds_per_call(runs[side], calls[side]))
        elapsed = time.perf_counter() - began
        if elapsed > MAX_SECONDS or (number + 1 >= MIN_ROUNDS and elapsed > TARGET_SECONDS):
            break
    return compare_timings(*seconds, CLOCK_SOURCE)


def warm_up(run: Callable[[], None]) -> float:
    """Call ``run`` a few times and return the seconds of the last call, at least a microsecond."""
    seconds = 0.0
    for _ in range(WARM_UP_CALLS):
        began = time.perf_counter()
        run()
        seconds = time.perf_counter() - began
    return max(seconds, 1e-6)


def _seconds_per_call(run: Callable[[], None], calls: int) -> float:
    began = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - began) / calls
