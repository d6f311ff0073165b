"""Plain data of a program: the content of a jaxpr, without the engine that made it.

Names of variables are unique in the whole program, bodies included, so an equation's operand is a variable
when its text is a key of the ``variables`` of an enclosing :class:`Jaxpr`, and a literal otherwise. The
``path`` of an equation is its identity everywhere (StableHLO locations, HLO metadata, profiles, pictures):
see :class:`~.paths.EquationPath`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from .paths import EquationPath

Role = Literal["forward", "tangent", "backward"]


@dataclass(frozen=True, slots=True)
class SourceRange:
    """Source location: file, 1-based lines, 0-based columns, enclosing function."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str


@dataclass(frozen=True, slots=True)
class SourceText:
    """Text of one file (or cell) that a program's equations come from.

    ``title`` is its display name (``In[7]``, ``model.py``); ``first_line`` numbers its first line; ``note``
    describes a problem (the text is unavailable, or not what was run), ``""`` for none.
    """

    file: str
    title: str
    first_line: int
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Variable:
    """Variable of a jaxpr: its name, its type, and for arguments and results the user's name for it.

    ``label`` is that name, such as ``params[0][1]``, or ``""``. ``lies`` is the sharding that the program
    itself requests, as a PartitionSpec (``P(x, None)``), ``""`` for none.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    weak_type: bool
    label: str = ""
    lies: str = ""

    @property
    def bytes(self) -> int:
        """Return the size in bytes: elements times the dtype's width (estimate)."""
        elements = 1
        for size in self.shape:
            elements *= size
        return -(-elements * _bits(self.dtype) // 8)

    @property
    def type_text(self) -> str:
        """Return the type in jaxpr notation, ``f32[128,64]``."""
        return f"{_short_dtype(self.dtype)}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class Equation:
    """Equation of a jaxpr as data: operation, operands, results, and origin.

    ``parameters`` is text (``axes=(0,)``); ``inputs`` are variable names or literal texts; ``role`` is the
    phase that it belongs to; ``transposes`` is the path of the forward equation whose derivative a tangent or
    backward equation computes; ``flops`` is our own estimate (0 for data movement); ``bodies`` are the
    programs it holds (a nested jit's, a scan's); ``scope`` are the names of the scopes (``named_scope``)
    around it in its program, joined by ``/``.
    """

    path: EquationPath
    operation: str
    parameters: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    role: Role = "forward"
    source: SourceRange | None = None
    transposes: EquationPath | None = None
    flops: int = 0
    bodies: tuple[Jaxpr, ...] = ()
    scope: str = ""

    @property
    def name(self) -> str:
        """Return the name of the function that an equation calls (``jit[name=relu …]``: ``relu``), or its operation."""
        return self.bodies[0].name if len(self.bodies) == 1 and self.bodies[0].name else self.operation


@dataclass(frozen=True, slots=True)
class Jaxpr:
    """Jaxpr as data; ``variables`` has its variables by name, in order of appearance, without those of bodies."""

    name: str
    constants: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    variables: dict[str, Variable]
    equations: tuple[Equation, ...]

    @property
    def by_names(self) -> bool:
        """Return whether no equation has operands or results, as in a program of which only names are known.

        The work of such equations cannot be counted.
        """
        return bool(self.equations) and not any(equation.inputs or equation.outputs for equation in self.walk())

    def walk(self) -> Iterator[Equation]:
        """Yield every equation of the program, bodies included, outermost first."""
        for equation in self.equations:
            yield equation
            for body in equation.bodies:
                yield from body.walk()


_BITS_OF_KEYS = {"key<fry>": 64, "key<rbg>": 128, "key<urbg>": 128}


def _bits(dtype: str) -> int:
    if dtype in _BITS_OF_KEYS:
        return _BITS_OF_KEYS[dtype]
    digits = "".join(c for c in dtype.split("_")[0] if c.isdigit())
    if dtype.startswith("float8"):
        return 8
    return int(digits) if digits else 8


def _short_dtype(dtype: str) -> str:
    for long, short in (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")):
        if dtype.startswith(long):
            return short + dtype[len(long) :]
    return dtype
