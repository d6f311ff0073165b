"""Interleaved timing of two programs, so that disturbances of the machine affect both alike."""

from __future__ import annotations

import time
from collections.abc import Callable

from ...analysis.diff import Timing, timing

#: Calls before timing starts: the first ones touch memory for the first time.
WARM_UP = 3
#: Approximate seconds of each program in a round; it runs at least once.
SECONDS_A_ROUND = 0.01
#: Numbers of rounds, and seconds after which no round starts; fewer than eight rounds give no bounds on noise.
ROUNDS, FEWEST, SECONDS, MOST_SECONDS = 24, 8, 0.6, 20.0

SOURCE = "host clock, until the results are there"


def alternate(before: Callable[[], None], after: Callable[[], None]) -> Timing:
    """Run both programs in turn and return their times per call; the order changes from round to round."""
    runs = (before, after)
    calls = [max(1, int(SECONDS_A_ROUND / warm_up(run))) for run in runs]
    seconds: tuple[list[float], list[float]] = ([], [])
    began = time.perf_counter()
    for number in range(ROUNDS):
        for side in (0, 1) if number % 2 else (1, 0):
            seconds[side].append(_per_call(runs[side], calls[side]))
        elapsed = time.perf_counter() - began
        if elapsed > MOST_SECONDS or (number + 1 >= FEWEST and elapsed > SECONDS):
            break
    return timing(*seconds, SOURCE)


def warm_up(run: Callable[[], None]) -> float:
    """Make a few calls and return the seconds of the last one."""
    seconds = 0.0
    for _ in range(WARM_UP):
        began = time.perf_counter()
        run()
        seconds = time.perf_counter() - began
    return max(seconds, 1e-6)


def _per_call(run: Callable[[], None], calls: int) -> float:
    began = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - began) / calls
