"""Times of calls of the programs that this process runs together with others, as records for a joined report."""

from __future__ import annotations

import os
import platform
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from ... import records
from ...analysis.job.collectives import synchronizes_all
from ...analysis.job.process_records import make_digest
from ...lru_cache import LRUCache
from ...xla.processes.job import current_membership
from ..inspection_scope import inspecting
from .completion_tracker import CompletionTracker, DispatchedCall
from .engines import DispatchListener, ExecutionEngine, subscribe

#: Shared programs whose calls are timed, and other meetings (comparisons, barriers) that are stored: the first ones.
MAX_TIMED_PROGRAMS, MAX_MEETINGS = 128, 64
#: Calls that stay: the last ones, and of all calls so many, in blocks of successive ones.
MAX_LAST_CALLS, MAX_SAMPLED_CALLS, BLOCK_CALLS = 256, 1024, 16
#: Traces whose compilation is awaited.
MAX_AWAITED_TRACES = 8
#: Programs whose calls are counted, though not known to be shared.
MAX_UNSHARED_PROGRAMS = 2048
STOP_TIMEOUT_SECONDS, DRAIN_TIMEOUT_SECONDS = 0.2, 0.2


class CallSample:
    """Begin and end of calls by number: of the last ones, and of blocks of all, chosen by their numbers alone.

    So processes that make the same calls keep the same ones, and those that follow each other. Of ever more calls
    blocks are ever rarer.
    """

    def __init__(self) -> None:
        self._last: deque[tuple[int, float, float]] = deque(maxlen=MAX_LAST_CALLS)
        self._sampled: dict[int, tuple[float, float]] = {}
        self._stride = 1

    def add(self, number: int, began: float, ended: float) -> None:
        """Add a call."""
        self._last.append((number, began, ended))
        if self._is_sampled(number):
            self._sampled[number] = began, ended
            while len(self._sampled) > MAX_SAMPLED_CALLS:
                self._stride *= 2
                self._sampled = {n: times for n, times in self._sampled.items() if self._is_sampled(n)}

    def _is_sampled(self, number: int) -> bool:
        return number // BLOCK_CALLS % self._stride == 0

    def rows(self) -> list[tuple[int, float, float]]:
        """Return (number, began, ended) by number."""
        sampled = {number: (number, *times) for number, times in self._sampled.items()}
        return sorted((sampled | {row[0]: row for row in self._last}).values())


class _TimedProgram(NamedTuple):
    """Program that several processes run, without its records, which are large; ``calls`` times its calls."""

    number: int
    function: str
    time: float
    digest: str
    synchronizes: bool
    calls: CallSample


class SharedCallRecorder:
    """Recorder of the times of shared calls from :meth:`start` to :meth:`stop`.

    Calls are numbered from the start on, so all processes have to start together: with the script, or with the same
    cell. A call is timed from when it is made to when its smallest result is ready, which a thread waits for.
    """

    def __init__(self) -> None:
        self._completions = CompletionTracker(self._on_completion)
        self._lock = threading.Lock()
        self._traces: LRUCache[int, records.Traced] = LRUCache(MAX_AWAITED_TRACES)
        self._programs: dict[int, _TimedProgram] = {}
        self._counts: dict[str, int] = {}
        self._calls_before: LRUCache[int, int] = LRUCache(MAX_UNSHARED_PROGRAMS)
        self._began: dict[int, tuple[int, int, float]] = {}
        self._meetings: list[records.SharedCalls] = []
        self._devices: dict[str, int] = {}
        self._joined: records.JobProcess | None = None
        self._listened: list[tuple[ExecutionEngine, DispatchListener]] = []
        self._subscription: records.Subscription | None = None
        self._unsubscribe: Any = None
        self._epoch = time.time() - time.perf_counter()

    def start(self) -> None:
        """Start recording."""
        self._subscription = records.watch(self._receive)
        self._unsubscribe = subscribe(self._listen)
        self._note_membership()

    def introduce(self, earlier: Iterable[records.Record]) -> None:
        """Learn of programs that were traced and compiled before, whose calls are recorded from now on.

        ``earlier`` are their records.
        """
        for record in earlier:
            self._receive(record)

    def stop(self) -> None:
        """Stop recording; the records remain."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        for engine, listener in self._listened:
            if listener in engine.dispatched:
                engine.dispatched.remove(listener)
        self._listened.clear()
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None
        self._completions.stop(STOP_TIMEOUT_SECONDS)

    def build_records(
        self, script: str, rank: tuple[int, int] | None = None
    ) -> list[records.JobProcess | records.SharedCalls]:
        """Return what is known so far: this process, and its shared calls; nothing where it belongs to no job.

        ``script`` is the name of what runs. ``rank`` is the number of this process and that of all, of a job that it
        has joined without our engine.
        """
        self._completions.drain(DRAIN_TIMEOUT_SECONDS)
        joined = self._joined
        if joined is None and rank is not None:
            joined = records.JobProcess(None, script, time.time(), *rank, platform.node(), os.getpid())
        if joined is None:
            return []
        with self._lock:
            devices = tuple(name for name, number in self._devices.items() if number == joined.number)
            process = replace(joined, function=script, time=time.time(), devices=devices)
            return [process, *self._program_records(), *self._meetings]

    def _note_membership(self) -> None:
        """Note the number of this process in its job, which it may have left when the records are built."""
        membership = current_membership()
        if membership is not None:
            facts = membership.facts[membership.process_id]
            number, count = membership.process_id, membership.num_processes
            self._joined = records.JobProcess(None, "", time.time(), number, count, facts.host, facts.pid)

    def _program_records(self) -> Iterator[records.SharedCalls]:
        by_digest: dict[str, _TimedProgram] = {}
        for program in self._programs.values():
            by_digest.setdefault(program.digest, program)
        for digest, program in by_digest.items():
            rows = program.calls.rows()
            numbers, began, ended = zip(*rows, strict=True) if rows else ((), (), ())
            yield records.SharedCalls(
                program.number,
                program.function,
                program.time,
                digest,
                self._counts.get(digest, 0),
                numbers,
                began,
                ended,
                program.synchronizes,
            )

    # On the threads of the program that is watched -------------------------------------------------------------------

    def _listen(self, engine: ExecutionEngine) -> None:
        listener = partial(self._on_dispatch, engine)
        self._listened.append((engine, listener))
        engine.dispatched.append(listener)

    def _receive(self, record: records.Record) -> None:
        if inspecting():
            return
        match record:
            case records.Traced():
                self._traces[record.program] = record
            case records.Compiled(target="") if len(set(record.processes)) > 1:
                self._add_program(record)
            case records.Started(stage="run"):
                self._count_call(record.program)
            case records.SharedCalls() if len(self._meetings) < MAX_MEETINGS:
                self._meetings.append(record)
            case records.JobProcess():
                self._note_membership()

    def _add_program(self, record: records.Compiled) -> None:
        traced = self._traces.get(record.program)
        if self._joined is None:
            self._note_membership()
        self._devices.update(zip(record.devices, record.processes, strict=True))
        with self._lock:
            if traced is None or record.program in self._programs or len(self._programs) >= MAX_TIMED_PROGRAMS:
                return
            digest = make_digest(traced.function, traced.text)
            twin = next((program for program in self._programs.values() if program.digest == digest), None)
            calls = CallSample() if twin is None else twin.calls
            self._programs[record.program] = _TimedProgram(
                record.program, record.function, record.time, digest, synchronizes_all(record), calls
            )
            self._counts[digest] = self._counts.get(digest, 0) + (self._calls_before.pop(record.program, 0) or 0)

    def _count_call(self, number: int) -> None:
        """Count a call of a program that begins on this thread, and note when it began."""
        with self._lock:
            program = self._programs.get(number)
            if program is None:
                self._calls_before[number] = (self._calls_before.get(number) or 0) + 1
                return
            call = self._counts.get(program.digest, 0)
            self._counts[program.digest] = call + 1
        self._began[threading.get_ident()] = number, call, time.perf_counter()

    def _on_dispatch(self, engine: ExecutionEngine, number: int, out: Any) -> None:
        """Wait on the tracker's thread for the results ``out`` of a call of the program with that number."""
        began = self._began.pop(threading.get_ident(), None)
        if began is not None and began[0] == number:
            returned = time.perf_counter()
            call = DispatchedCall(began[1], number, {}, {}, returned, began[2])
            self._completions.add(call, out, engine.leaves)

    # On the tracker's thread -----------------------------------------------------------------------------------------

    def _on_completion(self, call: DispatchedCall, completion_time: float | None, waited: bool, late: bool) -> None:
        if completion_time is None or call.began is None or call.program is None:
            return
        with self._lock:
            program = self._programs[call.program]
            program.calls.add(call.function, self._epoch + call.began, self._epoch + completion_time)
