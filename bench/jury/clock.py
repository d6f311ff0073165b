"""The clocks of the jury's programs, and the lines of JSON in which they tell what they measured."""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

#: Calls that are no part of the truth: the one that compiles, and the next.
WARM_UP_CALLS = 2
#: Share of completions that may be seen together with others for a median of the times between two.
MAX_LATE_SHARE = 0.2
#: Seconds for which a call is measured alone, and between how many calls that are.
_ALONE_SECONDS, _MIN_ALONE_CALLS, _MAX_ALONE_CALLS = 0.3, 5, 300
#: Seconds of a loop on the devices at least, and how often its slope is measured (in two halves).
_INSIDE_SECONDS, _INSIDE_ROUNDS = 0.02, 8
#: Calls that are measured beside work, and seconds after which Python lets the waiting thread see the end of one.
_CALLS_BESIDE, _SWITCH_SECONDS = 40, 1e-5


def tell(
    function: str,
    *,
    ends: Sequence[float] = (),
    spans: Sequence[float] = (),
    seconds: float | None = None,
    calls: int = 0,
    warm_up: int = WARM_UP_CALLS,
    alone: bool = True,
    every: int = 1,
    chained: bool = False,
) -> None:
    """Print what a program knows of a function.

    A program that waits for each call gives the moments ``ends`` at which each was complete and the seconds ``spans``
    of each call; the first ``warm_up`` are left out. One that does not wait gives the moments ``ends`` at which calls
    returned and the ``seconds`` between the completions of ``calls`` + 1 warm calls. If the loop does nothing else
    (``alone``), the times between are those of a call, too. ``every`` is the number of calls between two ends. If each
    call needs the results of the last (``chained``), a device takes no longer for it than from end to end.
    """
    line: dict[str, Any] = {"function": function, "calls": calls, "period_ms": None, "call_ms": None}
    periods = [(b - a) / every for a, b in itertools.pairwise(ends)][max(warm_up - 1, 0) :]
    if seconds is not None:
        mean = seconds / max(calls, 1) * 1e3
        line |= {"how": "median", **_summarize("period", periods)} if periods else {"how": "mean", "period_ms": mean}
        line["period_mean_ms"] = mean
        line |= {"device_ms": line["period_ms"], "call_mean_ms": mean} if alone else {}
    else:
        line |= {"calls": max(len(ends) - warm_up, 0) * every, "how": "median", **_summarize("period", periods)}
        line |= _summarize("call", spans[warm_up:])
        line |= {"device_ms": line.get("period_ms")} if chained else {}
    print(json.dumps(line), flush=True)


class Free:
    """Clock of a loop that waits for nothing: it keeps the results and waits for them in turn when the loop has ended.

    The loop passes the result of each call to :meth:`note`, with the function's name if it is not the first. There, and
    while it waits at the end, a completion is noted when it is seen. Short calls are often seen several at once: then
    the truth is the mean of all calls after the moment at which a warm one was seen first.
    """

    def __init__(self, function: str) -> None:
        self._function = function
        self._pending: deque[tuple[str, Any]] = deque()
        self._ends: dict[str, list[float]] = {}
        self._seen_late = 0
        #: Mean milliseconds between two completions of each function, once they are told.
        self.mean_ms: dict[str, float] = {}

    def note(self, result: Any, function: str = "") -> None:
        """Note a call that has returned ``result``."""
        now = time.perf_counter()
        self._pending.append((function or self._function, result))
        number = 0
        while self._pending and self._pending[0][1].is_ready():
            number += 1
            self._ends.setdefault(self._pending.popleft()[0], []).append(now)
        self._seen_late += max(number - 1, 0)

    def tell(self) -> None:
        """Wait for the calls that are not complete, and print the time between two completions of each function.

        With one function, that is the device's time of a call, too.
        """
        seen = time.perf_counter()
        for function, result in self._pending:
            is_late = result.is_ready()
            self._seen_late += is_late
            result.block_until_ready()
            seen = seen if is_late else time.perf_counter()
            self._ends.setdefault(function, []).append(seen)
        calls = sum(map(len, self._ends.values()))
        is_median = self._seen_late <= MAX_LATE_SHARE * calls
        for function, ends in self._ends.items():
            warm = ends[WARM_UP_CALLS - 1 :]
            self.mean_ms[function] = (warm[-1] - warm[0]) / (len(warm) - 1) * 1e3
            line = {"function": function, "calls": len(ends) - WARM_UP_CALLS, "period_ms": None, "call_ms": None}
            if is_median:
                line |= {"how": "median"} | _summarize("period", [b - a for a, b in itertools.pairwise(warm)])
            else:
                last = max(number for number, end in enumerate(warm) if end == warm[0])  # seen at the same moment
                later = len(warm) - 1 - last
                line |= {"how": "mean", "period_ms": (ends[-1] - warm[0]) / later * 1e3 if later else None}
                line |= _summarize_halves("period", warm)
            if len(self._ends) == 1:
                line |= {"device_ms": line["period_ms"], "call_mean_ms": line.get("period_mean_ms")}
            print(json.dumps(line), flush=True)


def _summarize(name: str, seconds: Sequence[float]) -> dict[str, Any]:
    """Return median, mean, percentiles and the medians of both halves in milliseconds, as far as there are values."""
    if not seconds:
        return {}
    summary: dict[str, Any] = {
        f"{name}_ms": statistics.median(seconds) * 1e3,
        f"{name}_mean_ms": statistics.fmean(seconds) * 1e3,
    }
    if len(seconds) >= WARM_UP_CALLS:
        deciles = statistics.quantiles(seconds, n=10, method="inclusive")
        summary |= {f"{name}_low_ms": deciles[0] * 1e3, f"{name}_high_ms": deciles[-1] * 1e3}
        middle = len(seconds) // 2
        halves = seconds[:middle], seconds[middle:]
        summary[f"{name}_halves_ms"] = [statistics.median(half) * 1e3 for half in halves]
    return summary


def _summarize_halves(name: str, ends: Sequence[float]) -> dict[str, Any]:
    """Return the means of both halves of a loop in milliseconds, of completions some of which were seen together."""
    middle = len(ends) // 2
    halves = ends[: middle + 1], ends[middle:]
    means = [(half[-1] - half[0]) / (len(half) - 1) * 1e3 for half in halves if len(half) > 1]
    return {f"{name}_halves_ms": means} if len(means) == len(halves) and min(means) > 0 else {}


def tell_alone(
    function: str,
    call: Callable[[], Any],
    *,
    chained: bool = False,
    work: Callable[[], Any] | None = None,
    which: int | None = None,
    slow_dispatch: bool = False,
) -> None:
    """Print the time of a call that is waited for at once; ``call`` returns its results.

    If each call needs the results of the last (``chained``), calls that nobody waits for follow each other on the
    device, and the time from one to the next is the device's time of a call: ``device_ms``. ``work`` is done before
    each call that is waited for, as in the loop: then caches are cold and threads asleep. ``which`` is the number of
    the program among those of the function. With ``slow_dispatch`` much of a call is Python's own work.
    """
    block_until_ready(call())
    spans: list[float] = []
    while len(spans) < _MIN_ALONE_CALLS or (sum(spans) < _ALONE_SECONDS and len(spans) < _MAX_ALONE_CALLS):
        if work is not None:
            work()
        began = time.perf_counter()
        block_until_ready(call())
        spans.append(time.perf_counter() - began)
    line: dict[str, Any] = {"function": function, "which": which, **_summarize("call", spans)}
    if chained:
        paces = [_pace(call, len(spans) // 5 + 1) for _ in range(6)]
        line |= _summarize("device", paces) | {"slow_dispatch": slow_dispatch}
        del line["device_mean_ms"]
    print(json.dumps(line), flush=True)


def tell_inside(
    engine: Any,
    function: str,
    body: Callable[[Any], Any],
    carry: Any,
    which: int | None = None,
) -> float:
    """Print the time of a call without dispatch, by the host's clock: that of one more iteration of a loop of calls.

    ``body`` passes a carry like ``carry`` from call to call inside one program of ``engine``, so nothing is dispatched
    between calls, nothing allocated, and no profiler is active. A device cannot be faster: it is the lower end of what
    the time on the devices may be. Returns the time in milliseconds.
    """
    loop = engine.jit(lambda times, carry: engine.lax.fori_loop(0, times, lambda _, carry: body(carry), carry))

    def run(times: int) -> float:
        began = time.perf_counter()
        block_until_ready(list(engine.tree.leaves(loop(times, carry))))
        return time.perf_counter() - began

    run(1)
    times = 1
    while run(times) < _INSIDE_SECONDS:
        times *= 2
    pairs = [(run(times), run(2 * times)) for _ in range(_INSIDE_ROUNDS)]
    middle = _INSIDE_ROUNDS // 2
    whole, *halves = (_slope(some, times) * 1e3 for some in (pairs, pairs[:middle], pairs[middle:]))
    line = {"function": function, "which": which, "inside_ms": whole, "inside_halves_ms": halves}
    print(json.dumps(line), flush=True)
    return float(whole)


def tell_beside_work(function: str, call: Callable[[], Any], work: Callable[[], Any]) -> None:
    """Print the time of a call while the host works, which takes the device's processor, as a waiting thread sees it.

    ``work`` is done before each call, too, as in the loop: then caches are cold and threads asleep.
    """
    began, ends = SimpleQueue[Any](), SimpleQueue[float]()

    def wait() -> None:
        while (results := began.get()) is not None:
            block_until_ready(results)
            ends.put(time.perf_counter())

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    spans = []
    for _ in range(_CALLS_BESIDE):
        work()
        start = time.perf_counter()
        began.put(call())
        work()
        spans.append(ends.get() - start)
    sys.setswitchinterval(interval)
    began.put(None)
    waiting.join()
    tell_beside(function, statistics.median(spans) * 1e3)


def tell_beside(function: str, milliseconds: float, which: int | None = None) -> None:
    """Print the longest time that a device may take for a call beside what else goes on in the loop."""
    print(json.dumps({"function": function, "which": which, "beside_ms": milliseconds}), flush=True)


def _slope(pairs: Sequence[tuple[float, float]], times: int) -> float:
    """Return the seconds of one more iteration, from the shortest runs of so many and of twice as many iterations.

    On a busy machine others only add to a run, so the shortest ones are of the loop alone.
    """
    short, long = (min(seconds) for seconds in zip(*pairs, strict=True))
    return max(long - short, 0.0) / times


def _pace(call: Callable[[], Any], calls: int) -> float:
    """Return the seconds from call to call while nobody waits."""
    block_until_ready(call())
    began = time.perf_counter()
    for _ in range(calls):
        results = call()
    block_until_ready(results)
    return (time.perf_counter() - began) / calls


def block_until_ready(results: Any) -> None:
    """Wait for the arrays among results, of either engine."""
    if hasattr(results, "block_until_ready"):
        results.block_until_ready()
    elif isinstance(results, dict):
        block_until_ready(list(results.values()))
    elif isinstance(results, (tuple, list)):
        for item in results:
            block_until_ready(item)


def parse(text: str) -> list[dict[str, Any]]:
    """Return what a program told in its output, a dictionary for each program of a function.

    What was measured of a function after the cell is added to its programs (or to the one it is of) that have no such
    time of their own; ``call_ms`` then replaces none, and so do its mean and its halves.
    """
    lines = [json.loads(line) for line in text.splitlines() if line.startswith('{"function": ')]
    told = [line for line in lines if "period_ms" in line]
    for line in (line for line in lines if "period_ms" not in line):
        programs = [item for item in told if item["function"] == line["function"]]
        for item in programs if line["which"] is None else [programs[line["which"]]]:
            known = {name.split("_")[0] for name, value in item.items() if value is not None}
            item |= {name: value for name, value in line.items() if name.split("_")[0] not in known}
    return told
