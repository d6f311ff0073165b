"""Record of where the time of a cell's thread went: exclusive parts, and what none of them explains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .programs import SourceRange

#: What the thread did. ``queue``: a call waits until the device has room for it. ``python``: its processor runs, and
#: none of the others; ``blocked``: it sleeps, reads files, waits for a lock; ``processor``: it could run, and other
#: threads and processes do.
Activity = Literal[
    "trace",
    "lower",
    "compile",
    "dispatch",
    "eager",
    "wait",
    "queue",
    "to_device",
    "to_host",
    "python",
    "blocked",
    "processor",
    "watching",
]
#: Words for the activities, in the order in which they are shown.
ACTIVITY_LABELS: dict[Activity, str] = {
    "trace": "tracing",
    "lower": "lowering",
    "compile": "compiling",
    "dispatch": "dispatching",
    "eager": "operations outside of jit",
    "wait": "waiting for results",
    "queue": "waiting until the device takes a call",
    "to_device": "transfers to the device",
    "to_host": "transfers to the host",
    "python": "Python",
    "blocked": "sleeping, files, locks",
    "processor": "waiting for a processor",
    "watching": "xlascope's own work",
}


@dataclass(frozen=True, slots=True)
class TimePart:
    """Part of a thread's time: seconds in which it did one thing and nothing else.

    ``function`` is the program that was dispatched (``program`` is its number), ``""`` for all programs. ``count`` is
    how often it was done, 0 where that is not counted. ``measured`` is the number of times that were timed where the
    seconds are computed from a sample, 0 where each was; with ``at_most``, Python between the calls is not told apart.
    ``source`` is the line that started most of them: ``line_share`` of those whose line was looked at.
    """

    activity: Activity
    seconds: float
    count: int = 0
    program: int | None = None
    function: str = ""
    measured: int = 0
    at_most: bool = False
    source: SourceRange | None = None
    line_share: float = 0.0


@dataclass(frozen=True, slots=True)
class DeviceShare:
    """Time of one program on the devices during a cell: measured calls, times the calls; see ``Executed.running``."""

    program: int
    function: str
    calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TimeAccount:
    """Account of the time of the thread that ran a cell, or of a script's main thread.

    ``function`` is the cell's title or the script's name; ``seconds`` is the wall time and ``processor`` the processor
    time of the thread, from ``time`` (seconds since the epoch) on. ``parts`` exclude each other. ``devices`` is the
    time of the programs on the devices, beside the thread and never a part of its time; empty where no profile has it.
    ``notes`` say what could not be measured.
    """

    program: int | None
    function: str
    time: float
    seconds: float
    processor: float
    parts: tuple[TimePart, ...]
    devices: tuple[DeviceShare, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def unaccounted_seconds(self) -> float:
        """Return the seconds that no part explains; negative where parts computed from samples exceed the whole.

        >>> parts = TimePart("python", 1.5), TimePart("wait", 0.25)
        >>> TimeAccount(None, "In[1]", 0.0, 2.0, 1.5, parts).unaccounted_seconds
        0.25
        """
        return self.seconds - sum(part.seconds for part in self.parts)

    def seconds_of(self, activity: Activity) -> float:
        """Return the seconds of all parts of one activity."""
        return sum((part.seconds for part in self.parts if part.activity == activity), 0.0)
