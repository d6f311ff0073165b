"""Intermediate representation of a loop: its invariants, its carry, and the values that differ between repeats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...ir.avals import ShapedArray
from ...ir.jaxpr import Atom, Literal
from .steps import Step


class Inside(NamedTuple):
    """A value of the same repeat: result ``result`` of its step ``step``."""

    step: int
    result: int


class Same(NamedTuple):
    """The ``number``-th loop invariant."""

    number: int


class Carried(NamedTuple):
    """The ``number``-th value carried from the previous repeat."""

    number: int


class Differing(NamedTuple):
    """The ``number``-th value from outside that differs between repeats."""

    number: int


Operand = Inside | Same | Carried | Differing | Literal


class Carry(NamedTuple):
    """A carried value: its initial value, and the step result or carried value that a repeat passes on."""

    init: Atom
    result: Inside | Carried


class Loop(NamedTuple):
    """Repeats of ``period`` steps, from step ``begin`` on; ``operands`` are those of each step of a repeat."""

    begin: int
    period: int
    repeats: int
    operands: list[list[Operand]]
    same: list[Atom]
    carried: list[Carry]
    differing: list[tuple[Atom, ...]]

    @property
    def end(self) -> int:
        """Return the index of the step after the last repeat."""
        return self.begin + self.period * self.repeats

    def steps(self, steps: Sequence[Step], repeat: int) -> Sequence[Step]:
        """Return the steps of a repeat."""
        first = self.begin + repeat * self.period
        return steps[first : first + self.period]


def bytes_of(aval: ShapedArray) -> int:
    """Return the size of a value in bytes."""
    return int(aval.size) * int(getattr(aval.dtype, "itemsize", 4))
