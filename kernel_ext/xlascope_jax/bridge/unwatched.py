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
from xlascope.xla.compilation.describe import describe_executable

from .programs import Known, Made, Programs

REASON = "compiled before anybody watched: its kernels are known, its equations are not"
_NO_WORD = re.compile(r"[^A-Za-z0-9_]")


class Unwatched:
    """A registry of such programs, found among the live executables."""

    def __init__(self, registry: Programs) -> None:
        self._watched = registry
        self._lock = threading.Lock()
        self._found: dict[int, Known] = {}
        self._looked_for: dict[str, int] = {}

    def named(self, function: str, client: Any) -> list[Known]:
        """Return the programs of a function of this name, oldest first; rescan only if the executables have changed."""
        alive = client.live_executables()
        module = "jit_" + _NO_WORD.sub("_", function)
        with self._lock:
            if self._looked_for.get(module) != len(alive):
                self._looked_for[module] = len(alive)
                self._look(alive, module)
            matching = (
                candidate for candidate in self._found.values() if candidate.name == module.removeprefix("jit_")
            )
            return sorted(matching, key=lambda entry: entry.number)

    def _look(self, alive: Iterable[Any], module: str) -> None:
        for executable in alive:
            matches = str(executable.hlo_modules()[0].name) == module
            if matches and id(executable) not in self._found and self._watched.of_executable(executable) is None:
                entry = Known(records.next_program(), module.removeprefix("jit_"), time.time(), reason=REASON)
                devices = tuple(executable.local_devices())
                entry.made.append(Made(executable, devices, entry.began, 0.0, False))
                self._found[id(executable)] = entry

    def of_number(self, number: int) -> Known | None:
        """Return the program of a number."""
        return next((entry for entry in list(self._found.values()) if entry.number == number), None)

    def every(self) -> list[Known]:
        """Return all programs found."""
        return list(self._found.values())


def records_of(entry: Known) -> list[records.Record]:
    """Return the records of such a program: a trace without equations, and the kernels."""
    empty = records.Jaxpr(entry.name, (), (), (), {}, ())
    traced = records.Traced(entry.number, entry.name, entry.began, 0.0, empty, "", REASON)
    return [traced, *(_compiled(entry, executable) for executable in entry.made)]


def _compiled(entry: Known, executable: Made) -> records.Compiled:
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
            (f"no source known: {REASON}",),
        )
    return executable.record
