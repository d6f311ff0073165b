"""Records of a watched run of a script: what it was, where its time went, and which records were saved."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """Part of a watched run that was spent on one program, or on several small ones together.

    ``program`` is None for several, whose number is ``programs``. ``running`` is the time of its ``calls`` in
    seconds (``Executed.running``), 0.0 if it was not measured; ``made`` is the time for tracing, lowering and
    compiling it, nested traces included. ``kept`` says whether its records were saved with those of the run.
    """

    program: int | None
    function: str
    calls: int
    running: float
    made: float
    programs: int = 1
    kept: bool = True


@dataclass(frozen=True, slots=True)
class ScriptRun:
    """Watched run of a script or a part of one.

    ``function`` is the script's name, ``command`` its command line, in ``folder``; ``seconds`` is how long it
    has run, and ``ended`` how it ended: ``""`` while it runs, ``ended``, ``exit status 3``,
    ``KeyboardInterrupt``, ``SIGTERM``. ``process`` is its number among the processes of a job (``3 of 8``).
    ``versions`` are those of Python and of relevant packages, ``devices`` those that programs were compiled
    for.

    ``making`` is the time during which something was traced, lowered or compiled. ``shares`` are the programs
    that took most time, in descending order, and last the sum of all others. ``notes`` say what could not be
    watched.
    """

    program: int | None
    function: str
    time: float
    seconds: float
    command: tuple[str, ...]
    folder: str
    ended: str
    making: float
    shares: tuple[Share, ...]
    host: str = ""
    process: str = ""
    versions: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def running(self) -> float:
        """Return the seconds of all measured calls."""
        return sum(share.running for share in self.shares)
