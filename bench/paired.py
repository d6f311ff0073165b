"""Calls of which both sides live in one run, a process each, and are asked in turn.

So what disturbs the machine meets both.
A module of cases has ``_call(side, case)``, which makes the call, and runs :func:`serve` when it is given a side.
"""

from __future__ import annotations

import contextlib
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

#: For so long the calls of one answer run.
_SECONDS = 0.1
#: A 95 % interval of a median has so many standard deviations of a fair coin on each side.
_Z = 1.96


class Process(NamedTuple):
    """A side: its name, as the module of cases gets it, and what its environment has besides."""

    name: str
    environment: Mapping[str, str] = {}


class Compared(NamedTuple):
    """A case on two sides: seconds of a call on each (medians), and the ratios of the rounds in ascending order."""

    case: str
    seconds: tuple[float, float]
    ratios: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The median of the ratios."""
        return statistics.median(self.ratios)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The first and the third quartile of the ratios."""
        low, _, high = statistics.quantiles(self.ratios, n=4) if len(self.ratios) > 1 else self.ratios * 3
        return low, high

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the median, by the ranks of the ratios: nothing is supposed of how they are spread."""
        count = len(self.ratios)
        reach = math.ceil(_Z * math.sqrt(count) / 2)
        first = max(count // 2 - reach, 0)
        return self.ratios[first], self.ratios[count - 1 - first]


class Unmeasured(NamedTuple):
    """A case that ended the process of a side, and how."""

    case: str
    reason: str


class _SideEndedError(Exception):
    """The process of a side ended instead of an answer."""


def serve(make: Callable[[str], Callable[[], Any]], clock: Callable[[], float] = time.perf_counter) -> None:
    """Answer cases, a line each, with seconds for a call: the shortest of those that fit into a tenth of a second."""
    known: dict[str, Callable[[], Any]] = {}
    for line in sys.stdin:
        case = line.strip()
        if case not in known:
            known[case] = make(case)
            known[case]()
        seconds, end = [], time.perf_counter() + _SECONDS
        while len(seconds) < 5 or time.perf_counter() < end:
            began = clock()
            known[case]()
            seconds.append(clock() - began)
        print(min(seconds), flush=True)


def serve_measured(measure: Callable[[str], float]) -> None:
    """Answer cases, a line each, with the seconds that ``measure`` returns for them."""
    for line in sys.stdin:
        print(measure(line.strip()), flush=True)


@contextlib.contextmanager
def started(module: str, sides: Sequence[Process], environment: Mapping[str, str]) -> Iterator[list[Any]]:
    """The processes of the sides, which serve the cases of a module."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", module, side.name],
            env={**os.environ, "JAX_PLATFORMS": "cpu", **environment, **side.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for side in sides
    ]
    try:
        yield processes
    finally:
        for process in processes:
            with contextlib.suppress(BrokenPipeError):
                process.communicate()


#: The sides of most tables.
OURS_AND_JAX = Process("xlascope"), Process("jax")


def compare(
    module: str,
    cases: Sequence[str],
    environment: Mapping[str, str],
    rounds: int = 15,
    sides: Sequence[Process] = OURS_AND_JAX,
) -> Iterator[Compared | Unmeasured]:
    """Yield each case on two sides, which are asked in turn; the first round, which compiles, does not count.

    Where a case ends the process of a side, it is told as unmeasured, and the others go on in new processes.
    """
    remaining = list(cases)
    while remaining:
        with started(module, sides, environment) as processes:
            while remaining:
                case = remaining.pop(0)
                try:
                    yield _compared(processes, case, rounds)
                except _SideEndedError as ended:
                    yield Unmeasured(case, str(ended))
                    break


def _compared(processes: list[Any], case: str, rounds: int) -> Compared:
    found = [_round(processes, case, turned=bool(number % 2)) for number in range(rounds + 1)][1:]
    first, second = (statistics.median(times) for times in zip(*found, strict=True))
    return Compared(case, (first, second), tuple(sorted(a / b for a, b in found)))


def table(
    module: str, what: str, cases: Sequence[str], goal: str, environment: Mapping[str, str], rounds: int = 15
) -> list[str]:
    """The table of all cases, a row each."""
    rows = [f"| {what} | xlascope | jax | ratio | its quartiles | goal |", "|---|---|---|---|---|---|"]
    for found in compare(module, cases, environment, rounds):
        if isinstance(found, Unmeasured):
            raise RuntimeError(f"{found.case}: {found.reason}")
        (ours, theirs), (low, high) = found.seconds, found.quartiles
        times = f"{ours * 1e3:.3g} ms | {theirs * 1e3:.3g} ms"
        rows.append(f"| {found.case} | {times} | **{found.ratio:.3f}** | {low:.3f}-{high:.3f} | {goal} |")
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def _round(sides: list[Any], case: str, turned: bool) -> tuple[float, float]:
    """Seconds of a call on both sides, asked one after the other."""
    seconds = {}
    for number in (1, 0) if turned else (0, 1):
        process = sides[number]
        process.stdin.write(case + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        if not answer:
            side = ("first", "second")[number]
            raise _SideEndedError(f"the process of the {side} side ended with status {process.wait()}")
        seconds[number] = float(answer)
    return seconds[0], seconds[1]
