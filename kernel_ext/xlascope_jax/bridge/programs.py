"""Registry of jax's programs, looked up by jaxpr, module, executable, function or number; it keeps none of them alive.

A program lives as long as its jaxpr, which jax keeps with the trace of its function, or as long as its
caller. It holds its executables, which takes no memory that jax would have freed: they are freed together.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from xlascope import records
from xlascope.readers.memory.wire_format import read_text_and_number
from xlascope.xla.materialization import Materialization

from .call_signatures import TracedArguments

#: The protobuf fields of a serialized HLO module that hold its name and its number, as profiles contain them.
_NAME_FIELD, _ID_FIELD = 1, 5


@dataclass(eq=False)
class ExecutableEntry:
    """Executable of a program, with its devices, when and how long it was compiled, and its record once built."""

    executable: Any
    devices: tuple[Any, ...]
    began: float
    seconds: float
    is_from_disk: bool
    record: records.Compiled | None = None

    @cached_property
    def key(self) -> tuple[str, int]:
        """Return how profiles identify it: its module's name, and XLA's number of the module."""
        module = self.executable.hlo_modules()[0]
        _, number = read_text_and_number(module.as_serialized_hlo_module_proto(), _NAME_FIELD, _ID_FIELD)
        return str(module.name), number

    @property
    def label(self) -> str:
        """Return the module's label: its name with XLA's number, since several modules may have one name."""
        name, number = self.key
        return f"{name}.{number}"


def _return_none() -> None:
    return None


@dataclass(eq=False)
class ProgramEntry:
    """Program of jax: its number and function, how it was traced, and its executables.

    ``relower(platform)`` lowers it for a platform (None if jax has dropped it). ``jaxpr_ref()`` is the jaxpr that was
    lowered, while it exists; ``closed_ref()`` is the same with its constants, ``unpruned_ref()`` the one that jax
    traced, from which it dropped unused arguments. ``operands`` says which of its constants and inputs the executable
    takes (None if unknown). ``is_trace_queued`` says that its trace is published, or will be soon. ``answer_cache``
    holds results of questions. ``traced_arguments`` are those of the calls that were traced to it. A detached program
    has ``options``, XLA's flags in addition to those of its function, and ``materialized``, the values that are behind
    barriers.
    """

    number: int
    name: str
    began: float
    seconds: float = 0.0
    reason: str = ""
    fix: str = ""
    origin: records.Origin = ""
    line: records.SourceRange | None = None
    relower: Callable[[str], Any] | None = None
    traced: records.Traced | None = None
    is_trace_queued: bool = False
    executables: list[ExecutableEntry] = field(default_factory=list)
    operands: tuple[bool, ...] | None = None
    answer_cache: dict[Any, Any] = field(default_factory=dict)
    jaxpr_ref: Callable[[], Any] = _return_none
    closed_ref: Callable[[], Any] = _return_none
    unpruned_ref: Callable[[], Any] = _return_none
    options: tuple[tuple[str, Any], ...] = ()
    materialized: Materialization = field(default_factory=Materialization)
    traced_arguments: list[TracedArguments] = field(default_factory=list)

    @property
    def is_trace_pending(self) -> bool:
        """Return whether its trace record is being built and will be published."""
        return self.is_trace_queued and self.traced is None


class ProgramRegistry:
    """Registry of jax's programs by jaxpr, module, executable, function and number, with one entry per jaxpr.

    All references are weak: an entry lives as long as its jaxpr, its module or an object that calls its executable.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._by_jaxpr: weakref.WeakKeyDictionary[Any, ProgramEntry] = weakref.WeakKeyDictionary()
        self._by_module: weakref.WeakKeyDictionary[Any, ProgramEntry] = weakref.WeakKeyDictionary()
        self._by_executable: weakref.WeakValueDictionary[int, ProgramEntry] = weakref.WeakValueDictionary()
        self._by_caller: weakref.WeakKeyDictionary[Any, ProgramEntry] = weakref.WeakKeyDictionary()
        self._by_number: weakref.WeakValueDictionary[int, ProgramEntry] = weakref.WeakValueDictionary()
        self._by_function: weakref.WeakKeyDictionary[Any, weakref.WeakSet[ProgramEntry]] = weakref.WeakKeyDictionary()

    def add(self, jaxpr: Any, candidate: ProgramEntry) -> ProgramEntry:
        """Register ``candidate`` as the entry of a jaxpr unless it has one, and return the registered entry."""
        with self._lock:
            entry = self._by_jaxpr.setdefault(jaxpr, candidate)
            self._by_number[entry.number] = entry
            return entry

    def of_jaxpr(self, jaxpr: Any) -> ProgramEntry | None:
        """Return the program of a jaxpr."""
        return self._by_jaxpr.get(jaxpr)

    def link_function(self, function: Any, entry: ProgramEntry) -> None:
        """Record that a call of a user's function leads to a program.

        Functions that cannot be hashed or weakly referenced are ignored.
        """
        try:
            with self._lock:
                self._by_function.setdefault(function, weakref.WeakSet()).add(entry)
        except TypeError:  # it cannot be hashed, or weakly referenced
            return

    def of_function(self, function: Any) -> list[ProgramEntry]:
        """Return the programs of a function, oldest first."""
        try:
            with self._lock:
                entries = list(self._by_function.get(function, ()))
        except TypeError:
            return []
        return sorted(entries, key=lambda entry: entry.number)

    def add_module(self, module: Any, entry: ProgramEntry) -> None:
        """Record that a StableHLO module belongs to a program."""
        with self._lock:
            self._by_module[module] = entry

    def add_detached(self, module: Any, entry: ProgramEntry) -> None:
        """Add a detached program and its StableHLO module."""
        with self._lock:
            self._by_module[module] = entry
            self._by_number[entry.number] = entry

    def of_module(self, module: Any) -> ProgramEntry | None:
        """Return the program of a StableHLO module."""
        return self._by_module.get(module)

    def add_executable(self, entry: ProgramEntry, executable: ExecutableEntry) -> None:
        """Add an executable to a program."""
        with self._lock:
            entry.executables.append(executable)
            self._by_executable[id(executable.executable)] = entry

    def keep_alive_with(self, caller: Any, executable: Any) -> None:
        """Keep the program of an executable alive as long as ``caller``, the object that calls the executable.

        An executable without a program is ignored.
        """
        entry = self.of_executable(executable)
        if entry is not None:
            with self._lock:
                self._by_caller[caller] = entry

    def of_executable(self, executable: Any) -> ProgramEntry | None:
        """Return the program of a live executable."""
        return self._by_executable.get(id(executable))

    def of_number(self, number: int) -> ProgramEntry | None:
        """Return the program of a number."""
        return self._by_number.get(number)

    def all_programs(self) -> list[ProgramEntry]:
        """Return all live programs."""
        with self._lock:
            return list(self._by_number.values())


def module_labels(programs: Iterable[ProgramEntry]) -> dict[tuple[str, int], str]:
    """Return the labels of the modules of all programs, by module name and XLA's number of the module."""
    return {executable.key: executable.label for entry in programs for executable in entry.executables}
