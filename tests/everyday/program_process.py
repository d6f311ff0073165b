"""Run everyday programs with xlascope, and say what each compiled and held at each step: ``python -m
tests.everyday.program_process`` reads their names from standard input as JSON (`isolation.py`).
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections import Counter
from typing import Any

from tests.everyday.everyday_programs import STEPS, load_program

import xlascope as xs
from xlascope import records

#: After each so many steps the memory is looked at.
EVERY = 6


def run_program(name: str) -> dict[str, Any]:
    """Run a program; return its losses, what was compiled, how much of that late, and what was held meanwhile."""
    gc.collect()
    gc.freeze()  # what was there before is not gone through again
    compiled: list[tuple[int, str]] = []
    losses: list[Any] = []
    held = []

    def note(record: Any) -> None:
        if isinstance(record, records.Compiled):
            compiled.append((len(losses), record.function))

    began = time.process_time()
    with records.watch(note):
        for loss in load_program(name)(xs, STEPS):
            losses.append(loss)
            if len(losses) % EVERY == 0:
                held.append({"compiled": len(compiled), **_count_held(losses)})
    seconds = time.process_time() - began
    return {
        "status": "passed",
        "losses": [float(loss) for loss in losses],
        "compiled": Counter(function for _, function in compiled),
        "late": Counter(function for step, function in compiled if step >= EVERY),
        "held": held,
        "seconds": seconds,
    }


def _count_held(losses: list[Any]) -> dict[str, int]:
    """Count the living arrays beside the losses, what the garbage collector tracks, and all of Python's blocks."""
    losses[-1].block_until_ready()
    gc.collect()
    arrays, objects = len(xs.live_arrays()), len(gc.get_objects())
    return {"arrays": arrays - len(losses), "objects": objects - len(losses), "blocks": sys.getallocatedblocks()}


def main() -> None:
    for name in json.load(sys.stdin):
        print(json.dumps({"begins": name}), flush=True)
        print(json.dumps({"ended": name, "outcome": run_program(name)}), flush=True)


if __name__ == "__main__":
    main()
