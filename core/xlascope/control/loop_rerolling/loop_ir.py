"""Intermediate representation of a loop: its invariants, its carry, and the values that differ between repeats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...ir.avals import ShapedArray
from ...ir.jaxpr import Atom, Literal
from .normalized_steps import RerollStep


class RepeatResult(NamedTuple):
    """Operand that the same repeat computes: result ``result`` of the step with index ``step`` in the repeat."""

    step: int
    result: int


class Invariant(NamedTuple):
    """Operand that is the same in all repeats: ``Loop.invariants[number]``."""

    number: int


class CarriedValue(NamedTuple):
    """Operand that the previous repeat passes on: carry ``Loop.carries[number]``."""

    number: int


class Varying(NamedTuple):
    """Operand from outside the loop that differs between repeats: ``Loop.varying[number][repeat]``."""

    number: int


Operand = RepeatResult | Invariant | CarriedValue | Varying | Literal


class LoopCarry(NamedTuple):
    """A value passed from repeat to repeat.

    ``init`` is its value in the first repeat; ``result`` is what each repeat passes on.
    """

    init: Atom
    result: RepeatResult | CarriedValue


class Loop(NamedTuple):
    """A run of equal repeats in a list of steps (equations of a program), described as a loop.

    The loop replaces ``repeats * period`` consecutive steps from index ``begin`` on. ``operands[i]`` are the operands
    of step i of a repeat. Their numbers index ``invariants``, values that are the same in all repeats; ``carries``;
    and ``varying``, which has one value for each repeat.
    """

    begin: int
    period: int
    repeats: int
    operands: list[list[Operand]]
    invariants: list[Atom]
    carries: list[LoopCarry]
    varying: list[tuple[Atom, ...]]

    @property
    def end(self) -> int:
        """Return the index of the first step after the last repeat."""
        return self.begin + self.period * self.repeats

    def steps_of_repeat(self, steps: Sequence[RerollStep], repeat: int) -> Sequence[RerollStep]:
        """Return the steps of repeat ``repeat``, counted from 0; ``steps`` are all steps of the program."""
        first = self.begin + repeat * self.period
        return steps[first : first + self.period]


def bytes_of(aval: ShapedArray) -> int:
    """Return the size of a value of type ``aval`` in bytes."""
    return int(aval.size) * int(getattr(aval.dtype, "itemsize", 4))
