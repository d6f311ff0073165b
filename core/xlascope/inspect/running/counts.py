"""Which programs run, and how often: the counts of functions and the profiler's windows, told apart by program."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from ... import records
from ...control.jit.traces import TracedCall
from ...readers.profiles import ModuleProfile
from ..engine.calls import executables_of, traces_of
from .tally import Tally


class Running:
    """The tallies of all programs that were called while somebody watched. Not safe to use from two threads at once."""

    def __init__(self) -> None:
        self.tallies: dict[int, Tally] = {}
        self._met: dict[int, TracedCall] = {}
        self._news: set[int] = set()
        self._modules: dict[str, int] = {}
        self._kernels: dict[int, int] = {}
        self._counted: dict[Any, int] = {}
        self._latest: dict[int, int] = {}
        self._starts = 0

    def know(self, record: records.Record) -> None:
        """Remember which program a compiled module is; other records say nothing of that."""
        if isinstance(record, records.Compiled):
            self._modules[record.module] = record.program
            self._kernels[record.program] = len(record.kernels)

    def called(self, record: records.Started) -> None:
        """One call that jaxlib handed to Python, so that its program is known."""
        self._starts += 1
        self._latest[record.program] = self._starts
        self._tally(record.program, record.function).add_calls(1, 0.0, 0.0)
        self._news.add(record.program)

    def count(self, counts: dict[Any, int], elapsed: float) -> None:
        """Take in the counts of functions, ``elapsed`` seconds after the last time."""
        moved: dict[int, int] = {}
        for function, total in counts.items():
            new = total - self._counted.get(function, 0)
            self._counted[function] = total
            if new:
                for number, calls in self._divided(traces_of(function), new):
                    moved[number] = moved.get(number, 0) + calls
        weights = {number: calls * (self.tallies[number].step or 1e-4) for number, calls in moved.items()}
        whole = sum(weights.values())
        for number, calls in moved.items():
            self.tallies[number].add_calls(calls, elapsed * weights[number] / whole, elapsed)
        self._news.update(moved)

    def saw(self, profiles: Sequence[ModuleProfile], seconds: float) -> None:
        """Take in what one window of so many seconds saw."""
        found: dict[int, list[ModuleProfile]] = {}
        for profile in profiles:
            number = self._modules.get(profile.module)
            if number in self.tallies:
                found.setdefault(number, []).append(profile)
        for number, mine in found.items():
            tally = self.tallies[number]
            tally.add_window(mine, seconds, whole=tally.elapsed <= seconds * tally.calls)
        self._news.update(found)

    def pace(self) -> tuple[float, int]:
        """How often the program with most time is called (seconds from call to call), and how many kernels it has."""
        main = max(self.tallies.values(), key=lambda tally: tally.seconds, default=None)
        if main is None or not main.calls:
            return 0.0, 1
        return main.elapsed / main.calls, self._kernels.get(main.program, 1)

    def news(self) -> list[records.Executed]:
        """The records of the programs that have changed since this was asked last."""
        changed, self._news = self._news, set()
        return [self.tallies[number].record() for number in sorted(changed) if self.tallies[number].calls]

    def called_programs(self) -> list[TracedCall]:
        """The programs that were called, of those that a counted function led to."""
        return [traced for number, traced in self._met.items() if self.tallies[number].calls]

    def _divided(self, traces: Sequence[TracedCall], calls: int) -> Iterator[tuple[int, int]]:
        """A function's new calls by program.

        Of a function with several, the profiler's counts say which share is whose; before it has seen any, the one
        that was started last has them all.
        """
        for traced in traces:
            self._meet(traced)
        seen = [self.tallies[each.number].observed for each in traces]
        if not sum(seen):
            newest_first = tuple(reversed(traces))
            latest = max(newest_first, key=lambda each: self._latest.get(each.number, 0), default=None)
            if latest is not None:
                yield latest.number, calls
            return
        left = calls
        for traced, observed in zip(traces, seen, strict=True):
            share = min(left, round(calls * observed / sum(seen)))
            left -= share
            if share:
                yield traced.number, share

    def _meet(self, traced: TracedCall) -> None:
        if traced.number in self._met:
            return
        self._met[traced.number] = traced
        self._tally(traced.number, traced.program.name)
        for executable in executables_of(traced.program):
            self._modules[executable.compilation.executable.hlo_modules()[0].name] = traced.number

    def _tally(self, number: int, function: str) -> Tally:
        return self.tallies.setdefault(number, Tally(number, function, time.time()))
