"""Attribution of function counts and profiler windows to programs."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ... import records
from ...readers.hlo.schedules import Schedules, read_schedules
from ...readers.profiles import ModuleProfile
from .accumulator import NO_STEP_TIME, ProgramTally
from .called_programs import CalledPrograms
from .completion_tracker import DispatchedCall
from .earlier_profiles import EarlierProfiles
from .engines import WatchedProgram
from .periods import CallLog, weighted_quantile
from .profiler_schedule import ProfilerSchedule
from .step_time import Completion, CompletionHistory, StepTime, StepTimes

#: Number of modules whose text waits until a profile needs the order of their kernels: a short cell that runs again is
#: not profiled.
MAX_UNREAD_MODULES = 16


#: A call, the time of its completion, and whether it was waited for and noticed late (:class:`CompletionTracker`).
CompletedCall = tuple[DispatchedCall, float | None, bool, bool]


class RunningPrograms:
    """Measurements of all watched programs, accumulated by program number. Not thread-safe.

    ``programs_of`` returns the programs of a function of any engine, by the function's key in its engine. ``tallies``
    and ``pace`` hold the sums and the completions. ``earlier`` has the profiles of earlier runs.
    """

    def __init__(
        self, programs_of: Callable[[Any], Sequence[WatchedProgram]], earlier: EarlierProfiles | None = None
    ) -> None:
        self._programs_of = programs_of
        self._earlier = earlier
        self.tallies: dict[int, ProgramTally] = {}
        self.pace = CompletionHistory(Completion(0, {}, 0.0, time.perf_counter(), waited=False))
        self._programs: dict[int, WatchedProgram] = {}
        self._changed: set[int] = set()
        self._modules: dict[str, int] = {}
        self.on_gpu = False
        self._compiled: dict[int, dict[str, object]] = {}
        self._quick: set[str] = set()
        self._schedules: dict[str, Schedules] = {}
        #: The text of modules whose schedules were not read yet, and the names of their kernels.
        self._unread: dict[str, tuple[str, Collection[str]]] = {}
        self._kernels: dict[int, int] = {}
        self._counted: dict[Any, int] = {}
        self._latest: dict[int, int] = {}
        #: Calls that were noted with their programs, as function, number and program; and what they tell by function.
        self._noted: deque[tuple[Any, int, int]] = deque()
        self._called: dict[Any, CalledPrograms] = {}
        #: Lines from which operations were called, as function, number of the program or None, file and line.
        self._noted_lines: deque[tuple[Any, int | None, str, int]] = deque()
        self._traced_at: dict[int, tuple[str, int]] = {}
        #: By a function's first program: the number of calls through Python when the last of its programs was
        #: called, and the profiled calls of each program at that time.
        self._profiled_at_start: dict[int, tuple[int, dict[int, int]]] = {}
        self._starts = 0
        self._finished: dict[int, int] = {}
        self._warm_in_window: set[int] = set()
        self._mixed: set[int] = set()
        self._completions: deque[tuple[int, float]] = deque(maxlen=16)
        self._last_call_counts: tuple[Mapping[Any, int], Mapping[int, int]] = ({}, {})
        self._programs_in_batch: dict[Any, Sequence[WatchedProgram]] | None = None
        #: The step times, until something is added that changes them.
        self._times: StepTimes | None = None

    def learn_modules(self, record: records.Record) -> None:
        """Store which program a compiled module belongs to, and where a program was traced; ignore other records."""
        self._times = None
        if isinstance(record, records.Traced) and record.call_site is not None:
            self._traced_at[record.program] = record.call_site.file, record.call_site.line
        if isinstance(record, records.Compiled):
            kinds = tuple((kernel.name, kernel.type_text, kernel.bytes_read) for kernel in record.kernels)
            self._assign_module(record.module, record.program)
            self.on_gpu |= record.platform == "gpu" and not record.target
            self._compiled[record.program][record.module] = hash(kinds)
            if record.quick:
                self._quick.add(record.module)
            names = {kernel.name for kernel in record.kernels}
            self._kernels[record.program] = len(names)
            self._unread.pop(record.module, None)
            self._unread[record.module] = record.hlo, names
            if len(self._unread) > MAX_UNREAD_MODULES:
                self._read_schedules(1)
            tally = self.tallies.get(record.program)
            if tally is not None and not record.target and tally.module != record.module:
                tally.forget_earlier()

    def restart(self, program: int, now: float) -> None:
        """Note that a program was compiled at time ``now``, so that its next calls are warm-up."""
        self._times = None
        self.pace.restart(program, now)
        if program in self.tallies:
            self.tallies[program].has_warm_calls = False

    def begin_window(self, now: float) -> None:
        """Note that a profiler window opens at time ``now``: programs that are warm have only warm calls in it."""
        self._times = None
        self.pace.begin_window(now)
        self._warm_in_window = {number for number in self.tallies if self.pace.is_warm(number)}

    def end_window(self, now: float) -> None:
        """Note that the window is closed and read at time ``now``."""
        self._times = None
        self.pace.end_window(now)

    @property
    def schedules(self) -> Mapping[str, Schedules]:
        """Return the order in which the kernels of each module run, read when a profile needs it."""
        self._read_schedules(len(self._unread))
        return self._schedules

    def _read_schedules(self, modules: int) -> None:
        """Read the schedules of the modules that have waited longest."""
        for module in list(self._unread)[:modules]:
            self._schedules[module] = read_schedules(*self._unread.pop(module))

    def add_python_call(self, record: records.Started, counts: Mapping[Any, int], elapsed: float) -> bool:
        """Add one call that jaxlib passed to Python, whose program is known from its record.

        Calls counted before it belong to earlier programs. Returns whether there were any since the last count.
        ``counts`` are the calls of functions by key, ``elapsed`` the seconds since the last count.
        """
        has_new_calls = counts != self._counted
        if has_new_calls:
            self.add_counts(counts, elapsed)
        self._starts += 1
        self._latest[record.program] = self._starts
        self._learn_called_programs()
        for function, called in self._called.items():
            if any(item.number == record.program for item in self._programs_of(function)):
                called.start(counts.get(function, 0), record.program)
        self._get_tally(record.program, record.function).add_calls(1, 0.0)
        self._changed.add(record.program)
        return has_new_calls

    def note_program(self, function: Any, number: int, program: int) -> None:
        """Note that a call of a function, of which so many calls were counted, ran a program; from any thread."""
        self._noted.append((function, number, program))

    def note_line(self, function: Any, program: int | None, file: str, line: int) -> None:
        """Note that a line called an operation, whose program is known if it has several; from any thread."""
        self._noted_lines.append((function, program, file, line))

    def _learn_lines(self) -> None:
        """Add the lines that called operations to their programs."""
        while self._noted_lines:
            function, program, file, line = self._noted_lines.popleft()
            programs = [item.number for item in self._programs_of(function)] if program is None else [program]
            if len(programs) == 1 and programs[0] in self.tallies:
                self.tallies[programs[0]].lines[file, line] = None

    def _learn_called_programs(self) -> None:
        """Add what was noted of calls to their functions."""
        while self._noted:
            function, number, program = self._noted.popleft()
            if function not in self._called:
                self._called[function] = CalledPrograms()
            self._called[function].note(number, program)

    def add_counts(self, counts: Mapping[Any, int], elapsed: float) -> None:
        """Add the new calls among ``counts`` to the programs of their functions.

        ``counts`` are the calls of functions by key. The seconds since the last count, ``elapsed``, are divided among
        the called programs by the time of their calls.
        """
        new_calls = self._calls_by_program(self._counted, counts)
        self._counted.update(counts)
        times = self.times()
        weights = {number: calls * (times.step(number).seconds or 1e-4) for number, calls in new_calls.items()}
        total_weight = sum(weights.values())
        for number, calls in new_calls.items():
            self.tallies[number].add_calls(calls, elapsed * weights[number] / total_weight)
        self._changed.update(new_calls)

    def add_completions(self, completions: deque[CompletedCall]) -> None:
        """Add completed calls in the order of their dispatch, and take them out of ``completions``."""
        if not completions:
            return
        self._programs_in_batch = {}
        try:
            while completions:
                self.add_completion(*completions.popleft())
        finally:
            self._programs_in_batch = None

    def add_completion(
        self, call: DispatchedCall, completion_time: float | None, waited: bool, late: bool = False
    ) -> None:
        """Add a call that completed at ``completion_time``; None if its results were donated before.

        ``waited`` says whether its results were not ready when it was dispatched, ``late`` whether they were ready
        some time before ``completion_time``.
        """
        self._times = None
        counts, started = self._last_call_counts
        self._last_call_counts = call.counts, call.started
        new = self._calls_by_program(counts, call.counts)
        for number, calls in call.started.items() if call.started is not started else ():
            if calls > started.get(number, 0):
                new[number] = new.get(number, 0) + calls - started.get(number, 0)
        for number, calls in new.items():
            self._finished[number] = self._finished.get(number, 0) + calls
        program = self._program_of(call)
        if program is None:
            return
        self._changed.update(new)
        if completion_time is None:
            self.pace.add_donated(program, self._finished.get(program, 0), call.returned)
        else:
            finish = Completion(
                program,
                dict(self._finished),
                call.returned,
                completion_time,
                waited,
                call.began,
                late,
                call.overhead,
                call.queued,
            )
            self.pace.add_completion(finish)
            self._completions.append((program, completion_time))
        if program in self.tallies:
            self.tallies[program].has_warm_calls = self.pace.is_warm(program)

    def next_window(self, schedule: ProfilerSchedule) -> float:
        """Return the seconds for which the next window should be open; 0.0 for no window now."""
        return schedule.next_length(self.tallies, self.times(), self._kernels)

    def add_window(
        self, schedule: ProfilerSchedule, profiles: Sequence[ModuleProfile], seconds: float, cost: float
    ) -> float:
        """Add the profiles of a window that was open for ``seconds`` and took ``cost`` seconds of processor time.

        Returns for how many seconds no window should follow.
        """
        self._times = None
        by_program: dict[int, list[ModuleProfile]] = {}
        for profile in profiles:
            number = self._modules.get(profile.module)
            if number in self.tallies:
                by_program.setdefault(number, []).append(profile)
        for number, program_profiles in by_program.items():
            tally = self.tallies[number]
            if tally.needs_profile:
                tally.profiling += cost
            tally.add_window(program_profiles, seconds, warm=number in self._warm_in_window)
        self._changed.update(by_program)
        return schedule.add_window(
            seconds, cost, [item for program_profiles in by_program.values() for item in program_profiles], self.tallies
        )

    def has_complete_call(self, number: int | None, since: float) -> bool:
        """Return whether program ``number`` must have run a complete call after the time ``since``.

        That is certain once two of its calls have completed in that time. No call belongs to ``number`` None.
        """
        return sum(1 for program, time in tuple(self._completions) if program == number and time > since) > 1

    @property
    def timed_program_count(self) -> int:
        """Return the number of programs that have completed a call."""
        return len(self._finished)

    def shortest_pace(self) -> float:
        """Return the shortest known seconds from call to call of the called programs; 0.0 if one is unknown."""
        times = self.times()
        return min((times.pace(number) for number, tally in self.tallies.items() if tally.calls), default=0.0)

    def times(self) -> StepTimes:
        """Return the current step times of the programs."""
        if self._times is None:
            self._times = self._compute_times()
        return self._times

    def _compute_times(self) -> StepTimes:
        observed = {number: tally for number, tally in self.tallies.items() if tally.has_device_time}
        call_seconds = {number: weighted_quantile(tally.call_seconds, 0.5) for number, tally in observed.items()}
        steps = {number: weighted_quantile(tally.steps, 0.5) for number, tally in observed.items()}
        short = {number: tally.short_duration() for number, tally in observed.items()}
        return StepTimes(self.pace, steps, call_seconds, short)

    def changed_records(self) -> list[records.Executed]:
        """Return the records of the programs that have changed since the last call of this method."""
        changed, self._changed = self._changed, set()
        self._learn_lines()
        times = self.times()
        return [
            self._record(number, times)
            for number in sorted(changed)
            if number in self.tallies and self.tallies[number].calls
        ]

    def _record(self, number: int, times: StepTimes) -> records.Executed:
        """Return the record of a program; without host times if its calls are not told apart from another program's."""
        tally = self.tallies[number]
        tally.traced_at = self._traced_at.get(number)
        if tally.lines and tally.traced_at is not None:
            tally.lines.setdefault(tally.traced_at)
        if number in self._mixed:
            step = StepTime(tally.step, "profile") if tally.has_device_time else NO_STEP_TIME
            return tally.record(step, is_mixed=True)
        log = self.pace.logs.get(number, CallLog())
        return tally.record(times.step(number), times.pace(number), times.period(number), log)

    def _mix(self, programs: Iterable[int]) -> None:
        """Note that the calls of programs are not told apart."""
        mixed = set(programs) - self._mixed
        self._mixed |= mixed
        self._changed |= mixed

    def called_programs(self) -> list[WatchedProgram]:
        """Return the called programs of counted functions."""
        return [program for number, program in self._programs.items() if self.tallies[number].calls]

    def _calls_by_program(self, before: Mapping[Any, int], counts: Mapping[Any, int]) -> dict[int, int]:
        """Return how often each program was called between two counts, by the program's number.

        ``before`` and ``counts`` are the calls of functions by key; the calls of a function are divided among its
        programs.
        """
        self._learn_called_programs()
        calls_by_program: dict[int, int] = {}
        for function, total in counts.items():
            counted = before.get(function, 0)
            if total > counted:
                for number, calls in self._divide_calls(function, counted + 1, total):
                    calls_by_program[number] = calls_by_program.get(number, 0) + calls
        return calls_by_program

    def _find_programs(self, function: Any) -> Sequence[WatchedProgram]:
        """Return the programs of a function; in a batch of completions those found first."""
        if self._programs_in_batch is None:
            return self._programs_of(function)
        programs = self._programs_in_batch.get(function)
        if programs is None:
            programs = self._programs_in_batch[function] = self._programs_of(function)
        return programs

    def _program_of(self, call: DispatchedCall) -> int | None:
        if call.program is not None:
            return call.program
        number = call.counts.get(call.function, 1)
        return next((program for program, _ in self._divide_calls(call.function, number, number)), None)

    def _divide_calls(self, function: Any, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield (program number, calls): calls of one function by their numbers, divided among its programs.

        It is known from the arguments of noted calls which program they ran, unless several are called by turns.
        """
        traces = self._find_programs(function)
        for traced in traces:
            self._register_program(traced)
        if len(traces) == 1:
            yield traces[0].number, last - first + 1
            return
        called = self._called.get(function)
        if called is None or not called.is_known(first):
            yield from self._estimate_division(traces, first, last)
            return
        if called.is_uncertain(last):
            self._mix(item.number for item in traces)
        if called.is_uncertain(last) and called.is_alternating:
            yield from self._estimate_division(traces, first, last, called.noted_calls())
        else:
            yield from called.divide(first, last)

    def _estimate_division(
        self, traces: Sequence[WatchedProgram], first: int, last: int, noted: Mapping[int, int] = MappingProxyType({})
    ) -> Iterator[tuple[int, int]]:
        """Yield (program number, calls): new calls of one function by their numbers, divided among ``traces``.

        They are divided as the profiler's calls are, or as the ``noted`` ones if these are more; without any the
        program that was started last has all of them. Shares are those of all calls so far, so that a program that is
        called rarely is not rounded away.
        """
        calls = last - first + 1
        profiled = self._profiled_calls_since(traces)
        if sum(profiled) <= sum(noted.values()):
            profiled = [noted.get(item.number, 0) for item in traces]
        total = sum(profiled)
        if not total:
            newest_first = tuple(reversed(traces))
            latest = max(newest_first, key=lambda candidate: self._latest.get(candidate.number, 0), default=None)
            if latest is not None:
                yield latest.number, calls
            return
        remaining = calls
        for traced, observed in zip(traces, profiled, strict=True):
            share = min(remaining, round(last * observed / total) - round((first - 1) * observed / total))
            remaining -= share
            if share:
                yield traced.number, share
        if remaining:  # what rounding has left
            yield max(zip(profiled, (item.number for item in traces), strict=True))[1], remaining

    def _profiled_calls_since(self, traces: Sequence[WatchedProgram]) -> list[int]:
        """Return how many calls of each program the profiler saw since Python last called one of them.

        ``traces`` are the programs of one function.
        """
        profiled = {item.number: self.tallies[item.number].profiled_calls for item in traces}
        if not profiled:
            return []
        started = max(self._latest.get(number, 0) for number in profiled)
        since, before = self._profiled_at_start.get(traces[0].number, (-1, profiled))
        if since != started:
            self._profiled_at_start[traces[0].number], before = (started, profiled), profiled
        return [number - before.get(item, 0) for item, number in profiled.items()]

    def _register_program(self, program: WatchedProgram) -> None:
        if program.number in self._programs:
            return
        self._programs[program.number] = program
        self._get_tally(program.number, program.name)
        for module in program.modules():
            self._assign_module(module, program.number)

    def _assign_module(self, module: str, number: int) -> None:
        self._modules[module] = number
        self._compiled.setdefault(number, {}).setdefault(module, module)

    def _get_tally(self, number: int, function: str) -> ProgramTally:
        modules = self._compiled.setdefault(number, {})
        if number not in self.tallies:
            tally = self.tallies[number] = ProgramTally(
                number, function, time.time(), modules=modules, quick=self._quick
            )
            self._times = None
            if self._earlier is not None:
                self._earlier.begin(tally)
        return self.tallies[number]

    @property
    def are_known(self) -> bool:
        """Return whether all programs that were called have a profile of an earlier run, and none of this one."""
        return all(tally.is_earlier for tally in self.tallies.values() if tally.calls)

    def store_profiles(self) -> None:
        """Store the profiles for later runs."""
        if self._earlier is not None:
            self._earlier.store(self.tallies)
