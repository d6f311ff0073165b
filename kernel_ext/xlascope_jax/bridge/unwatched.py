"""Programs that were compiled before anybody watched, or by a jax whose ways are not known: their kernels alone.

jaxlib knows every executable that is alive. Which function one is of is told by the name of its module; of equations
nothing is known.
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
    """Finds such programs among the executables that are alive, and knows them from then on."""

    def __init__(self, watched: Programs) -> None:
        self._watched = watched
        self._lock = threading.Lock()
        self._found: dict[int, Known] = {}
        self._looked_for: dict[str, int] = {}

    def named(self, function: str, client: Any) -> list[Known]:
        """The programs of a function of that name, oldest first. Looked for anew only where more was compiled since."""
        alive = client.live_executables()
        module = "jit_" + _NO_WORD.sub("_", function)
        with self._lock:
            if self._looked_for.get(module) != len(alive):
                self._looked_for[module] = len(alive)
                self._look(alive, module)
            mine = (each for each in self._found.values() if each.name == module.removeprefix("jit_"))
            return sorted(mine, key=lambda known: known.number)

    def _look(self, alive: Iterable[Any], module: str) -> None:
        for executable in alive:
            mine = str(executable.hlo_modules()[0].name) == module
            if mine and id(executable) not in self._found and self._watched.of_executable(executable) is None:
                known = Known(records.next_program(), module.removeprefix("jit_"), time.time(), reason=REASON)
                devices = tuple(executable.local_devices())
                known.made.append(Made(executable, devices, known.began, 0.0, False))
                self._found[id(executable)] = known

    def of_number(self, number: int) -> Known | None:
        """The program of a number."""
        return next((each for each in list(self._found.values()) if each.number == number), None)

    def every(self) -> list[Known]:
        """All that were found."""
        return list(self._found.values())


def records_of(known: Known) -> list[records.Record]:
    """What there is to tell: a trace without equations, and the kernels."""
    empty = records.Jaxpr(known.name, (), (), (), {}, ())
    traced = records.Traced(known.number, known.name, known.began, 0.0, empty, "", REASON)
    return [traced, *(_compiled(known, made) for made in known.made)]


def _compiled(known: Known, made: Made) -> records.Compiled:
    if made.record is None:
        made.record = describe_executable(
            made.executable,
            made.devices,
            known.number,
            known.name,
            made.began,
            0.0,
            "hit",
            None,
            None,
            made.label,
            (f"no source known: {REASON}",),
        )
    return made.record
