"""Run drawn programs in worker processes, and find the programs that are wrong or end their process."""

from __future__ import annotations

import importlib
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from types import ModuleType
from typing import Any, NamedTuple

from tests import compiling
from tests.differential.processes import Worker

KINDS = ("reductions", "effects", "programs")
#: How many programs a worker is sent at once.
BATCH = 5
#: Seconds that one program may take.
_MAX_SECONDS = 60.0


class Finding(NamedTuple):
    """A program that is wrong: its number in the run, what is wrong with it, and the program."""

    number: int
    problem: str
    program: Any

    def text(self) -> str:
        """The finding on one line."""
        return f"{self.number}: {self.problem}\n    {json.dumps(self.program)}"


class FuzzWorker(Worker):
    """A library in a process of its own that runs programs of one kind."""

    def __init__(self, kind: str, library: str) -> None:
        quickly = compiling.xla_flags() if _module(kind).COMPILE_QUICKLY else ""
        super().__init__(library, patience=_MAX_SECONDS, xla_flags=quickly)
        self._command = [sys.executable, "-m", "tests.fuzz.worker", kind, library]


def draw(kind: str, seed: str, number: int) -> Any:
    """Return program ``number`` of the run ``seed``: data that JSON can hold."""
    return _module(kind).draw(random.Random(f"{kind}/{seed}/{number}"))


def find(kind: str, seed: str, numbers: Sequence[int], seconds: float = float("inf")) -> Iterator[Finding | None]:
    """Run programs and yield a finding, or None, for each. Stop after so many seconds."""
    module, end = _module(kind), time.monotonic() + seconds
    with ExitStack() as stack:
        workers = [stack.enter_context(closing(FuzzWorker(kind, library))) for library in module.LIBRARIES]
        for start in range(0, len(numbers), BATCH):
            if time.monotonic() > end:
                return
            batch = numbers[start : start + BATCH]
            programs = [draw(kind, seed, number) for number in batch]
            answers = zip(*(worker.ask(programs) for worker in workers), strict=True)
            for number, program, given in zip(batch, programs, answers, strict=True):
                problem = _problem(module, program, given)
                yield Finding(number, problem, program) if problem else None


def _problem(module: ModuleType, program: Any, given: Sequence[dict[str, Any]]) -> str | None:
    """Say what is wrong with the answers to a program; None where nothing is."""
    ours, *others = given
    if any("answer" not in each for each in others):  # jax cannot run it: it says nothing of ours
        return None
    if "answer" not in ours:
        error = ours.get("error") or f"the process ended: {ours['ended']}"
        return None if any(refusal in error for refusal in module.REFUSALS) else error
    problem: str | None = module.judge(program, *(each["answer"] for each in given))
    return problem


def _module(kind: str) -> ModuleType:
    return importlib.import_module(f"tests.fuzz.{kind}")
