"""The operation that repeats become: a scan whose slices are read from stacks with an offset and a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...ir.operation import Operation
from ...records.traits import LOOP
from ..flow.slice_avals import to_stacked_aval
from .repeat_lowering import RepeatedLowering

_NOT_TRANSFORMABLE = "repeats become a loop when a program is lowered, after all that is derived from it"


class RepeatLoop(Operation, name="repeated"):
    """Operation that returns the carry after ``count`` repeats of a program, and the stacked results of the repeats.

    The operands are constants of the loop, the initial carry, and stacks. The program takes constants, carry, and for
    each of ``reads`` (number of a stack, first index, step) the element at ``first + k * step`` in repeat ``k``.
    ``read_names`` and ``kept_names`` are the op names of reading and writing stacks.
    """

    traits = LOOP
    composite = True

    jaxpr: ClosedJaxpr
    count: int
    num_carry: int
    num_consts: int
    reads: tuple[tuple[int, int, int], ...]
    read_names: tuple[str, ...]
    kept_names: tuple[str, ...]

    @property
    def holder(self) -> ClosedJaxpr:
        return self.jaxpr

    def bodies(self) -> Sequence[ClosedJaxpr]:
        return (self.jaxpr,)

    def flops_of_bodies(self, flops: Sequence[int]) -> int:
        return self.count * sum(flops)

    def split_operands(self, operands: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """Split the operands into three: constants, carry, and the stacks of which each repeat reads a slice.

        Any sequence of values that correspond to the operands can be split, such as the inputs of the body.
        """
        first, second = self.num_consts, self.num_consts + self.num_carry
        return operands[:first], operands[first:second], operands[second:]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        results, num_carry = self.jaxpr.out_avals, self.num_carry
        return [*results[:num_carry], *(to_stacked_aval(a, self.count) for a in results[num_carry:])]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        names = self.read_names, self.kept_names
        return RepeatedLowering(builder, self.jaxpr, self.count, self.reads, *names, self.split_operands).lower(
            operands
        )

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        raise NotImplementedError(_NOT_TRANSFORMABLE)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        raise NotImplementedError(_NOT_TRANSFORMABLE)
