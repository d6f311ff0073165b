"""Records of events, one frozen dataclass per stage: traced, lowered, compiled, executed, or failed.

All times are seconds; ``time`` is seconds since the epoch at which the stage began. ``program`` is the number
that joins the stages of one program; it is unique within a process.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from .compiled import Kernel, MemoryUse
from .decisions import Explained, Passes
from .findings import Diagnosis
from .job import JobProcess, JobReport, SharedCalls
from .paths import EquationPath
from .programs import Equation, Jaxpr, SourceRange, SourceText
from .scaled import Scaled
from .script import ScriptRun
from .spans import Span as Span
from .time_account import TimeAccount
from .traits import Trait
from .value_history import ValueHistory
from .values import ValueReport

#: Cause of a trace.
Origin = Literal["", "first", "again", "operation"]


@dataclass(frozen=True, slots=True)
class Started:
    """Begin of a stage of a program; the strip shows the stage while it lasts."""

    program: int
    function: str
    stage: Literal["trace", "lower", "compile", "run"]
    time: float


@dataclass(frozen=True, slots=True)
class Traced:
    """Trace of a function to a jaxpr; ``reason`` says why this trace was needed, ``fix`` how to avoid it.

    ``origin`` is the cause of the trace: the ``first`` call of a function, a call ``again``, or an ``operation``
    that ran outside of any jitted function, functions of the library included; ``""`` in records saved by an earlier
    version.

    ``traits`` are those of the program's operations, by name (``records/traits.py``); operations without any are
    left out.
    """

    program: int
    function: str
    time: float
    seconds: float
    jaxpr: Jaxpr
    text: str
    reason: str
    call_site: SourceRange | None = None
    sources: tuple[SourceText, ...] = ()
    fix: str = ""
    origin: Origin = ""
    traits: dict[str, tuple[Trait, ...]] = field(default_factory=dict)

    def has(self, equation: Equation | None, trait: Trait) -> bool:
        """Return whether the operation of an equation has a trait; False if the equation is None."""
        return equation is not None and trait in self.traits.get(equation.operation, ())

    @property
    def is_operation(self) -> bool:
        """Return whether this is an operation outside of any jitted function, or a program that was not traced."""
        return self.origin == "operation" or (not self.origin and self.seconds == 0)


@dataclass(frozen=True, slots=True)
class Missed:
    """Call of a traced function that went through Python because jaxlib's call cache missed.

    ``reason`` says why, ``fix`` how to avoid it.
    """

    program: int
    function: str
    time: float
    reason: str
    fix: str
    call_site: SourceRange | None = None


@dataclass(frozen=True, slots=True)
class Lowered:
    """Lowering of a jaxpr to StableHLO; ``operations`` is the number of lowered equations, bodies included."""

    program: int
    function: str
    time: float
    seconds: float
    operations: int


@dataclass(frozen=True, slots=True)
class Compiled:
    """Compilation of StableHLO to an executable.

    ``flops`` and ``bytes_accessed`` are XLA's estimates, None without one.

    ``target`` names what it was compiled for ahead of time (``gpu:h100``), ``""`` for a local device. Such a
    program is not measured: ``estimated_seconds`` is the estimate of one run, by ``estimated_by``. ``notes``
    list what could not be read in XLA's output.

    ``quick`` marks a version that was compiled quickly, to answer the first calls while XLA compiles the
    optimized one, which has a record of its own.

    ``kept`` are the equations whose results are materialized, where XLA would compute them again in several
    kernels.

    For a program that is partitioned among devices, ``mesh`` describes the mesh (``x=4, y=2``);
    ``inputs_lie`` and ``outputs_lie`` are the PartitionSpecs of the jaxpr's constants and inputs, and of its
    outputs, as XLA reports them. ``processes`` are the numbers of the processes that the ``devices`` belong to, in
    the same order, empty where all belong to one.
    """

    program: int
    function: str
    time: float
    seconds: float
    cache: Literal["miss", "hit"]
    platform: str
    devices: tuple[str, ...]
    module: str
    kernels: tuple[Kernel, ...]
    hlo: str
    flops: float | None = None
    bytes_accessed: float | None = None
    memory: MemoryUse | None = None
    target: str = ""
    estimated_seconds: float | None = None
    estimated_by: str = ""
    notes: tuple[str, ...] = ()
    mesh: str = ""
    inputs_lie: tuple[str, ...] = ()
    outputs_lie: tuple[str, ...] = ()
    kept: tuple[EquationPath, ...] = ()
    quick: bool = False
    processes: tuple[int, ...] = ()

    @property
    def unread(self) -> bool:
        """Return whether the kernels are unknown, so that a count of them would be wrong."""
        return bool(self.notes) and not self.kernels


@dataclass(frozen=True, slots=True)
class Continued:
    """Compilation that goes on after the call that requested it.

    Either the call was interrupted, and the program's next call uses the result; or the call was answered by
    a version compiled quickly, which the result replaces. ``seconds`` is how long it took, None while it is
    in progress.
    """

    program: int
    function: str
    time: float
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class KernelTime:
    """Measured time of a kernel on one device, summed over the calls observed.

    ``flops`` and ``bytes_accessed`` are XLA's own figures for one run, if the profile has them (a TPU's does).
    """

    kernel: str
    calls: int
    seconds: float
    flops: float | None = None
    bytes_accessed: float | None = None


@dataclass(frozen=True, slots=True)
class Peaks:
    """Peak performance of a GPU or TPU from its profile; None for what is not in the profile.

    ``flops`` are per second; ``bytes_per_second`` is the rate to and from its memory of ``memory`` bytes; it
    has ``cores`` cores at ``clock`` hertz.
    """

    flops: float | None = None
    bytes_per_second: float | None = None
    memory: int | None = None
    cores: int | None = None
    clock: float | None = None


@dataclass(frozen=True, slots=True)
class DeviceTime:
    """Activity of one device during the complete calls that the profiler observed.

    ``busy`` is the time during which at least one kernel of this program ran; ``kernels`` sums self times;
    both count exactly the observed calls. ``spans`` are the kernels of one representative step (the one of
    median time), from start to end; ``transfers`` are the copies between host and device, or between devices,
    during that step, with the profiler's names. With ``whole=False`` no window has contained a complete call:
    ``spans`` are then a part of a step, and nothing is summed or ranked.
    """

    device: str
    busy: float
    kernels: tuple[KernelTime, ...]
    spans: tuple[Span, ...]
    transfers: tuple[Span, ...] = ()
    whole: bool = True
    peaks: Peaks | None = None


@dataclass(frozen=True, slots=True)
class TimeDistribution:
    """Distribution of the seconds of warm calls: median, 10th percentile (``low``) and 90th percentile (``high``).

    ``mean`` exceeds the median where some calls were disturbed. ``calls`` is the number of warm calls that it was
    measured on, by the clock ``clock``. Calls are warm from the second one on that found everything compiled. With
    ``at_most`` they are upper bounds: the profiler's own time is a large part of such short calls. ``scale`` is the
    factor that is applied to all of them, because the profiler made the calls slower than others were.
    """

    median: float
    low: float
    high: float
    mean: float
    calls: int
    clock: Literal["host", "profile"]
    at_most: bool = False
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Executed:
    """Measurement of a program's runs.

    ``calls`` and ``seconds`` are number and time of all calls since the program was first seen (host clock).
    ``period`` is the time between the completions of successive calls, whatever the caller does between them
    included, and ``device_time`` the time of a call on the devices, from profiles. Both are of warm calls and None
    while fewer than five were measured; ``first_calls`` then has the seconds of single calls, in order. ``warm_up``
    counts the calls before the first warm one.

    ``step`` is the best known time of one call, 0.0 while none has finished, and ``clock`` its source: the host's
    clock, from calls outside of profiler windows, or the profiler's, where only that separates the calls from the
    time between them. With ``at_most`` neither does, and ``step`` is the period.

    ``observed_calls`` is the number of calls that the profiler saw from begin to end, and ``window`` the
    seconds that they took, idle time between them included. ``devices`` has the measurements of these calls,
    which observation makes slower: to get a time, multiply ``step`` by a share of them. ``profiling`` is the
    processor time that the first whole profile took, once. ``module`` is the ``Compiled.module`` that was
    called: if a trace was compiled for several devices or placements, it is one of these, while ``calls``
    counts all. ``notes`` list what could not be observed, or read from the profile.
    """

    program: int
    function: str
    time: float
    calls: int
    seconds: float
    window: float
    observed_calls: int
    step: float
    devices: tuple[DeviceTime, ...]
    clock: Literal["host", "profile", ""] = ""
    notes: tuple[str, ...] = ()
    at_most: bool = False
    profiling: float = 0.0
    module: str = ""
    period: TimeDistribution | None = None
    device_time: TimeDistribution | None = None
    first_calls: tuple[float, ...] = ()
    warm_up: int = 0

    @property
    def running(self) -> float:
        """Return the device time of all calls in seconds, or else their time by the host's clock; 0.0 if unknown.

        The host's clock alone may be too long: the host notices the end of a call late while it prepares the
        next program.
        """
        busy = [device.busy for device in self.devices if device.whole]
        if not self.observed_calls or not busy:
            return self.step * self.calls
        return min(sum(busy) / len(busy) / self.observed_calls, self.step or math.inf) * self.calls


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Measured peak performance of the device that a program ran on.

    ``flops`` are floating-point operations per second (float32), ``bytes_per_second`` bytes read and written;
    ``source`` says how they were measured.
    """

    program: int
    function: str
    time: float
    device: str
    flops: float
    bytes_per_second: float
    source: str


@dataclass(frozen=True, slots=True)
class Failure:
    """Exception in a stage. ``source`` is the user's line, and ``excerpt`` that line with its context."""

    program: int | None
    function: str
    stage: str
    time: float
    error: str
    message: str
    source: SourceRange | None = None
    excerpt: SourceText | None = None


Record = (
    Started
    | Traced
    | Missed
    | Lowered
    | Compiled
    | Continued
    | Executed
    | Ceilings
    | Failure
    | Explained
    | Passes
    | Diagnosis
    | Scaled
    | ScriptRun
    | JobProcess
    | SharedCalls
    | JobReport
    | TimeAccount
    | ValueReport
    | ValueHistory
)
