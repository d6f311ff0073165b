"""What watching costs a program of jax: calls that repeat, and the first call of a large program.

``python -m bench.watched_jax`` prints the table and puts it into RESULTS.md, where it leaves the others alone. Calls
are made in one process, on one processor, unwatched and watched in turn; first calls each in a process of its own.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import xlascope_jax
from xlascope import records
from xlascope.inspect.running.live import Sampler

from .mlp import digits_like, init, make_update
from .results import replace_table
from .sides import side
from .transformer import make_gradient, weights_and_tokens

#: Rounds, the seconds of each loop in them, and rounds of first calls.
ROUNDS, SECONDS, FIRST_ROUNDS = 9, 2.0, 9
HEAD = [
    "| watching jax | alone | watched | wall clock | its quartiles | processor time | its quartiles | goal |",
    "|---|---|---|---|---|---|---|---|",
]


class Taken(NamedTuple):
    """Seconds by the wall clock, and of processors, threads that watch included."""

    wall: float
    processor: float


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
    began, clock = time.perf_counter(), time.process_time()
    work()
    return Taken(time.perf_counter() - began, time.process_time() - clock)


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


#: Each with whether profiler windows are opened, as they are in the strip: not one call in a thousand is seen by them.
CALLS = {
    "a call of jit(sin), counted": (_sine, False),
    "a training step, in the strip": (_training, True),
}


def calls(name: str) -> list[tuple[Taken, Taken]]:
    """A call alone and watched, in each round; the two take turns in being first."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    make, windows = CALLS[name]
    with Watching(windows):  # the function is known to whoever watches, as one that was called before
        run = make()
        run(10)
    number = max(10, int(SECONDS / _taken(lambda: run(100)).wall * 100))
    found = []
    for turn in range(ROUNDS):
        pair: dict[bool, Taken] = {}
        for watched in (True, False) if turn % 2 else (False, True):
            if watched:
                with Watching(windows):
                    pair[True] = _taken(lambda: run(number))
            else:
                pair[False] = _taken(lambda: run(number))
        found.append((_per(pair[False], number), _per(pair[True], number)))
    return found


def _per(taken: Taken, calls: int) -> Taken:
    return Taken(taken.wall / calls, taken.processor / calls)


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
    alone, watched = (statistics.median(each.wall for each in kind) for kind in zip(*pairs, strict=True))
    cells = [name, _text(alone), _text(watched)]
    for clock in ("wall", "processor"):
        ratios = [getattr(b, clock) / getattr(a, clock) for a, b in pairs]
        low, middle, high = statistics.quantiles(ratios, n=4)
        cells += [f"**{middle:.3f}**", f"{low:.3f}-{high:.3f}"]
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
