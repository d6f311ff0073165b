"""Jaxprs: variables, literals, equations, and the programs made of them.

While a program is traced its equations are plain tuples; :class:`Equation` objects are created on first
access.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..lru_cache import LRUCache
from .atoms import Atom, Literal, Origin, Var
from .avals import ShapedArray
from .effects import NO_EFFECTS, Effects
from .operation import Operation, Primitive
from .printer import format_equation, format_jaxpr

__all__ = ["Atom", "ClosedJaxpr", "Equation", "Jaxpr", "Literal", "Origin", "RawEquation", "Var"]


#: Equation as recorded by a trace: operation, operands, results, code object and instruction of the user's line,
#: origin.
RawEquation = tuple[Operation, Sequence[Any], Sequence[Var], Any, int, Origin | None]


class Equation:
    """Equation of a jaxpr, ``outvars = operation invars``, with its user line (``code``, ``lasti``) and its origin."""

    __slots__ = ("code", "invars", "lasti", "operation", "origin", "outvars")

    def __init__(self, raw: RawEquation) -> None:
        self.operation, self.invars, self.outvars, self.code, self.lasti, self.origin = raw

    @property
    def primitive(self) -> Primitive:
        """Return the handle of the operation, with its name."""
        return self.operation.primitive

    @property
    def params(self) -> dict[str, Any]:
        """Return the static parameters by name."""
        return self.operation.params

    @property
    def effects(self) -> Effects:
        """Return the effects of the equation besides its results."""
        return self.operation.effects

    @property
    def scope(self) -> str:
        """Return the names of the enclosing scopes (``named_scope``), joined by ``/``."""
        return self.origin.scope if self.origin is not None else ""

    @property
    def source_info(self) -> tuple[Any, int]:
        """Return code object and instruction offset of the user's line, (None, -1) where there is none."""
        return self.code, self.lasti

    def __repr__(self) -> str:
        return format_equation(self)


class Jaxpr:
    """Typed program: it takes ``constvars`` and ``invars``, runs its equations, and returns ``outvars``.

    ``raw`` are the equations as tuples. ``argument_names`` are the user's names for the arguments, or a
    function that returns them. ``segments`` are the names under which lowering writes the equations, for a
    program that was derived from another one and names equations by their indices there; None: by their own
    indices.
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
        """Return the user's names for the arguments, perhaps fewer than there are; computed on first access."""
        if callable(self._argument_names):
            self._argument_names = tuple(self._argument_names())
        return tuple(self._argument_names)

    @property
    def eqns(self) -> list[Equation]:
        """Return the equations, in order."""
        if self._equations is None:
            self._equations = [Equation(raw) for raw in self.raw]
        return self._equations

    @property
    def effects(self) -> Effects:
        """Return the effects of the program besides its results."""
        if self._effects is None:
            operations = list(map(operator.itemgetter(0), self.raw))
            different = dict(zip(map(id, operations), operations, strict=True)).values()
            self._effects = NO_EFFECTS.union(*[operation.effects for operation in different])
        return self._effects

    def __iter__(self) -> Iterator[Equation]:
        return iter(self.eqns)

    def __repr__(self) -> str:
        return format_jaxpr(self)


_serials = itertools.count()
#: Generation size of a program's cache of derived objects: a batched form for each size, say.
_DERIVED_GENERATION_SIZE = 128


class ClosedJaxpr:
    """Jaxpr with the values of its constants.

    ``derived`` is a cache for what is derived from the program (its jvp, its linearization, its executable
    …), by a tuple that starts with the kind; it lives as long as the program.
    """

    __slots__ = ("__weakref__", "consts", "derived", "jaxpr", "serial")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()) -> None:
        self.jaxpr = jaxpr
        self.consts = list(consts)
        self.derived: LRUCache[Any, Any] = LRUCache(_DERIVED_GENERATION_SIZE)
        #: The number of programs created before this one.
        self.serial = next(_serials)

    @property
    def in_avals(self) -> list[ShapedArray]:
        """Return the types of the arguments."""
        return [v.aval for v in self.jaxpr.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        """Return the types of the results."""
        return [v.aval for v in self.jaxpr.outvars]

    @property
    def literals(self) -> list[Any]:
        """Return the values of the constants (JAX's name for them)."""
        return self.consts

    @property
    def eqns(self) -> list[Equation]:
        """Return the equations, in order."""
        return self.jaxpr.eqns

    @property
    def effects(self) -> Effects:
        """Return the effects of the program besides its results."""
        return self.jaxpr.effects

    @property
    def name(self) -> str:
        """Return the name of the function that was traced."""
        return self.jaxpr.name

    def __repr__(self) -> str:
        return format_jaxpr(self)
