"""Whether the time of a call that is shown is true: live and asked for, against the wall clock with nobody watching.

``python -m bench.steps`` makes the table anew, in REPORTS.md too, where it leaves the others alone;
``python -m bench.steps n_body`` measures one program. Each runs in a process of its own: loops with nobody watching and
watched ones in turn, so that what disturbs the machine meets both.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from typing import Any, NamedTuple

import xlascope as xs
from xlascope import inspect, records
from xlascope.inspect.running.profile_sampler import Sampler

from .programs import PROGRAMS, Program
from .results import replace_table
from .sides import side

#: Rounds, and about the seconds of each of a round's loops.
ROUNDS, SECONDS = 3, 1.0
HEAD = [
    "| the time of a call | wall clock, unwatched | shown live | ratio | whole calls seen | wall clock, a call that is "
    "waited for | by `%timings` | ratio |",
    "|---|---|---|---|---|---|---|---|",
]


class Found(NamedTuple):
    """Seconds of a call: in a loop with nobody watching, and as shown of a watched loop; of a call that is waited for,
    and as told by timings. ``observed`` are the whole calls that the profiler saw in the last loop.
    """

    unwatched: float
    live: float
    observed: int
    waited: float
    asked: float


def _with_arrays(program: Program) -> Program:
    """The program with arrays of ours for its arguments."""
    return program._replace(arguments=xs.tree_util.tree_map(xs.numpy.asarray, program.arguments))


def _loop(program: Program, calls: int) -> float:
    """The wall clock of a call in a loop, which waits for the results of the last one."""
    function, (first, *rest), follows = program
    began = time.perf_counter()
    for _ in range(calls):
        result = function(first, *rest)
        if follows:
            first = result
        else:
            xs.block_until_ready(result)
    xs.block_until_ready(result)
    return (time.perf_counter() - began) / calls


def _watched(program: Program, calls: int) -> tuple[float, int]:
    """The time that is shown after a watched loop, and how many whole calls it is from."""
    seen: list[Any] = []
    with Sampler(emit=seen.append):
        _loop(program, calls)
    last = [each for each in seen if isinstance(each, records.Executed)][-1]
    return last.step, last.observed_calls


def _waited(program: Program, calls: int) -> float:
    """The median wall clock of a call whose results are waited for."""
    times = []
    for _ in range(calls):
        began = time.perf_counter()
        xs.block_until_ready(program.function(*program.arguments))
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def _asked(program: Program) -> float:
    found = inspect.timings(program.function, *program.arguments).records
    return next(each.step for each in found if isinstance(each, records.Executed))


def measure(name: str) -> Found:
    """One program, in this process."""
    program = _with_arrays(PROGRAMS[name](side("xlascope")))
    _loop(program, 3)
    calls = max(8, int(SECONDS / _loop(program, 3)))
    few = max(5, calls // 8)
    rounds = []
    for _ in range(ROUNDS):
        unwatched = _loop(program, calls)
        live, observed = _watched(program, calls)
        waited = _waited(program, few)
        rounds.append(
            (unwatched, live, observed, waited, _asked(program), _loop(program, calls), _waited(program, few))
        )
    columns = [list(column) for column in zip(*rounds, strict=True)]
    return Found(
        statistics.median(columns[0] + columns[5]),
        statistics.median(columns[1]),
        columns[2][-1],
        statistics.median(columns[3] + columns[6]),
        statistics.median(columns[4]),
    )


def row(name: str) -> str:
    """One program, in a process of its own, as a line of the table."""
    done = subprocess.run([sys.executable, "-m", "bench.steps", name], check=True, capture_output=True, text=True)
    found = Found(*json.loads(done.stdout.splitlines()[-1]))
    cells = [name, _text(found.unwatched), _text(found.live), f"**{found.live / found.unwatched:.2f}**"]
    cells += [str(found.observed), _text(found.waited), _text(found.asked), f"**{found.asked / found.waited:.2f}**"]
    return f"| {' | '.join(cells)} |"


def _text(seconds: float) -> str:
    for size, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def table() -> list[str]:
    """The table, a program a line."""
    return [*HEAD, *(row(name) for name in PROGRAMS)]


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(measure(sys.argv[1])))
    else:
        made = table()
        print("\n".join(made))
        replace_table(made)
