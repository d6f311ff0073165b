"""Evidence that the rules read: a program's records with derived data, computed once."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

from ...records import (
    Ceilings,
    Compiled,
    Equation,
    EquationPath,
    Executed,
    Jaxpr,
    Kernel,
    Lowered,
    Record,
    SourceRange,
    TimeAccount,
    Traced,
    Variable,
)
from ...records.stages import Stages
from ..costs.call_times import CallTimes, break_down_call
from ..eager_call import EagerCall
from ..retraces import Retrace

R = TypeVar("R", Traced, Lowered, Compiled, Executed, Ceilings)


class Copied(NamedTuple):
    """Arguments that are NumPy arrays in host memory, which every call copies: their names and bytes.

    ``given`` and ``kept`` are seconds of a call with these arguments and with arrays that are on the device
    already, measured interleaved; ``slower`` says whether a 99 % interval of their ratio excludes 1. ``source``
    names the clock.
    """

    names: tuple[str, ...]
    bytes: int
    given: float
    kept: float
    slower: bool
    source: str


class Narrowed(NamedTuple):
    """NumPy arguments of a wide dtype that the library narrows, and what that does to their values.

    ``names`` are theirs, ``given`` and ``used`` the dtypes, ``values`` the number of values that are not exact in the
    narrow one. ``largest_error`` is the largest rounding, ``largest_at`` the magnitude of the value where it occurs.
    """

    names: tuple[str, ...]
    given: str
    used: str
    values: int
    largest_error: float
    largest_at: float


class Level:
    """One program with the producers and users of its values: the outermost jaxpr, or the body of an equation.

    ``producers`` are the equations by the names of their results; ``traced`` is the record of the whole program.
    """

    def __init__(self, jaxpr: Jaxpr, traced: Traced) -> None:
        self.jaxpr = jaxpr
        self.traced = traced
        self.producers: dict[str, Equation] = {
            name: equation for equation in jaxpr.equations for name in equation.outputs
        }
        self._users: dict[str, list[Equation]] = {}
        for equation in jaxpr.equations:
            for name in dict.fromkeys(equation.inputs):
                self._users.setdefault(name, []).append(equation)

    def type_of(self, name: str) -> Variable | None:
        """Return the variable of a name; None for a literal."""
        return self.jaxpr.variables.get(name)

    def users(self, name: str) -> list[Equation]:
        """Return the equations that use a value."""
        return self._users.get(name, [])

    def only_user(self, name: str) -> Equation | None:
        """Return the only equation that uses a value, or None for a result and for any other number of users.

        A value that another equation computes as well has more users, because the compiler merges the two.
        """
        users, producer = self.users(name), self.producers.get(name)
        is_unique = producer is None or self._content_counts[_content(producer)] == 1
        return users[0] if len(users) == 1 and is_unique and name not in self.jaxpr.outputs else None

    @cached_property
    def _content_counts(self) -> Counter[tuple[object, ...]]:
        return Counter(map(_content, self.jaxpr.equations))


@dataclass
class Evidence:
    """Records of one program and data derived from them; a rule finds nothing if a record that it needs is None.

    ``retraces`` are the avoidable traces of its function, newest first. ``copied`` and ``narrowed`` are about its
    NumPy arguments, ``eager`` is the call as written if the function is not jitted. ``cell`` is the account of the
    cell, or of the script, that calls it. ``call_times`` is the breakdown of a call (None: it is computed).
    """

    traced: Traced
    compiled: Compiled | None = None
    executed: Executed | None = None
    ceilings: Ceilings | None = None
    lowered: Lowered | None = None
    retraces: tuple[Retrace, ...] = ()
    copied: Copied | None = None
    eager: EagerCall | None = None
    narrowed: Narrowed | None = None
    cell: TimeAccount | None = None
    call_times: CallTimes | None = None

    @classmethod
    def of(
        cls,
        records: Sequence[Record],
        retraces: tuple[Retrace, ...] = (),
        copied: Copied | None = None,
        eager: EagerCall | None = None,
        narrowed: Narrowed | None = None,
        cell: TimeAccount | None = None,
        call_times: CallTimes | None = None,
    ) -> Evidence | None:
        """Return the evidence in one program's records, or None if no trace is among them.

        Of several measurements the latest counts. The other arguments are stored as they are; ``call_times`` is the
        breakdown of a call, if the caller knows it.
        """
        stages = Stages.of(records)
        if stages.traced is None:
            return None
        parts = stages.traced, stages.compiled, stages.executed, stages.ceilings, stages.lowered
        return cls(*parts, retraces, copied, eager, narrowed, cell, call_times)

    @cached_property
    def account(self) -> CallTimes | None:
        """Return the breakdown of the time of a call; None without a measurement."""
        if self.executed is None or self.call_times is not None:
            return self.call_times
        return break_down_call(self.executed, self.compiled, self.traced)

    @cached_property
    def equations(self) -> dict[EquationPath, Equation]:
        """Return every equation by its path."""
        return {equation.path: equation for equation in self.traced.jaxpr.walk()}

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """Return the program and all bodies in it."""
        return tuple(Level(jaxpr, self.traced) for jaxpr in _programs(self.traced.jaxpr))

    @cached_property
    def kernels(self) -> dict[str, Kernel]:
        """Return the kernels by name."""
        return {kernel.name: kernel for kernel in self.compiled.kernels} if self.compiled is not None else {}

    @property
    def platform(self) -> str:
        """Return the platform that it was compiled for: ``cpu``, ``cuda``, ``tpu``; ``""`` if unknown."""
        return self.compiled.platform if self.compiled is not None else ""

    @property
    def kernel_seconds(self) -> float:
        """Return the time of all kernels in a call; 0.0 without a measurement."""
        return self.account.mean.kernel_seconds if self.account is not None and self.account.mean is not None else 0.0

    @property
    def build_seconds(self) -> float:
        """Return the seconds of tracing, lowering and compiling."""
        return sum(record.seconds for record in (self.traced, self.lowered, self.compiled) if record is not None)

    def seconds_of(self, paths: Iterable[EquationPath]) -> float:
        """Return the seconds per call of equations and of those in their bodies.

        None of the equations may contain another. A kernel's time is shared by the estimated work of its equations.
        """
        return sum(self._seconds_by_path.get(path, 0.0) for path in set(paths))

    @cached_property
    def _seconds_by_path(self) -> dict[EquationPath, float]:
        """Return the seconds of each equation in a kernel, and of each equation that contains such."""
        totals: dict[EquationPath, float] = {}
        for path, seconds in self.account.equations.items() if self.account is not None else ():
            while path:
                totals[path] = totals.get(path, 0.0) + seconds
                path = path.parent
        return totals

    def share_of(self, seconds: float) -> float:
        """Return seconds as a fraction of all kernels' time."""
        return min(seconds / self.kernel_seconds, 1.0) if self.kernel_seconds else 0.0

    def kernel_of(self, paths: Iterable[EquationPath]) -> str:
        """Return the name of the kernel with most time among those that contain one of these equations, or ``""``."""
        path_set = frozenset(paths)
        kernel_calls = self.account.mean.kernels if self.account is not None and self.account.mean is not None else ()
        for kernel_call in kernel_calls:
            kernel = self.kernels.get(kernel_call.kernel)
            if kernel is not None and any(_is_within(path, path_set) for path in kernel.equations):
                return kernel_call.kernel
        return ""

    def format_location(self, location: SourceRange | None) -> str:
        """Return a location as text, such as ``In[7]:3`` or ``model.py:12``, or ``""``."""
        if location is None:
            return ""
        titles = {source.file: source.title for source in self.traced.sources}
        return f"{titles.get(location.file) or os.path.basename(location.file)}:{location.line}"


def name_of(level: Level, name: str, otherwise: str) -> str:
    """Return the label that a user gave to the variable ``name``: that of a program's argument.

    ``otherwise`` is returned for a variable without a label. ``level`` is the program or body that has the variable.
    """
    variable = level.type_of(name)
    return variable.label if variable is not None and variable.label else otherwise


def parameter(equation: Equation, name: str) -> str:
    """Return the text of an equation's parameter without spaces in it; ``""`` if there is none.

    >>> parameter(Equation(EquationPath("0"), "sort", "dimension=1 is_stable=True", (), ()), "dimension")
    '1'
    """
    match = re.search(rf"(?:^| ){re.escape(name)}=(\S+)", equation.parameters)
    return match.group(1) if match else ""


def _content(equation: Equation) -> tuple[object, ...]:
    """Return a key that is equal for equations that compute the same; bodies are compared by their lengths."""
    return (
        equation.operation,
        equation.parameters,
        equation.inputs,
        tuple(len(body.equations) for body in equation.bodies),
    )


def _programs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    yield jaxpr
    for equation in jaxpr.equations:
        for body in equation.bodies:
            yield from _programs(body)


def _is_within(path: EquationPath, paths: frozenset[EquationPath]) -> bool:
    """Return whether an equation is one of ``paths`` or inside one of them."""
    while path and path not in paths:
        path = path.parent
    return bool(path)


def _first(kind: type[R], records: Iterable[Record]) -> R | None:
    return next((record for record in records if isinstance(record, kind)), None)
