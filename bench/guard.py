"""``python -m bench.guard``: have hot paths become more expensive? Counted, not timed, so no machine's mood decides.

Two counts for each path of ``guard_paths``. The *compilations* of its first call and of the two calls after it, which
are the same everywhere. And the *instructions of Python* that a later call executes: the number is the same in every
run of one version of Python, whatever else the machine does. What C code takes is in neither; for that stands the time
beside, as a multiple of a fixed loop in pure Python in the same process, which is printed for information and decides
nothing (``--times``).

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
from typing import Any, NamedTuple

from .guard_paths import Work, make_paths
from .sides import side

#: A rise by more than this is flagged, if it is more than so many instructions: some paths have twenty.
ALLOWED, ALLOWED_INSTRUCTIONS = 0.10, 12
_KEPT = pathlib.Path(__file__).with_name("guard.json")
_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
_COMPILATIONS = "compilations: first call, two later calls"


class Counts(NamedTuple):
    """Counts of all paths by name: instructions of a later call, compilations of the first and of two later calls."""

    instructions: dict[str, int]
    compilations: dict[str, list[int]]


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
    """What is counted: for each name a function that makes a new piece of work."""
    return make_paths(side("xlascope"))


def compilations(work: Work) -> int:
    """How many programs are compiled, or loaded from disk, while a piece of work runs."""
    records = side("xlascope").xs.records
    seen: list[Any] = []
    with records.watch(seen.append):
        work()
    return sum(isinstance(record, records.Compiled) for record in seen)


def counted() -> Counts:
    """The counts of all paths.

    Compilations are those of the first three calls, instructions those of the sixth: caches are full then, and plans
    made for what comes again.
    """
    counts = Counts({}, {})
    for name, make in works().items():
        first, *later = (compilations(make()) for _ in range(3))
        counts.compilations[name] = [first, sum(later)]
        for _ in range(2):
            make()()
        gc.collect()  # collecting calls what Python has registered for it
        counts.instructions[name] = instructions(make())
    return counts


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
    pairs = {name: (count, before[name]) for name, count in now.items() if name in before}
    return [
        f"{name}: {count:,} instructions of Python, {former:,} before, {100 * (count / former - 1):.0f} % more"
        for name, (count, former) in pairs.items()
        if count - former > max(ALLOWED * former, ALLOWED_INSTRUCTIONS)
    ]


def recompiled(now: dict[str, list[int]], before: dict[str, list[int]]) -> list[str]:
    """What compiles another number of programs, in words.

    >>> recompiled({"jit_array": [1, 2]}, {"jit_array": [1, 0]})
    ['jit_array: compiles 1 program at first and 2 later, before 1 and 0']
    """
    pairs = {name: (counts, before.get(name)) for name, counts in now.items()}
    return [
        f"{name}: compiles {first} program{'' if first == 1 else 's'} at first and {later} later, before "
        + ("nothing was kept" if former is None else f"{former[0]} and {former[1]}")
        for name, ((first, later), former) in pairs.items()
        if former != [first, later]
    ]


def kept() -> tuple[Counts, bool]:
    """The counts to compare with, and whether instructions of this version of Python are among them."""
    text = json.loads(_KEPT.read_text()) if _KEPT.exists() else {}
    return Counts(text.get(_VERSION, {}), text.get(_COMPILATIONS, {})), _VERSION in text


def main() -> int:
    """Count, compare and say so; returns 1 when something has risen."""
    side("xlascope").xs.config.update("jax_num_cpu_devices", 2)
    parser = argparse.ArgumentParser(prog="python -m bench.guard", description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep these counts as those to compare with")
    parser.add_argument("--times", action="store_true", help="print processor times as well")
    chosen = parser.parse_args()
    now, (before, has_instructions) = counted(), kept()
    makers = works() if chosen.times else {}
    print(f"| Python {_VERSION} | compiled at first, later | instructions | before | | time, in loops of pure Python |")
    print("|---|---|---|---|---|---|")
    for name, count in now.instructions.items():
        former = before.instructions.get(name)
        change = "" if former is None else f"{count / former - 1:+.1%}"
        times = f"{loops(makers[name]):.3g}" if chosen.times else ""
        first, later = now.compilations[name]
        known = "" if former is None else f"{former:,}"
        print(f"| {name} | {first}, {later} | {count:,} | {known} | {change} | {times} |")
    if chosen.write:
        text = json.loads(_KEPT.read_text()) if _KEPT.exists() else {}
        text |= {_COMPILATIONS: now.compilations, _VERSION: now.instructions}
        _KEPT.write_text(json.dumps(text, indent=1) + "\n")
        return 0
    if not has_instructions:
        print(f"no instructions are kept for Python {_VERSION}: make guard with --write keeps these")
    found = [*recompiled(now.compilations, before.compilations), *risen(now.instructions, before.instructions)]
    print(*found, sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
