"""A run of a script that was watched: what it was, what took its time, and what of it was kept."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """What a program took of a run, or ``programs`` small ones together, of which ``program`` is None then.

    ``running`` is the seconds of its ``calls`` (``Executed.running``), 0.0 where none was measured; ``made`` those of
    tracing, lowering and compiling it, what was traced inside of it included. ``kept`` says whether its records are
    among those of the run.
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
    """A script, or a part of one, ran while somebody watched.

    ``function`` is the script's name, ``command`` how it was called, in ``folder``; ``seconds`` is how long it has run,
    and ``ended`` how it ended: ``""`` while it runs, ``ended``, ``exit status 3``, ``KeyboardInterrupt``, ``SIGTERM``.
    ``process`` tells it from others of the same job (``3 of 8``). ``versions`` are those of Python and of the packages
    that matter here, ``devices`` those that programs were compiled for.

    ``making`` is the time during which something was traced, lowered or compiled. ``shares`` are the programs with most
    time, the most first, and at last what all others took. ``notes`` say what could not be watched.
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
        """Seconds of all calls that were measured."""
        return sum(each.running for each in self.shares)
