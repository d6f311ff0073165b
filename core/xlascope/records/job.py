"""Records of a job of several processes: what each of them writes of itself, and the report that joins them.

A process writes a :class:`JobProcess` and a :class:`SharedCalls` for each program that it runs together with others.
``analysis/job`` joins those of all processes to a :class:`JobReport`. Times are seconds since the epoch by the clock of
the process that wrote them, in a report by that of its reference process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .programs import SourceRange
from .spans import Span

#: What processes do together: a program, the comparison of a program before it is compiled, a wait for each other.
SharedEvent = Literal["program", "comparison", "barrier"]


@dataclass(frozen=True, slots=True)
class JobProcess:
    """Process of a job: its ``number`` among ``count`` processes, its machine and pid, and the devices that it has.

    ``function`` is the name of its script. ``devices`` are named as in ``Compiled.devices``.
    """

    program: int | None
    function: str
    time: float
    number: int
    count: int
    host: str = ""
    pid: int = 0
    devices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SharedCalls:
    """Calls of a program that several processes run together, as one of them saw them.

    ``digest`` is equal in all of these processes and for this program alone. ``calls`` is their number so far;
    ``numbers`` are those of the calls that were timed, from 0 and increasing, ``began`` when each was made and
    ``ended`` when its results were ready. With ``synchronizes`` no process can end a call before all have begun it: the
    program has a collective among all of them. ``event`` says what they do together; ``program`` is None for a barrier.
    """

    program: int | None
    function: str
    time: float
    digest: str
    calls: int
    numbers: tuple[int, ...]
    began: tuple[float, ...]
    ended: tuple[float, ...]
    synchronizes: bool = True
    event: SharedEvent = "program"


@dataclass(frozen=True, slots=True)
class JobClock:
    """Clock of a process compared with that of the reference process, estimated from what both did together.

    The clock is ahead by ``offset`` seconds at its time ``at``, and gains ``drift`` seconds each second. ``offset`` is
    the median difference of the times at which common calls ended, and ``uncertainty`` half the range from the 10th to
    the 90th percentile of these differences. The true offset lies between ``low`` and ``high``, because no process can
    end a common call before the others have begun it. ``meetings`` is the number of common calls. Without any,
    ``offset``, ``uncertainty`` and the bounds are None.
    """

    offset: float | None = None
    uncertainty: float | None = None
    low: float | None = None
    high: float | None = None
    drift: float = 0.0
    at: float = 0.0
    meetings: int = 0

    def to_reference(self, time: float) -> float:
        """Return a time of this clock as a time of the reference clock; unchanged if the offset is unknown."""
        return time - (self.offset or 0.0) - self.drift * (time - self.at)


@dataclass(frozen=True, slots=True)
class JobMember:
    """Process of a joined job; ``ended`` says how it ended (``""`` while it runs), ``seconds`` how long it ran.

    ``reference`` is the number of the process whose clock its ``clock`` is compared with. ``making`` and ``running``
    are the seconds of ``ScriptRun``.
    """

    number: int
    host: str
    pid: int
    devices: tuple[str, ...]
    ended: str
    seconds: float
    making: float
    running: float
    reference: int
    clock: JobClock


@dataclass(frozen=True, slots=True)
class JobPace:
    """Part that one process has in a shared program: medians in seconds over the calls that all processes timed.

    ``period`` is the time from the begin of one call to that of the next, ``arrival`` how much later than the first
    process it begins a call, ``waits`` how long it then waits for the last one. ``last`` counts the calls to which it
    came last, by more than the clocks are uncertain. ``in_collectives`` are the seconds of a call that its devices
    spend in collectives by the profiler, and ``waits_inside`` the part of them by which it exceeds the device that
    spends least: what it waits for that one. Both are None without a profile of all processes.
    """

    process: int
    calls: int
    period: float | None
    arrival: float | None
    waits: float | None
    last: int
    in_collectives: float | None = None
    waits_inside: float | None = None


@dataclass(frozen=True, slots=True)
class JobStep:
    """Call of a shared program, by the reference clock.

    ``began`` and ``ended`` have a time for each process, in the order of ``SharedProgram.processes``. ``slowest`` is
    the process that began last, ``late`` seconds after the median of the others.
    """

    number: int
    began: tuple[float, ...]
    ended: tuple[float, ...]
    slowest: int
    late: float


@dataclass(frozen=True, slots=True)
class JobCollective:
    """Collective of a shared program: kernel, ``kind``, the operation and line that it is for.

    ``seconds`` are those of one run in each process (means over its devices, by the profiler), in the order of
    ``SharedProgram.processes``; ``waits`` are the parts of them that exceed the device that spends least in it, and
    ``last`` is the process of that device, which the others wait for. Both are empty, and ``last`` None, without a
    profile of all processes. ``runs`` is the number of runs observed, of the process where that is smallest.
    """

    kernel: str
    kind: str
    operation: str
    bytes: int
    source: SourceRange | None = None
    seconds: tuple[float, ...] = ()
    waits: tuple[float, ...] = ()
    last: int | None = None
    runs: int = 0


@dataclass(frozen=True, slots=True)
class JobLane:
    """One device in one step of a shared program: its kernels, from the end of the first collective on.

    Each process shows the step that its own profiler saw as the median one, so the steps of two processes need not be
    the same one. Their common origin is the end of the first collective of all processes. ``waits`` are the parts of
    collectives that are waiting. ``clipped`` is the number of kernels left out, the shortest ones.
    """

    process: int
    device: str
    spans: tuple[Span, ...]
    waits: tuple[Span, ...] = ()
    clipped: int = 0


@dataclass(frozen=True, slots=True)
class SharedProgram:
    """Program that several processes ran together: who was late, who waited, and in which collectives.

    ``programs`` are its numbers in the ``processes``, in the same order. ``compared`` is the number of calls that all
    of them timed; ``steps`` are the last of these. ``slowest`` is the process that the others wait for most, None if
    no process stands out.
    """

    function: str
    digest: str
    processes: tuple[int, ...]
    programs: tuple[int | None, ...]
    calls: int
    compared: int
    paces: tuple[JobPace, ...] = ()
    steps: tuple[JobStep, ...] = ()
    collectives: tuple[JobCollective, ...] = ()
    lanes: tuple[JobLane, ...] = ()
    slowest: int | None = None


@dataclass(frozen=True, slots=True)
class JobDifference:
    """Difference between processes: what is true of ``processes`` alone, as ``text``.

    ``kind`` is ``program`` (a function has another program there), ``retrace`` (it was traced more often there),
    ``alone`` (it ran only there), ``failure`` (an error was raised there) or ``end`` (how the process ended).
    """

    kind: Literal["program", "retrace", "alone", "failure", "end"]
    function: str
    processes: tuple[int, ...]
    text: str
    source: SourceRange | None = None


@dataclass(frozen=True, slots=True)
class JobReport:
    """Job of several processes, joined from their records; ``function`` is the name of its script.

    ``count`` is the number of processes that the job had, ``members`` are those that left records; ``programs`` have
    those that took most time first. ``notes`` say what could not be known.
    """

    program: int | None
    function: str
    time: float
    count: int
    members: tuple[JobMember, ...]
    programs: tuple[SharedProgram, ...] = ()
    differences: tuple[JobDifference, ...] = ()
    notes: tuple[str, ...] = ()
