"""Interleaved timing of two programs, so that disturbances of the machine affect both alike."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from ...analysis.diff import Timing, compare_timings
from ...runtime.debug_output import debug_output_discarded

#: Calls before timing starts: the first ones touch memory for the first time.
WARM_UP_CALLS = 3
#: Approximate seconds of each program in a round; it runs at least once.
ROUND_SECONDS = 0.01
#: Numbers of rounds, and seconds after which no round starts; fewer than eight rounds give no bounds on noise.
MAX_ROUNDS, MIN_ROUNDS, TARGET_SECONDS, MAX_SECONDS = 24, 8, 0.6, 20.0

CLOCK_SOURCE = "host clock, until the results are there"


class TooSlowError(Exception):
    """Calls that take longer than the time for measuring them; the message is the reason as text."""


def time_interleaved(before: Callable[[], None], after: Callable[[], None], limit: float = math.inf) -> Timing:
    """Run both programs in turn and return their times per call; the order changes from round to round.

    ``before`` and ``after`` each make one call and wait for its results. No call starts that is expected to end more
    than ``limit`` seconds after the beginning; raises :class:`TooSlowError` if the first call of each takes that long.
    """
    began = time.perf_counter()
    runs = (before, after)
    firsts = [_seconds_per_call(run, 1) for run in runs]
    if sum(firsts) > limit:
        raise TooSlowError(f"a call of each takes {sum(firsts):.2g} s")
    if 2 * sum(firsts) > limit:
        return _compare([firsts], [1, 1])
    is_slow = 4 * sum(firsts) > limit  # a first call takes longer; there is no time for others beside the measured ones
    with debug_output_discarded():  # but of the first calls
        last = firsts if is_slow else [warm_up(run, WARM_UP_CALLS - 1) for run in runs]
        calls = [max(1, int(ROUND_SECONDS / seconds)) for seconds in last]
        estimate = calls[0] * last[0] + calls[1] * last[1]
        return _compare(_run_rounds(runs, calls, limit - (time.perf_counter() - began), estimate), calls)


def _run_rounds(
    runs: tuple[Callable[[], None], Callable[[], None]], calls: list[int], limit: float, estimate: float
) -> list[list[float]]:
    """Return the seconds per call of both programs for each round, which takes about ``estimate`` seconds.

    No round but the first starts that is expected to end after ``limit`` seconds.
    """
    rounds: list[list[float]] = []
    began = time.perf_counter()
    for number in range(MAX_ROUNDS):
        seconds = [0.0, 0.0]
        for side in (0, 1) if number % 2 else (1, 0):
            seconds[side] = _seconds_per_call(runs[side], calls[side])
        rounds.append(seconds)
        elapsed = time.perf_counter() - began
        is_enough = number + 1 >= MIN_ROUNDS and elapsed > TARGET_SECONDS
        if is_enough or elapsed > MAX_SECONDS or elapsed + estimate > limit:
            break
    return rounds


def _compare(rounds: list[list[float]], calls: list[int]) -> Timing:
    before, after = zip(*rounds, strict=True)
    totals = calls[0] * len(rounds), calls[1] * len(rounds)
    return compare_timings(before, after, CLOCK_SOURCE, totals)


def warm_up(run: Callable[[], None], calls: int = WARM_UP_CALLS) -> float:
    """Call ``run`` a few times and return the seconds of the last call, at least a microsecond."""
    seconds = 0.0
    for _ in range(calls):
        seconds = _seconds_per_call(run, 1)
    return max(seconds, 1e-6)


def _seconds_per_call(run: Callable[[], None], calls: int) -> float:
    began = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - began) / calls
