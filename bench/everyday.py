"""Everyday programs (tests/everyday/programs), ten steps of each once everything is compiled, on both sides.

``python -m bench.everyday`` makes the two tables anew, in REPORTS.md too; with names of programs it prints these alone.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tests.everyday.everyday_programs import PROGRAMS, load_program

from . import paired
from .results import replace_table
from .sides import side

#: Steps of one call: what programs do now and then they do once or twice in so many.
STEPS = 10
#: Calls before the first one that is measured: samplers adapt, and some functions are compiled a second time.
_WARM_UP = 2
_GOAL = "≤ 1.03"
_PARTS = ("nn", "random")
#: So that a program goes on for as long as it is measured.
_OPTIONS: dict[str, dict[str, Any]] = {"early_stopping": {"patience": sys.maxsize}}


def _call(name: str, case: str) -> Callable[[], Any]:
    """Return a call of ten steps of a program on a side, which waits for the last loss."""
    of = side(name)
    for part in _PARTS:  # `import jax` does not bring these
        importlib.import_module(f"{name}.{part}")
    losses = load_program(case)(of.xs, sys.maxsize, **_OPTIONS.get(case, {}))

    def ten_steps() -> None:
        for loss in itertools.islice(losses, STEPS):
            last = loss
        of.xs.block_until_ready(last)

    for _ in range(_WARM_UP):
        ten_steps()
    return ten_steps


def tables(cases: Sequence[str] = PROGRAMS) -> list[list[str]]:
    """Return the table of programs on one device, and of those on eight."""
    parallel = [case for case in cases if case.startswith("data_parallel")]
    groups = [
        ("ten steps, on one device", [case for case in cases if case not in parallel], {}),
        ("ten steps, on eight devices", parallel, {"JAX_NUM_CPU_DEVICES": "8", "NPROC": "16"}),
    ]
    return [paired.table("bench.everyday", what, few, _GOAL, environment) for what, few, environment in groups if few]


if __name__ == "__main__":
    if sys.argv[1:2] in (["xlascope"], ["jax"]):
        paired.serve(functools.partial(_call, sys.argv[1]))
    elif sys.argv[1:]:
        print("\n".join(itertools.chain(*tables(sys.argv[1:]))))
    else:
        for made in tables():
            print("\n".join(made))
            replace_table(made)
