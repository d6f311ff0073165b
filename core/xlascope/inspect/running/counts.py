"""Attribution of function counts and profiler windows to programs."""

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
    """Accumulated measurements of all watched programs. Not thread-safe.

    ``programs_of`` returns the programs of a function of any engine.
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
        #: By a function's first program: the number of calls through Python when the last of its programs was
        #: called, and the profiled calls of each program at that time.
        self._since: dict[int, tuple[int, dict[int, int]]] = {}
        self._starts = 0
        self._finished: dict[int, int] = {}
        self._done: deque[tuple[int, float]] = deque(maxlen=16)
        self._made: tuple[Mapping[Any, int], Mapping[int, int]] = ({}, {})

    def know(self, record: records.Record) -> None:
        """Store which program a compiled module belongs to; ignore other records."""
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
        """Return the order in which the kernels of each module run."""
        return self._schedules

    def called(self, record: records.Started, counts: Mapping[Any, int], elapsed: float) -> bool:
        """Add one call that jaxlib passed to Python, whose program is therefore known.

        Calls counted before it belong to earlier programs. Returns whether there were any since the last count.
        """
        has_new_calls = counts != self._counted
        if has_new_calls:
            self.count(counts, elapsed)
        self._starts += 1
        self._latest[record.program] = self._starts
        self._tally(record.program, record.function).add_calls(1, 0.0)
        self._news.add(record.program)
        return has_new_calls

    def count(self, counts: Mapping[Any, int], elapsed: float) -> None:
        """Add the counts of functions, ``elapsed`` seconds after the last time."""
        new_calls = self._programs(self._counted, counts)
        self._counted.update(counts)
        times = self.times()
        weights = {number: calls * (times.step(number).seconds or 1e-4) for number, calls in new_calls.items()}
        total_weight = sum(weights.values())
        for number, calls in new_calls.items():
            self.tallies[number].add_calls(calls, elapsed * weights[number] / total_weight)
        self._news.update(new_calls)

    def finished(self, call: Made, done: float, waited: bool) -> None:
        """Add the completion of a call at time ``done``."""
        counts, started = self._made
        self._made = call.counts, call.started
        new = self._programs(counts, call.counts)
        for number, calls in call.started.items():
            if calls > started.get(number, 0):
                new[number] = new.get(number, 0) + calls - started.get(number, 0)
        for number, calls in new.items():
            self._finished[number] = self._finished.get(number, 0) + calls
        program = call.program if call.program is not None else self._program_of(call.function)
        if program is not None:
            finish = Finish(program, dict(self._finished), call.returned, done, waited, call.began)
            self.pace.finished(finish)
            self._done.append((program, done))
            self._news.update(new)

    def next_look(self, schedule: Looks) -> float:
        """Return the length of the next window in seconds; 0.0 for none now."""
        return schedule.next(self.tallies, self.times(), self._kernels)

    def saw(self, schedule: Looks, profiles: Sequence[ModuleProfile], seconds: float, cost: float) -> float:
        """Add the profiles of a window, with its length in seconds and its cost in processor time.

        Returns how long to leave the process alone.
        """
        by_program: dict[int, list[ModuleProfile]] = {}
        for profile in profiles:
            number = self._modules.get(profile.module)
            if number in self.tallies:
                by_program.setdefault(number, []).append(profile)
        for number, program_profiles in by_program.items():
            tally = self.tallies[number]
            if not tally.observed:
                tally.profiling += cost
            tally.add_window(program_profiles, seconds)
        self._news.update(by_program)
        return schedule.saw(
            seconds, cost, [item for program_profiles in by_program.values() for item in program_profiles], self.tallies
        )

    def saw_whole(self, number: int | None, since: float) -> bool:
        """Return whether a complete call of a program must have run since then: two have completed."""
        return sum(1 for program, time in tuple(self._done) if program == number and time > since) > 1

    @property
    def timed(self) -> int:
        """Return the number of programs that have completed a call."""
        return len(self._finished)

    def times(self) -> Times:
        """Return the current step times of the programs."""
        observed = {number: tally for number, tally in self.tallies.items() if tally.observed}
        call_seconds = {number: weighted_median(tally.calling) for number, tally in observed.items()}
        return Times(self.pace, {number: tally.step for number, tally in observed.items()}, call_seconds)

    def news(self) -> list[records.Executed]:
        """Return the records of the programs that have changed since the last call of this method."""
        changed, self._news = self._news, set()
        times = self.times()
        return [
            self.tallies[number].record(times.step(number), times.pace(number))
            for number in sorted(changed)
            if number in self.tallies and self.tallies[number].calls
        ]

    def called_programs(self) -> list[Known]:
        """Return the called programs of counted functions."""
        return [program for number, program in self._met.items() if self.tallies[number].calls]

    def _programs(self, before: Mapping[Any, int], counts: Mapping[Any, int]) -> dict[int, int]:
        """Return how often each program was called between two counts of functions."""
        calls_by_program: dict[int, int] = {}
        for function, total in counts.items():
            new_calls = total - before.get(function, 0)
            if new_calls > 0:
                for number, calls in self._divided(self._programs_of(function), new_calls):
                    calls_by_program[number] = calls_by_program.get(number, 0) + calls
        return calls_by_program

    def _program_of(self, function: Any) -> int | None:
        return next((number for number, _ in self._divided(self._programs_of(function), 1)), None)

    def _divided(self, traces: Sequence[Known], calls: int) -> Iterator[tuple[int, int]]:
        """Yield a function's new calls by program.

        The program that was started last has all calls of its function, until the profiler has recorded the shares.
        """
        for traced in traces:
            self._meet(traced)
        profiled = self._seen_since(traces)
        if not sum(profiled):
            newest_first = tuple(reversed(traces))
            latest = max(newest_first, key=lambda candidate: self._latest.get(candidate.number, 0), default=None)
            if latest is not None:
                yield latest.number, calls
            return
        remaining = calls
        for traced, observed in zip(traces, profiled, strict=True):
            share = min(remaining, round(calls * observed / sum(profiled)))
            remaining -= share
            if share:
                yield traced.number, share

    def _seen_since(self, traces: Sequence[Known]) -> list[int]:
        """Return the profiled calls of a function's programs since Python last called one of them."""
        profiled = {item.number: self.tallies[item.number].seen for item in traces}
        if not profiled:
            return []
        started = max(self._latest.get(number, 0) for number in profiled)
        since, before = self._since.get(traces[0].number, (-1, profiled))
        if since != started:
            self._since[traces[0].number], before = (started, profiled), profiled
        return [number - before.get(item, 0) for item, number in profiled.items()]

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
        modules = self._compiled.setdefault(number, {})
        return self.tallies.setdefault(number, Tally(number, function, time.time(), modules=modules, quick=self._quick))
