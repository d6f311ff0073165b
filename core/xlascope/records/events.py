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
from .paths import EquationPath
from .programs import Equation, Jaxpr, SourceRange, SourceText
from .scaled import Scaled
from .script import ScriptRun
from .traits import Trait

#: Cause of a trace.
Origin = Literal["", "first", "again", "operation"]


@dataclass(frozen=True, slots=True)
class Started:
    """Begin of a stage of a program, which the strip shows while it lasts."""

    program: int
    function: str
    stage: Literal["trace", "lower", "compile", "run"]
    time: float


@dataclass(frozen=True, slots=True)
class Traced:
    """Trace of a function to a jaxpr; ``reason`` says why this trace was needed, ``fix`` how to avoid it.

    ``origin`` is the cause of the trace: the ``first`` call of a function, a call ``again``, or an ``operation``
    that ran outside of any jitted function; ``""`` in records saved by an earlier version.

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
        """Return whether an equation's operation has a trait; False for None."""
        return equation is not None and trait in self.traits.get(equation.operation, ())

    @property
    def is_operation(self) -> bool:
        """Return whether this is a single operation, or a program that was not traced."""
        return self.origin == "operation" or (not self.origin and self.seconds == 0)


@dataclass(frozen=True, slots=True)
class Missed:
    """Call of a traced function that passed through Python because jaxlib's call cache missed."""

    program: int
    function: str
    time: float
    reason: str
    fix: str
    call_site: SourceRange | None = None


@dataclass(frozen=True, slots=True)
class Lowered:
    """Lowering of a jaxpr to StableHLO."""

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
    program is not measured: ``estimated_seconds`` is the estimate of one run, by ``estimated_by``. ``notes`` list
    the parts of XLA's output that could not be read.

    ``quick`` marks a version that was compiled quickly, to answer the first calls while XLA compiles the
    optimized one, which has a record of its own.

    ``kept`` are the equations whose results are materialized, where XLA would compute them again in several
    kernels.

    Of a program that several devices share, ``mesh`` describes the mesh (``x=4, y=2``); ``inputs_lie`` and
    ``outputs_lie`` are PartitionSpecs of the jaxpr's constants and inputs, and of its outputs, as XLA reports
    them.
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

    @property
    def unread(self) -> bool:
        """Return whether the kernels are unknown, so that a count of them would be wrong."""
        return bool(self.notes) and not self.kernels


@dataclass(frozen=True, slots=True)
class Continued:
    """Compilation that goes on after the call that requested it.

    Either the call was interrupted, and the program's next call uses the result; or the call was answered by a
    version compiled quickly, which the result replaces. ``seconds`` is how long it took, None while it lasts.
    """

    program: int
    function: str
    time: float
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """One run of one kernel: seconds from the start of the step shown.

    ``stream`` is the queue of a GPU or TPU that it ran on, ``""`` where there are none; ``bytes`` is the size of
    a copy, None where it is not known.
    """

    kernel: str
    start: float
    duration: float
    stream: str = ""
    bytes: int | None = None


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

    ``flops`` per second, ``bytes_per_second`` to and from its memory of ``memory`` bytes, ``cores`` at ``clock``
    hertz.
    """

    flops: float | None = None
    bytes_per_second: float | None = None
    memory: int | None = None
    cores: int | None = None
    clock: float | None = None


@dataclass(frozen=True, slots=True)
class DeviceTime:
    """Activity of one device during the complete calls that the profiler observed.

    ``busy`` is the time during which at least one kernel of this program ran; ``kernels`` sums self times, both
    over exactly the calls observed; ``spans`` is one whole representative step (the median one), start to end;
    ``transfers`` are the copies between host and device, or between devices, during that step, with the
    profiler's names. With ``whole=False`` no window has contained a complete call: ``spans`` are a part of a
    step, and nothing is summed or ranked.
    """

    device: str
    busy: float
    kernels: tuple[KernelTime, ...]
    spans: tuple[Span, ...]
    transfers: tuple[Span, ...] = ()
    whole: bool = True
    peaks: Peaks | None = None


@dataclass(frozen=True, slots=True)
class Executed:
    """Measurement of a program's runs.

    ``calls`` and ``seconds`` count all calls since the program was first seen (host clock). ``step`` is the time
    of one call, 0.0 while none has finished, and ``clock`` its source: the host's clock, from calls outside of
    profiler windows, or the profiler's, where only that can separate the calls from the time between them. With
    ``at_most`` neither can: it is the time from call to call.

    ``observed_calls`` counts the calls that the profiler saw from begin to end, ``window`` is the number of its
    seconds that they stand for, idle time between them included; what ``devices`` hold is of these calls,
    inflated by being observed: a share of it times ``step`` is a time. ``profiling`` is the processor time that
    the first whole profile cost, once. ``module`` is the ``Compiled.module`` whose calls these are: for a trace
    that was compiled for several devices or placements, one of them, while ``calls`` counts all. ``notes`` list
    what could not be read from the profile, or observed.
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

    @property
    def running(self) -> float:
        """Return the device time of the calls in seconds, or else their time by the host's clock; 0.0 if unknown.

        The host notices the end of a call late while it prepares the next program.
        """
        busy = [device.busy for device in self.devices if device.whole]
        if not self.observed_calls or not busy:
            return self.step * self.calls
        return min(sum(busy) / len(busy) / self.observed_calls, self.step or math.inf) * self.calls


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Measured peak performance of the device that a program ran on, by ``source``, at ``time``.

    ``flops`` are floating-point operations per second (float32), ``bytes_per_second`` bytes read and written.
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
)
