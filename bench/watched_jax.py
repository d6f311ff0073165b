"""What watching costs a program of jax: calls that repeat, and the first call of a large program.

``python -m bench.watched_jax`` prints the table and puts it into REPORTS.md, where it leaves the others alone. Calls
are made in one process, on one processor, unwatched and watched in turn; first calls each in a process of its own.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import xlascope_jax
from xlascope import records
from xlascope.inspect.running.profile_sampler import Sampler

from .mlp import digits_like, init, make_update
from .results import replace_table
from .sides import side
from .transformer import make_gradient, weights_and_tokens

#: Rounds of first calls.
FIRST_ROUNDS = 9
HEAD = [
    "| watching jax | alone | watched | wall clock | its quartiles | processor time | its quartiles "
    "| threads that watch | goal |",
    "|---|---|---|---|---|---|---|---|---|",
]


class Taken(NamedTuple):
    """Seconds by the wall clock, of processors, and of these on the threads that watch."""

    wall: float
    processor: float
    watching: float


class Watching:
    """jax watched, as the strip does, for the duration of a block; without windows calls are counted alone."""

    def __init__(self, windows: bool = True) -> None:
        self._sampler = Sampler(emit=lambda record: None, windows=windows)

    def __enter__(self) -> None:
        self._undo = xlascope_jax.install()
        self._subscription = records.watch(lambda record: None)
        self._sampler.start()

    def __exit__(self, *_: object) -> None:
        self._sampler.stop()
        self._subscription.close()
        self._undo()


def _taken(work: Callable[[], object]) -> Taken:
    began, clock, watching = time.perf_counter(), time.process_time(), _watching()
    work()
    return Taken(time.perf_counter() - began, time.process_time() - clock, _watching() - watching)


def _watching() -> float:
    """Processor time so far of the threads that watch (Linux), in steps of a hundredth of a second."""
    ticks = 0
    for thread in threading.enumerate():
        if thread.name.startswith("xlascope") and os.path.exists(f"/proc/self/task/{thread.native_id}/stat"):
            with open(f"/proc/self/task/{thread.native_id}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


# Calls that repeat ---------------------------------------------------------------------------------------------------


def _sine() -> Callable[[int], object]:
    """A call that does next to nothing: what there is to measure is the way to it."""
    jax = side("jax")
    function, x = jax.xs.jit(lambda x: jax.jnp.sin(x)), jax.jnp.ones(10)

    def run(calls: int) -> object:
        for _ in range(calls):
            y = function(x)
        return y.block_until_ready()

    return run


def _training() -> Callable[[int], object]:
    """The training step of the first notebook."""
    jax = side("jax")
    (images, labels), update = digits_like(), make_update(jax)
    state = init(jax)

    def run(calls: int) -> object:
        nonlocal state
        for _ in range(calls):
            state = update(state, images, labels)
        return jax.xs.block_until_ready(state)

    return run


class Loop(NamedTuple):
    """Calls in a loop: what makes them, whether windows are opened as in the strip, how many rounds of how long."""

    make: Callable[[], Callable[[int], object]]
    windows: bool
    rounds: int
    seconds: float


CALLS = {
    "a call of jit(sin), counted": Loop(_sine, False, 41, 0.2),
    "a training step, in the strip": Loop(_training, True, 7, 4.0),
}


def calls(name: str) -> list[tuple[Taken, Taken]]:
    """A call alone and watched, in each round; the two take turns in being first."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    loop = CALLS[name]
    with Watching(loop.windows):  # the function is known to whoever watches, as one that was called before
        run = loop.make()
        run(10)
    number = max(10, int(loop.seconds / _taken(lambda: run(100)).wall * 100))

    def alone() -> Taken:
        return _per(_taken(lambda: run(number)), number)

    def watched() -> Taken:
        with Watching(loop.windows):
            return alone()

    found = []
    for turn in range(loop.rounds):
        first, second = (watched, alone) if turn % 2 else (alone, watched)
        pair = first(), second()
        found.append(pair[::-1] if turn % 2 else pair)
    return found


def _per(taken: Taken, calls: int) -> Taken:
    return Taken(*(each / calls for each in taken))


# First calls ---------------------------------------------------------------------------------------------------------


def first_call() -> Taken:
    """The first gradient of twelve transformer blocks: traced, lowered, compiled, run."""
    jax = side("jax")
    weights, tokens = weights_and_tokens()
    jax.xs.block_until_ready(jax.xs.jit(lambda x: x + 1)(1.0))
    gradient = make_gradient(jax)
    return _taken(lambda: jax.xs.block_until_ready(gradient(weights, tokens)))


# The table -----------------------------------------------------------------------------------------------------------


def _ask(*words: str) -> Any:
    command = [sys.executable, "-m", "bench.watched_jax", *words]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def table() -> list[str]:
    """The table of all rows."""
    rows = list(HEAD)
    for name in CALLS:
        rows.append(_row(name, [(Taken(*a), Taken(*b)) for a, b in _ask("calls", name)], "< 1.01"))
        print(rows[-1], file=sys.stderr, flush=True)
    pairs = []
    for turn in range(FIRST_ROUNDS):
        found = {how: Taken(*_ask(how)) for how in (("alone", "watched") if turn % 2 else ("watched", "alone"))}
        pairs.append((found["alone"], found["watched"]))
    rows.append(_row("the first call of a gradient of twelve transformer blocks", pairs, "no slower"))
    return rows


def _row(name: str, pairs: list[tuple[Taken, Taken]], goal: str) -> str:
    wall_alone, wall_watched = (statistics.median(each.wall for each in kind) for kind in zip(*pairs, strict=True))
    cells = [name, _text(wall_alone), _text(wall_watched)]
    for clock in ("wall", "processor"):
        ratios = [getattr(b, clock) / getattr(a, clock) for a, b in pairs]
        low, middle, high = statistics.quantiles(ratios, n=4)
        cells += [f"**{middle:.3f}**", f"{low:.3f}-{high:.3f}"]
    cells.append(f"{statistics.median(watched.watching / watched.wall for _, watched in pairs) * 100:.2f} %")
    return f"| {' | '.join(cells)} | {goal} |"


def _text(seconds: float) -> str:
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def main() -> None:
    """One part, as JSON, or the table."""
    match sys.argv[1:]:
        case ["calls", name]:
            print(json.dumps(calls(name)))
        case ["alone"]:
            print(json.dumps(first_call()))
        case ["watched"]:
            with Watching():
                print(json.dumps(first_call()))
        case _:
            found = table()
            print("\n".join(found))
            replace_table(found)


if __name__ == "__main__":
    main()
