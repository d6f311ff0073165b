"""What the rules read: a program's records with the questions that rules ask of them answered once."""

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
    Traced,
    Variable,
)
from ...records.stages import Stages
from ..costs.call_times import CallTimes, call_times, places_of
from ..retraces import Retrace

R = TypeVar("R", Traced, Lowered, Compiled, Executed, Ceilings)


class Copied(NamedTuple):
    """Arguments that lie in the host's memory as NumPy arrays, so that every call copies them: their names and bytes.

    ``given`` and ``kept`` are seconds of a call with these arguments and with arrays that are on the device already,
    measured by turns; ``slower`` whether a 99 % interval of their ratio excludes 1. ``source`` says by what clock.
    """

    names: tuple[str, ...]
    bytes: int
    given: float
    kept: float
    slower: bool
    source: str


class Level:
    """One program and who makes and uses its values: the outermost one, or the body of an equation."""

    def __init__(self, jaxpr: Jaxpr, traced: Traced) -> None:
        self.jaxpr = jaxpr
        self.traced = traced
        self.made: dict[str, Equation] = {name: each for each in jaxpr.equations for name in each.outputs}
        self._users: dict[str, list[Equation]] = {}
        for each in jaxpr.equations:
            for name in dict.fromkeys(each.inputs):
                self._users.setdefault(name, []).append(each)

    def type_of(self, name: str) -> Variable | None:
        """The variable of a name; None for a literal."""
        return self.jaxpr.variables.get(name)

    def users(self, name: str) -> list[Equation]:
        """The equations that take a value."""
        return self._users.get(name, [])

    def only_user(self, name: str) -> Equation | None:
        """The one equation that takes a value which is no result; None if there are others, or none.

        A value that is computed a second time has others: the compiler makes one of the two.
        """
        found, made = self.users(name), self.made.get(name)
        alone = made is None or self._equal[_content(made)] == 1
        return found[0] if len(found) == 1 and alone and name not in self.jaxpr.outputs else None

    @cached_property
    def _equal(self) -> Counter[tuple[object, ...]]:
        return Counter(map(_content, self.jaxpr.equations))


@dataclass
class Evidence:
    """What is known of one program. Each part may be missing, and a rule that needs it finds nothing then.

    ``retraces`` are the traces of its function that could have been spared, newest first.
    """

    traced: Traced
    compiled: Compiled | None = None
    executed: Executed | None = None
    ceilings: Ceilings | None = None
    lowered: Lowered | None = None
    retraces: tuple[Retrace, ...] = ()
    copied: Copied | None = None

    @classmethod
    def of(
        cls, records: Sequence[Record], retraces: tuple[Retrace, ...] = (), copied: Copied | None = None
    ) -> Evidence | None:
        """The evidence that one program's records are; None without a trace. The latest measurement counts."""
        known = Stages.of(records)
        if known.traced is None:
            return None
        made = known.traced, known.compiled, known.executed, known.ceilings, known.lowered
        return cls(*made, retraces, copied)

    @cached_property
    def account(self) -> CallTimes | None:
        """Where the time of a call went; None where nobody measured it."""
        if self.executed is None:
            return None
        return call_times(self.executed, self.compiled, places_of(self.traced))

    @cached_property
    def equations(self) -> dict[EquationPath, Equation]:
        """Every equation by its path."""
        return {each.path: each for each in self.traced.jaxpr.walk()}

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The program and all bodies in it."""
        return tuple(Level(jaxpr, self.traced) for jaxpr in _programs(self.traced.jaxpr))

    @cached_property
    def kernels(self) -> dict[str, Kernel]:
        """The kernels by name."""
        return {each.name: each for each in self.compiled.kernels} if self.compiled is not None else {}

    @property
    def platform(self) -> str:
        """What it was compiled for: ``cpu``, ``cuda``, ``tpu``; ``""`` when nobody knows."""
        return self.compiled.platform if self.compiled is not None else ""

    @property
    def kernel_seconds(self) -> float:
        """The time of all kernels in a call; 0.0 where nobody measured it."""
        return self.account.whole.kernel_seconds if self.account is not None and self.account.whole is not None else 0.0

    @property
    def building(self) -> float:
        """Seconds that tracing, lowering and compiling took."""
        return sum(each.seconds for each in (self.traced, self.lowered, self.compiled) if each is not None)

    def seconds_of(self, paths: Iterable[EquationPath]) -> float:
        """Seconds per call of equations, none of which holds another, and of what they hold: a kernel's time is split
        evenly over its equations.
        """
        return sum(self._seconds.get(path, 0.0) for path in set(paths))

    @cached_property
    def _seconds(self) -> dict[EquationPath, float]:
        """The seconds of each equation that a kernel has, and of each that holds such."""
        found: dict[EquationPath, float] = {}
        for path, seconds in self.account.equations.items() if self.account is not None else ():
            while path:
                found[path] = found.get(path, 0.0) + seconds
                path = path.parent
        return found

    def share_of(self, seconds: float) -> float:
        """Which part of all kernels' time that is."""
        return min(seconds / self.kernel_seconds, 1.0) if self.kernel_seconds else 0.0

    def kernel_of(self, paths: Iterable[EquationPath]) -> str:
        """The kernel with most time among those that hold one of these equations."""
        chosen = frozenset(paths)
        told = self.account.whole.kernels if self.account is not None and self.account.whole is not None else ()
        for each in told:
            kernel = self.kernels.get(each.kernel)
            if kernel is not None and any(_among(path, chosen) for path in kernel.equations):
                return each.kernel
        return ""

    def at(self, place: SourceRange | None) -> str:
        """A place as people call it, ``In[7]:3`` or ``model.py:12``; nothing where it is not known."""
        if place is None:
            return ""
        titles = {each.file: each.title for each in self.traced.sources}
        return f"{titles.get(place.file) or os.path.basename(place.file)}:{place.line}"


def name_of(level: Level, name: str, otherwise: str) -> str:
    """What the user calls an argument of a program; other words for what has no name."""
    variable = level.type_of(name)
    return variable.label if variable is not None and variable.label else otherwise


def parameter(equation: Equation, name: str) -> str:
    """The text of an equation's parameter that has no spaces in it; ``""`` if there is none.

    >>> parameter(Equation(EquationPath("0"), "sort", "dimension=1 is_stable=True", (), ()), "dimension")
    '1'
    """
    found = re.search(rf"(?:^| ){re.escape(name)}=(\S+)", equation.parameters)
    return found.group(1) if found else ""


def _content(equation: Equation) -> tuple[object, ...]:
    """What equations have in common that compute the same; bodies are told apart by their numbers of equations."""
    return (
        equation.operation,
        equation.parameters,
        equation.inputs,
        tuple(len(each.equations) for each in equation.bodies),
    )


def _programs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    yield jaxpr
    for each in jaxpr.equations:
        for body in each.bodies:
            yield from _programs(body)


def _among(path: EquationPath, chosen: frozenset[EquationPath]) -> bool:
    """Whether an equation is one of these, or held by one."""
    while path and path not in chosen:
        path = path.parent
    return bool(path)


def _first(kind: type[R], records: Iterable[Record]) -> R | None:
    return next((each for each in records if isinstance(each, kind)), None)
