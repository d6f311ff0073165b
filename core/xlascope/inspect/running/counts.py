"""Which programs run, and how often: the counts of functions and the profiler's windows, told apart by program."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ... import records
from ...readers.hlo.entry import Schedules, read_schedules
from ...readers.profiles import ModuleProfile
from .finishes import Made
from .looks import Looks
from .pace import Finish, Pace, Times, weighted_median
from .runs import Known
from .tally import Tally


class Running:
    """The tallies of all programs that were called while somebody watched. Not safe to use from two threads at once.

    ``programs_of`` gives the programs that a function has led to, whoever's it is.
    """

    def __init__(self, programs_of: Callable[[Any], Sequence[Known]]) -> None:
        self._programs_of = programs_of
        self.tallies: dict[int, Tally] = {}
        self.pace = Pace(Finish(0, {}, 0.0, time.perf_counter(), waited=False))
        self._met: dict[int, Known] = {}
        self._news: set[int] = set()
        self._modules: dict[str, int] = {}
        self.on_gpu = False
        self._compiled: dict[int, dict[str, object]] = {}
        self._quick: set[str] = set()
        self._schedules: dict[str, Schedules] = {}
        self._kernels: dict[int, int] = {}
        self._counted: dict[Any, int] = {}
        self._latest: dict[int, int] = {}
        #: By a function's first program: how many calls had come through Python when the last of its programs was
        #: called so, and what the profiler had seen of each by then.
        self._since: dict[int, tuple[int, dict[int, int]]] = {}
        self._starts = 0
        self._finished: dict[int, int] = {}
        self._done: deque[tuple[int, float]] = deque(maxlen=16)
        self._made: tuple[Mapping[Any, int], Mapping[int, int]] = ({}, {})

    def know(self, record: records.Record) -> None:
        """Remember which program a compiled module is; other records say nothing of that."""
        if isinstance(record, records.Compiled):
            kinds = tuple((kernel.name, kernel.type_text, kernel.bytes_read) for kernel in record.kernels)
            self._belongs(record.module, record.program)
            self.on_gpu |= record.platform == "gpu" and not record.target
            self._compiled[record.program][record.module] = hash(kinds)
            if record.quick:
                self._quick.add(record.module)
            names = {kernel.name for kernel in record.kernels}
            self._kernels[record.program] = len(names)
            self._schedules[record.module] = read_schedules(record.hlo, names)

    @property
    def schedules(self) -> Mapping[str, Schedules]:
        """The order in which the kernels of each module run."""
        return self._schedules

    def called(self, record: records.Started, counts: Mapping[Any, int], elapsed: float) -> bool:
        """One call that jaxlib handed to Python, so that its program is known.

        Calls counted before it are of earlier programs; returns whether there were any, since somebody counted last.
        """
        new = counts != self._counted
        if new:
            self.count(counts, elapsed)
        self._starts += 1
        self._latest[record.program] = self._starts
        self._tally(record.program, record.function).add_calls(1, 0.0)
        self._news.add(record.program)
        return new

    def count(self, counts: Mapping[Any, int], elapsed: float) -> None:
        """Take in the counts of functions, ``elapsed`` seconds after the last time."""
        moved = self._programs(self._counted, counts)
        self._counted.update(counts)
        times = self.times()
        weights = {number: calls * (times.step(number).seconds or 1e-4) for number, calls in moved.items()}
        whole = sum(weights.values())
        for number, calls in moved.items():
            self.tallies[number].add_calls(calls, elapsed * weights[number] / whole)
        self._news.update(moved)

    def finished(self, made: Made, done: float, waited: bool) -> None:
        """A call's results were there at ``done``, after the calls that ``made`` counts."""
        counts, started = self._made
        self._made = made.counts, made.started
        new = self._programs(counts, made.counts)
        for number, calls in made.started.items():
            if calls > started.get(number, 0):
                new[number] = new.get(number, 0) + calls - started.get(number, 0)
        for number, calls in new.items():
            self._finished[number] = self._finished.get(number, 0) + calls
        program = made.program if made.program is not None else self._program_of(made.function)
        if program is not None:
            finish = Finish(program, dict(self._finished), made.returned, done, waited, made.began)
            self.pace.finished(finish)
            self._done.append((program, done))
            self._news.update(new)

    def next_look(self, looks: Looks) -> float:
        """How long the next window should be; 0.0 for none now."""
        return looks.next(self.tallies, self.times(), self._kernels)

    def saw(self, looks: Looks, profiles: Sequence[ModuleProfile], seconds: float, cost: float) -> float:
        """Take in what one window saw that was open for so many seconds, and cost so much processor time.

        Returns how long to leave the process alone.
        """
        found: dict[int, list[ModuleProfile]] = {}
        for profile in profiles:
            number = self._modules.get(profile.module)
            if number in self.tallies:
                found.setdefault(number, []).append(profile)
        for number, mine in found.items():
            tally = self.tallies[number]
            if not tally.observed:
                tally.profiling += cost
            tally.add_window(mine, seconds)
        self._news.update(found)
        return looks.saw(seconds, cost, [each for mine in found.values() for each in mine], self.tallies)

    def saw_whole(self, number: int | None, since: float) -> bool:
        """Whether a whole call of a program has surely run since then: two were done, so what lay between was."""
        return sum(1 for program, time in tuple(self._done) if program == number and time > since) > 1

    @property
    def timed(self) -> int:
        """How many programs have finished a call."""
        return len(self._finished)

    def times(self) -> Times:
        """What is known of the programs' times now."""
        seen = {number: tally for number, tally in self.tallies.items() if tally.observed}
        calling = {number: weighted_median(tally.calling) for number, tally in seen.items()}
        return Times(self.pace, {number: tally.step for number, tally in seen.items()}, calling)

    def news(self) -> list[records.Executed]:
        """The records of the programs that have changed since this was asked last."""
        changed, self._news = self._news, set()
        times = self.times()
        return [
            self.tallies[number].record(times.step(number), times.pace(number))
            for number in sorted(changed)
            if number in self.tallies and self.tallies[number].calls
        ]

    def called_programs(self) -> list[Known]:
        """The programs that were called, of those that a counted function led to."""
        return [known for number, known in self._met.items() if self.tallies[number].calls]

    def _programs(self, before: Mapping[Any, int], counts: Mapping[Any, int]) -> dict[int, int]:
        """How often each program was called between two counts of functions."""
        moved: dict[int, int] = {}
        for function, total in counts.items():
            new = total - before.get(function, 0)
            if new > 0:
                for number, calls in self._divided(self._programs_of(function), new):
                    moved[number] = moved.get(number, 0) + calls
        return moved

    def _program_of(self, function: Any) -> int | None:
        return next((number for number, _ in self._divided(self._programs_of(function), 1)), None)

    def _divided(self, traces: Sequence[Known], calls: int) -> Iterator[tuple[int, int]]:
        """A function's new calls by program.

        Of a function with several, the one that was started last has them all, until the profiler has seen which
        share is whose.
        """
        for traced in traces:
            self._meet(traced)
        seen = self._seen_since(traces)
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

    def _seen_since(self, traces: Sequence[Known]) -> list[int]:
        """The calls that the profiler has seen of a function's programs since the last one was called by Python."""
        seen = {each.number: self.tallies[each.number].seen for each in traces}
        if not seen:
            return []
        started = max(self._latest.get(number, 0) for number in seen)
        since, before = self._since.get(traces[0].number, (-1, seen))
        if since != started:
            self._since[traces[0].number], before = (started, seen), seen
        return [number - before.get(each, 0) for each, number in seen.items()]

    def _meet(self, program: Known) -> None:
        if program.number in self._met:
            return
        self._met[program.number] = program
        self._tally(program.number, program.name)
        for module in program.modules():
            self._belongs(module, program.number)

    def _belongs(self, module: str, number: int) -> None:
        self._modules[module] = number
        self._compiled.setdefault(number, {}).setdefault(module, module)

    def _tally(self, number: int, function: str) -> Tally:
        made = self._compiled.setdefault(number, {})
        return self.tallies.setdefault(number, Tally(number, function, time.time(), modules=made, quick=self._quick))
