"""What happened, one frozen record per stage: traced, lowered, compiled, executed, or failed.

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

#: What a trace was made for.
Origin = Literal["", "first", "again", "operation"]


@dataclass(frozen=True, slots=True)
class Started:
    """A stage of a program begins: what the strip shows while it lasts."""

    program: int
    function: str
    stage: Literal["trace", "lower", "compile", "run"]
    time: float


@dataclass(frozen=True, slots=True)
class Traced:
    """A function was traced to a jaxpr; ``reason`` says why this trace was needed, ``fix`` how to do without it.

    ``origin`` is what the trace was made for: the ``first`` call of a function, a call ``again``, or an ``operation``
    that ran outside of any jitted function. Of records saved by an earlier version it is not known (``""``).

    ``traits`` are those of the program's operations, by name (``records/traits.py``); operations without any are left
    out.
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
        """Whether this is a single operation, or a program that nobody traced."""
        return self.origin == "operation" or (not self.origin and self.seconds == 0)


@dataclass(frozen=True, slots=True)
class Missed:
    """A call that was traced before passed through Python because jaxlib's call cache did not know it."""

    program: int
    function: str
    time: float
    reason: str
    fix: str
    call_site: SourceRange | None = None


@dataclass(frozen=True, slots=True)
class Lowered:
    """A jaxpr became StableHLO."""

    program: int
    function: str
    time: float
    seconds: float
    operations: int


@dataclass(frozen=True, slots=True)
class Compiled:
    """StableHLO became an executable. ``flops`` and ``bytes_accessed`` are XLA's estimates, None without one.

    ``target`` names what it was compiled for ahead of time (``gpu:h100``), ``""`` for a device that is here. Nothing
    of such a program is measured: ``estimated_seconds`` is the estimate of one run, by whom ``estimated_by`` says.
    ``notes`` say what of XLA's words could not be read, and is missing here.

    ``quick`` marks a version that was compiled quickly, to answer the first calls while XLA compiles the optimized one,
    which has a record of its own.

    ``kept`` are the equations whose results XLA was told to compute once and keep, where it would compute them again in
    several kernels.

    Of a program that several devices share ``mesh`` says how they stand (``x=4, y=2``); ``inputs_lie`` and
    ``outputs_lie`` are PartitionSpecs of the jaxpr's constants and inputs, and of its outputs, as XLA has them.
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
        """Whether nobody knows the kernels: a number of them would be false."""
        return bool(self.notes) and not self.kernels


@dataclass(frozen=True, slots=True)
class Continued:
    """A compilation goes on after the call that asked for it: it was interrupted, and the program's next call takes up
    what is made; or it was answered by a version compiled quickly, which is replaced then.

    ``seconds`` is how long it took, None while it lasts.
    """

    program: int
    function: str
    time: float
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """One run of one kernel: seconds from the start of the step shown.

    ``stream`` is the queue of a GPU or TPU that it ran on, ``""`` where there are none; ``bytes`` is what a copy
    copied, None where that is not known.
    """

    kernel: str
    start: float
    duration: float
    stream: str = ""
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class KernelTime:
    """A kernel's measured time on one device, summed over the calls observed.

    ``flops`` and ``bytes_accessed`` are XLA's own figures for one run, where a profile tells them (a TPU's does).
    """

    kernel: str
    calls: int
    seconds: float
    flops: float | None = None
    bytes_accessed: float | None = None


@dataclass(frozen=True, slots=True)
class Peaks:
    """What a GPU or TPU is and can do at most, as its profile says; None for what it does not say.

    ``flops`` per second, ``bytes_per_second`` to and from its memory of ``memory`` bytes, ``cores`` at ``clock`` hertz.
    """

    flops: float | None = None
    bytes_per_second: float | None = None
    memory: int | None = None
    cores: int | None = None
    clock: float | None = None


@dataclass(frozen=True, slots=True)
class DeviceTime:
    """What one device did during the whole calls that the profiler observed.

    ``busy`` is the time during which at least one kernel of this program ran; ``kernels`` sums self times, both over
    exactly the calls observed; ``spans`` is one whole representative step (the median one), start to end;
    ``transfers`` are the copies between host and device, or between devices, during that step, named as the profiler
    names them. With ``whole=False`` no window has held a call from begin to end: ``spans`` are what was seen of one, a
    part of a step, and nothing is summed or ranked.
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
    """A program ran while somebody measured.

    ``calls`` and ``seconds`` count all calls since the program was first seen (host clock). ``step`` is the time of one
    call, 0.0 while none has finished, and ``clock`` says whose it is: the host's, from calls outside of profiler
    windows, or the profiler's, where only that can tell the calls from the time between them. With ``at_most`` nothing
    can: it is the time from call to call.

    ``observed_calls`` counts the calls that the profiler saw from begin to end, ``window`` how many of its seconds they
    stand for, idle time between them included; what ``devices`` hold is of these calls, inflated by being observed: a
    share of it times ``step`` is a time. ``profiling`` is the processor time that the first whole profile cost, once.
    ``module`` is the ``Compiled.module`` whose calls these are: of a trace that was compiled for several devices or
    placements one, while ``calls`` counts all. ``notes`` say what of the profile could not be read, or seen.
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
        """Seconds that devices ran the calls, or else that these took by the host's clock; 0.0 while neither is known.

        The host hears late of a call that is done while it makes the next program.
        """
        busy = [device.busy for device in self.devices if device.whole]
        if not self.observed_calls or not busy:
            return self.step * self.calls
        return min(sum(busy) / len(busy) / self.observed_calls, self.step or math.inf) * self.calls


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What the device that a program ran on can do at most, as measured here: by ``source``, at ``time``.

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
    """A stage raised. ``source`` is the user's line, and ``excerpt`` that line with those around it."""

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
