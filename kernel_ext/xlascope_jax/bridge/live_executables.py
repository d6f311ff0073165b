"""Programs compiled before watching began, or by an untested version of jax: only their kernels are known.

jaxlib lists every live executable. The name of its module tells which function it belongs to; its equations are
unknown.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable
from typing import Any

from xlascope import records
from xlascope.xla.compilation.executable_record import describe_executable

from .programs import ExecutableEntry, ProgramEntry, ProgramRegistry

UNWATCHED_REASON = "compiled before anybody watched: its kernels are known, its equations are not"
_NON_WORD_CHARACTER = re.compile(r"[^A-Za-z0-9_]")


class LiveExecutables:
    """Registry of programs that were not watched, found among jaxlib's live executables by the names of their modules.

    Programs in ``registry`` are left out. An entry is stored for as long as this object.
    """

    def __init__(self, registry: ProgramRegistry) -> None:
        self._registry = registry
        self._lock = threading.Lock()
        self._entries: dict[int, ProgramEntry] = {}
        self._scanned_at_count: dict[str, int] = {}

    def programs_named(self, function: str, client: Any) -> list[ProgramEntry]:
        """Return the programs of functions of this name, oldest first.

        ``client`` is the PJRT client whose live executables are searched, again only if their number has changed.
        """
        alive = client.live_executables()
        module = "jit_" + _NON_WORD_CHARACTER.sub("_", function)
        with self._lock:
            if self._scanned_at_count.get(module) != len(alive):
                self._scanned_at_count[module] = len(alive)
                self._scan(alive, module)
            matching = (
                candidate for candidate in self._entries.values() if candidate.name == module.removeprefix("jit_")
            )
            return sorted(matching, key=lambda entry: entry.number)

    def _scan(self, alive: Iterable[Any], module: str) -> None:
        """Add an entry for each executable in ``alive`` that is named ``module`` and whose program is unknown.

        An executable has the name of its HLO module.
        """
        for executable in alive:
            matches = str(executable.hlo_modules()[0].name) == module
            if matches and id(executable) not in self._entries and self._registry.of_executable(executable) is None:
                entry = ProgramEntry(
                    records.next_program(), module.removeprefix("jit_"), time.time(), reason=UNWATCHED_REASON
                )
                devices = tuple(executable.local_devices())
                entry.executables.append(ExecutableEntry(executable, devices, entry.began, 0.0, False))
                self._entries[id(executable)] = entry

    def of_number(self, number: int) -> ProgramEntry | None:
        """Return the program of a number."""
        return next((entry for entry in list(self._entries.values()) if entry.number == number), None)

    def all_programs(self) -> list[ProgramEntry]:
        """Return all programs found."""
        return list(self._entries.values())


def records_of(entry: ProgramEntry) -> list[records.Record]:
    """Return the records of a program that was not watched: a trace without equations, and its kernels."""
    empty = records.Jaxpr(entry.name, (), (), (), {}, ())
    traced = records.Traced(entry.number, entry.name, entry.began, 0.0, empty, "", UNWATCHED_REASON)
    return [traced, *(_compiled_record(entry, executable) for executable in entry.executables)]


def _compiled_record(entry: ProgramEntry, executable: ExecutableEntry) -> records.Compiled:
    """Return the record of an executable that was not watched, built once."""
    if executable.record is None:
        executable.record = describe_executable(
            executable.executable,
            executable.devices,
            entry.number,
            entry.name,
            executable.began,
            0.0,
            "hit",
            None,
            None,
            executable.label,
            (f"no source information: {UNWATCHED_REASON}",),
        )
    return executable.record
