"""``python -m bench.guard``: has tracing become more expensive? Counted, not timed, so that no machine's mood decides.

Python's instructions are counted while programs are traced: the number is the same in every run of one version of
Python, whatever else the machine does. What C code takes is not in it; for that stands the time beside, as a multiple
of a fixed loop in pure Python in the same process, which is printed for information and decides nothing.

``--write`` keeps the counts as those to compare with.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import pathlib
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from .cases import chain
from .models import MODELS
from .sides import side

#: A rise by more than this is flagged.
ALLOWED = 0.10
_KEPT = pathlib.Path(__file__).with_name("guard.json")
_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"

Work = Callable[[], Any]


def instructions(work: Work) -> int:
    """How many of Python's instructions a piece of work executes."""
    count = 0

    def one(*where: Any) -> None:
        nonlocal count
        count += 1

    with _told_of_instructions(one):
        work()
    return count


@contextlib.contextmanager
def _told_of_instructions(told: Callable[..., None]) -> Iterator[None]:
    """Call a function at each of Python's instructions, as Python 3.12 and later can tell, or by `sys.settrace`."""
    if (monitoring := getattr(sys, "monitoring", None)) is None:
        with _traced(told):
            yield
        return
    tool, event = monitoring.PROFILER_ID, monitoring.events.INSTRUCTION
    monitoring.use_tool_id(tool, "xlascope's guard")
    monitoring.register_callback(tool, event, told)
    monitoring.set_events(tool, event)
    try:
        yield
    finally:
        monitoring.set_events(tool, 0)
        monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)


@contextlib.contextmanager
def _traced(told: Callable[..., None]) -> Iterator[None]:
    def local(frame: Any, event: str, arg: Any) -> Any:
        if event == "opcode":
            told()
        return local

    def entered(frame: Any, event: str, arg: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return local

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        yield
    finally:
        sys.settrace(before)


def works() -> dict[str, Callable[[], Work]]:
    """What is counted: for each name a function that makes a new piece of work (traces are remembered by function)."""
    ours = side("xlascope")
    xs = ours.xs
    found: dict[str, Callable[[], Work]] = {}

    def add(name: str, make: Callable[[], Any], *args: Any) -> None:
        found[f"{name}_trace"] = lambda: partial(xs.make_jaxpr(make()), *args)
        found[f"{name}_grad_trace"] = lambda: partial(xs.make_jaxpr(xs.grad(make())), *args)

    def add_batch(name: str, make: Callable[[], Any], in_axes: Any, *args: Any) -> None:
        found[f"{name}_vmap_grad_trace"] = lambda: partial(xs.make_jaxpr(xs.vmap(xs.grad(make()), in_axes)), *args)

    add("chain", lambda: chain(ours), ours.jnp.ones(10))
    add_batch("chain", lambda: chain(ours), 0, ours.jnp.ones(10))
    for name, model in MODELS.items():
        loss, weights, example = model(ours)
        add(name, loss, weights, example)
        add_batch(name, loss, (None, 0), weights, xs.tree.map(lambda x: np.stack([x, x]), example))
    return found


def counted() -> dict[str, int]:
    """The instructions of each piece of work, the third time: caches are full, and plans made for what comes again."""
    found = {}
    for name, make in works().items():
        make()()
        make()()
        found[name] = instructions(make())
    return found


def loops(make: Callable[[], Work], rounds: int = 5) -> float:
    """Processor time of a piece of work, in fixed loops of pure Python run beside it; the median of some rounds."""
    ratios = []
    for _ in range(rounds):
        work = make()
        gc.collect()
        ratios.append(_processor_time(work) / _processor_time(_loop))
    return statistics.median(ratios)


def _loop() -> int:
    table = {i: (i, i + 1) for i in range(100)}
    total = 0
    for i in range(100_000):
        total += table[i % 100][1]
    return total


def _processor_time(work: Work) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def risen(now: dict[str, int], before: dict[str, int]) -> list[str]:
    """What executes more instructions than it may, in words.

    >>> risen({"chain_trace": 115}, {"chain_trace": 100})
    ['chain_trace: 115 instructions of Python, 100 before, 15 % more']
    """
    rises = {name: count / before[name] - 1 for name, count in now.items() if name in before}
    return [
        f"{name}: {now[name]:,} instructions of Python, {before[name]:,} before, {100 * rise:.0f} % more"
        for name, rise in rises.items()
        if rise > ALLOWED
    ]


def main() -> int:
    """Count, compare and say so; returns 1 when something has risen."""
    parser = argparse.ArgumentParser(prog="python -m bench.guard", description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep these counts as those to compare with")
    chosen = parser.parse_args()
    kept = json.loads(_KEPT.read_text()) if _KEPT.exists() else {}
    now, before = counted(), kept.get(_VERSION, {})
    print(f"| tracing, Python {_VERSION} | instructions | before | | time, in loops of pure Python |")
    print("|---|---|---|---|---|")
    for name, make in works().items():
        known = before.get(name)
        change = "" if known is None else f"{now[name] / known - 1:+.1%}"
        print(f"| {name} | {now[name]:,} | {'' if known is None else f'{known:,}'} | {change} | {loops(make):.3g} |")
    if chosen.write:
        _KEPT.write_text(json.dumps(kept | {_VERSION: now}, indent=1) + "\n")
        return 0
    more = risen(now, before)
    print(*more, sep="\n")
    return bool(more)


if __name__ == "__main__":
    sys.exit(main())
