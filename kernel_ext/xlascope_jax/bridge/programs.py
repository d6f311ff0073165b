"""The programs of jax that were met, found again by whatever of jax leads to them. Nothing here keeps jax's alive.

A program lives as long as its jaxpr does, which is as long as jax keeps the trace of its function, or as long as what
calls it. It holds its executables, which takes no memory that jax would have given back: they go together.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from xlascope import records
from xlascope.readers.memory.wire_format import first_of
from xlascope.xla.keeping import Kept

#: The fields of a serialized HLO module that are its name and XLA's number of it, which profiles have.
_NAME, _NUMBER = 1, 5


@dataclass(eq=False)
class Made:
    """An executable of a program."""

    executable: Any
    devices: tuple[Any, ...]
    began: float
    seconds: float
    loaded: bool
    record: records.Compiled | None = None

    @cached_property
    def key(self) -> tuple[str, int]:
        """What profiles say of it: its module's name, and XLA's number of it."""
        module = self.executable.hlo_modules()[0]
        _, number = first_of(module.as_serialized_hlo_module_proto(), _NAME, _NUMBER)
        return str(module.name), number

    @property
    def label(self) -> str:
        """The module's name here: with XLA's number of it, as many modules may have one name."""
        name, number = self.key
        return f"{name}.{number}"


def _nothing() -> None:
    return None


@dataclass(eq=False)
class Known:
    """A program: its number and function, how it came to be traced, and what was made of it.

    ``again(platform)`` lowers it for a platform (None when jax has dropped it), ``lowered()`` is the jaxpr that was
    lowered, while there is one. ``operands`` says which of its constants and inputs the executable takes (None where
    that cannot be told), ``told`` says that the trace is told, or will be soon. ``kept`` holds what questions found.
    ``options`` are XLA's flags beside those of its function, ``keeping`` says which of its values are kept: of a
    program that stands apart from its function.
    """

    number: int
    name: str
    began: float
    seconds: float = 0.0
    reason: str = ""
    fix: str = ""
    origin: records.Origin = ""
    line: records.SourceRange | None = None
    again: Callable[[str], Any] | None = None
    traced: records.Traced | None = None
    told: bool = False
    made: list[Made] = field(default_factory=list)
    operands: tuple[bool, ...] | None = None
    kept: dict[Any, Any] = field(default_factory=dict)
    lowered: Callable[[], Any] = _nothing
    options: tuple[tuple[str, Any], ...] = ()
    keeping: Kept = field(default_factory=Kept)

    @property
    def coming(self) -> bool:
        """Whether its records are being put together, and will be told."""
        return self.told and self.traced is None


class Programs:
    """All that is known. Programs are made once for a jaxpr, whichever way leads to it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._by_jaxpr: weakref.WeakKeyDictionary[Any, Known] = weakref.WeakKeyDictionary()
        self._by_module: weakref.WeakKeyDictionary[Any, Known] = weakref.WeakKeyDictionary()
        self._by_executable: weakref.WeakValueDictionary[int, Known] = weakref.WeakValueDictionary()
        self._held: weakref.WeakKeyDictionary[Any, Known] = weakref.WeakKeyDictionary()
        self._by_number: weakref.WeakValueDictionary[int, Known] = weakref.WeakValueDictionary()
        self._by_function: weakref.WeakKeyDictionary[Any, weakref.WeakSet[Known]] = weakref.WeakKeyDictionary()

    def add(self, jaxpr: Any, known: Known) -> Known:
        """Remember the program of a jaxpr, unless there is one."""
        with self._lock:
            found = self._by_jaxpr.setdefault(jaxpr, known)
            self._by_number[found.number] = found
            return found

    def of_jaxpr(self, jaxpr: Any) -> Known | None:
        """The program of a jaxpr."""
        return self._by_jaxpr.get(jaxpr)

    def lead(self, function: Any, known: Known) -> None:
        """Remember that a function of the user's has led to a program."""
        try:
            with self._lock:
                self._by_function.setdefault(function, weakref.WeakSet()).add(known)
        except TypeError:  # it cannot be hashed, or weakly referenced
            return

    def of_function(self, function: Any) -> list[Known]:
        """The programs that a function has led to, oldest first."""
        try:
            with self._lock:
                found = list(self._by_function.get(function, ()))
        except TypeError:
            return []
        return sorted(found, key=lambda each: each.number)

    def lowered(self, module: Any, known: Known) -> None:
        """Remember whose StableHLO a module is."""
        with self._lock:
            self._by_module[module] = known

    def add_apart(self, module: Any, known: Known) -> None:
        """Remember a program that stands apart from its function, and whose StableHLO a module is."""
        with self._lock:
            self._by_module[module] = known
            self._by_number[known.number] = known

    def of_module(self, module: Any) -> Known | None:
        """The program of a module of StableHLO."""
        return self._by_module.get(module)

    def compiled(self, known: Known, made: Made) -> None:
        """Remember an executable."""
        with self._lock:
            known.made.append(made)
            self._by_executable[id(made.executable)] = known

    def loaded(self, execute: Any, executable: Any) -> None:
        """Let the program of an executable live as long as what calls it."""
        known = self.of_executable(executable)
        if known is not None:
            with self._lock:
                self._held[execute] = known

    def of_executable(self, executable: Any) -> Known | None:
        """The program of an executable that is alive."""
        return self._by_executable.get(id(executable))

    def of_number(self, number: int) -> Known | None:
        """The program of a number."""
        return self._by_number.get(number)

    def every(self) -> list[Known]:
        """All programs that are alive."""
        with self._lock:
            return list(self._by_number.values())


def labels_of(programs: Iterable[Known]) -> dict[tuple[str, int], str]:
    """The labels of all modules, by what profiles say of them."""
    return {made.key: made.label for known in programs for made in known.made}
