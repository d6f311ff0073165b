"""Jaxprs: variables, literals, equations, and the programs made of them.

While a program is traced its equations are plain tuples; they become :class:`Equation` objects when somebody looks.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..recent import RecentlyUsed
from .atoms import Atom, Literal, Origin, Var
from .avals import ShapedArray
from .effects import NO_EFFECTS, Effects
from .operation import Operation, Primitive
from .printer import equation_text, jaxpr_text

__all__ = ["Atom", "ClosedJaxpr", "Equation", "Jaxpr", "Literal", "Origin", "RawEquation", "Var"]


#: What a trace records per equation: operation, operands, results, code object and instruction of the user's line,
#: origin.
RawEquation = tuple[Operation, Sequence[Any], Sequence[Var], Any, int, Origin | None]


class Equation:
    """One equation of a jaxpr: ``outvars = operation invars``."""

    __slots__ = ("code", "invars", "lasti", "operation", "origin", "outvars")

    def __init__(self, raw: RawEquation) -> None:
        self.operation, self.invars, self.outvars, self.code, self.lasti, self.origin = raw

    @property
    def primitive(self) -> Primitive:
        """The handle of the operation, with its name."""
        return self.operation.primitive

    @property
    def params(self) -> dict[str, Any]:
        """The static parameters by name."""
        return self.operation.params

    @property
    def effects(self) -> Effects:
        """What the equation does besides giving results."""
        return self.operation.effects

    @property
    def scope(self) -> str:
        """The names of the scopes (``named_scope``) that the equation stands in, joined by ``/``."""
        return self.origin.scope if self.origin is not None else ""

    @property
    def source_info(self) -> tuple[Any, int]:
        """Code object and instruction offset of the user's line, (None, -1) where there is none."""
        return self.code, self.lasti

    def __repr__(self) -> str:
        return equation_text(self)


class Jaxpr:
    """A program: ``constvars`` and ``invars`` in, equations, ``outvars`` out.

    ``segments`` are what lowering calls the equations where that is not by their numbers: in a program that was made
    of another, by the numbers there.
    """

    __slots__ = (
        *("_argument_names", "_effects", "_equations", "constvars", "invars", "name", "outvars", "raw", "segments"),
    )

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Atom],
        raw: Sequence[RawEquation],
        name: str = "",
        argument_names: Sequence[str] | Callable[[], Sequence[str]] = (),
        segments: Sequence[str] | None = None,
    ) -> None:
        self.constvars = tuple(constvars)
        self.invars = tuple(invars)
        self.outvars = tuple(outvars)
        self.raw = raw
        self.name = name
        self.segments = segments
        self._argument_names = argument_names
        self._equations: list[Equation] | None = None
        self._effects: Effects | None = None

    @property
    def argument_names(self) -> tuple[str, ...]:
        """What the user calls the arguments, as far as that is known; found out when first asked."""
        if callable(self._argument_names):
            self._argument_names = tuple(self._argument_names())
        return tuple(self._argument_names)

    @property
    def eqns(self) -> list[Equation]:
        """The equations, in order."""
        if self._equations is None:
            self._equations = [Equation(raw) for raw in self.raw]
        return self._equations

    @property
    def effects(self) -> Effects:
        """What the program does besides giving results."""
        if self._effects is None:
            self._effects = NO_EFFECTS.union(*(equation[0].effects for equation in self.raw))
        return self._effects

    def __iter__(self) -> Iterator[Equation]:
        return iter(self.eqns)

    def __repr__(self) -> str:
        return jaxpr_text(self)


_serials = itertools.count()
#: How much, twice, is kept of what was made from one program: a batched form for each size, say.
_MOST_DERIVED = 128


class ClosedJaxpr:
    """A jaxpr with the values of its constants.

    ``derived`` keeps what was made from it (its jvp, its linearization, its executable …), so that it lives as long.
    """

    __slots__ = ("__weakref__", "consts", "derived", "jaxpr", "serial")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()) -> None:
        self.jaxpr = jaxpr
        self.consts = list(consts)
        self.derived: RecentlyUsed[Any, Any] = RecentlyUsed(_MOST_DERIVED)
        #: How many programs had been made before this one.
        self.serial = next(_serials)

    @property
    def in_avals(self) -> list[ShapedArray]:
        """The types of the arguments."""
        return [v.aval for v in self.jaxpr.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        """The types of the results."""
        return [v.aval for v in self.jaxpr.outvars]

    @property
    def literals(self) -> list[Any]:
        """The values of the constants (JAX's name for them)."""
        return self.consts

    @property
    def eqns(self) -> list[Equation]:
        """The equations, in order."""
        return self.jaxpr.eqns

    @property
    def effects(self) -> Effects:
        """What the program does besides giving results."""
        return self.jaxpr.effects

    @property
    def name(self) -> str:
        """The name of the function that was traced."""
        return self.jaxpr.name

    def __repr__(self) -> str:
        return jaxpr_text(self)
