"""What a loop over repeats is: what stays the same, what one repeat gives to the next, and what differs from repeat to
repeat.
"""

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
    """The ``number``-th of the values that are the same in each repeat."""

    number: int


class Carried(NamedTuple):
    """The ``number``-th of the values that the repeat before gives."""

    number: int


class Differing(NamedTuple):
    """The ``number``-th of the values from outside that differ."""

    number: int


Operand = Inside | Same | Carried | Differing | Literal


class Carry(NamedTuple):
    """What a repeat gives to the next one: a result of a step, or what it was given itself; and what the first is given
    instead.
    """

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
        """The step behind the last."""
        return self.begin + self.period * self.repeats

    def steps(self, steps: Sequence[Step], repeat: int) -> Sequence[Step]:
        """The steps of a repeat."""
        first = self.begin + repeat * self.period
        return steps[first : first + self.period]


def bytes_of(aval: ShapedArray) -> int:
    """The bytes of a value."""
    return int(aval.size) * int(getattr(aval.dtype, "itemsize", 4))
