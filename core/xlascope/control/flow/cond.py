"""The cond operation: run one of several programs, selected by an index."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...ir.avals import ShapedArray
from ...ir.effects import is_io
from ...ir.jaxpr import ClosedJaxpr
from ...ir.markers import NOT_MAPPED, ZERO
from ...ir.operation import Operation
from ...operations.requirements import is_linear
from ...trace.bind import bind
from ...trace.source import here
from ...transforms.batch import batch_program
from ...transforms.batch_trace import batch_size
from ...transforms.dce import dce_program, dependence, restricted_program
from ...transforms.differentiate import jvp_program, linearize_program
from ...transforms.taylor import joined as taylor_terms
from ...transforms.taylor import marked, separated, taylor_program
from ...transforms.transpose import transpose_program
from ..programs.marks import Marks, any_of, axes_in_front, in_places, mapped, moving, present, split_tangents
from ..programs.rearranged import youngest
from .branch_selection import select_branches
from .cond_halves import halves_of


class Cond(Operation, name="cond"):
    """Operation that applies the branch selected by the first operand to the other operands."""

    composite = True

    branches: tuple[ClosedJaxpr, ...]

    @property
    def holder(self) -> ClosedJaxpr:
        return youngest(self.branches)

    def bodies(self) -> Sequence[ClosedJaxpr]:
        return self.branches

    def flops_of_bodies(self, flops: Sequence[int]) -> int:
        return max(flops)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return self.branches[0].out_avals

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        index, *branch_operands = operands
        branches = [functools.partial(builder.call_body, b, branch_operands, n) for n, b in enumerate(self.branches)]
        return builder.case(index, branches, with_token=builder.passes_token(self.effects))  # type: ignore[no-any-return]

    def dependence(self, operands: Sequence[bool]) -> list[bool]:
        index, *marks = operands
        dependences = [dependence(branch, marks) for branch in self.branches]
        return [index or any(marks_of_result) for marks_of_result in zip(*dependences, strict=True)]

    def dce_rule(self, used: Marks) -> tuple[Operation, Marks, Marks]:
        """Return the cond that computes only the used results; an operand is needed if any branch needs it."""
        needed = any_of([dce_program(branch, used)[1] for branch in self.branches])
        return Cond(tuple(restricted_program(branch, used, needed) for branch in self.branches)), (True, *needed), used

    def _derived(
        self, transform: Callable[[ClosedJaxpr, Marks | None], tuple[ClosedJaxpr, Marks]]
    ) -> tuple[Cond, Marks]:
        """Return the cond of transformed branches, and the mask of its results (the union of the branches' masks).

        ``transform(branch, forced)`` returns a program and its mask, in which the results marked in ``forced`` are
        set.
        """
        marks = any_of([transform(branch, None)[1] for branch in self.branches])
        return Cond(tuple([transform(branch, marks)[0] for branch in self.branches])), marks

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        nonzero = moving(tangents[1:])
        choice, out_moving = self._derived(lambda branch, instantiate: jvp_program(branch, nonzero, instantiate))
        return split_tangents(bind(choice, *primals, *present(tangents[1:])), out_moving)

    def taylor_program_rule(
        self, primals: Sequence[Any], series: Sequence[Sequence[Any]]
    ) -> tuple[list[Any], list[list[Any]]]:
        nonzero, order = marked(series[1:]), len(series[0])
        choice, out_moving = self._derived(
            lambda branch, instantiate: taylor_program(branch, order, nonzero, instantiate)
        )
        results = bind(choice, *primals, *taylor_terms(primals[1:], series[1:], nonzero))
        count = len(out_moving)
        return results[:count], separated(results[count:], out_moving, order)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run the branches' forward halves now, and record the choice between their linear halves."""
        nonzero = moving(tangents[1:])
        out_moving = any_of([linearize_program(branch, nonzero).out_moving for branch in self.branches])
        split = halves_of([linearize_program(branch, nonzero, out_moving) for branch in self.branches])
        results = bind(Cond(split.forward), *primals)
        count = len(out_moving)
        if not any(out_moving):
            return results[:count], [ZERO] * count
        primal_operands = [primals[1 + index] for index in split.operands]
        tangents_out = bind(Cond(split.linear), primals[0], *results[count:], *primal_operands, *present(tangents))
        return results[:count], in_places(tangents_out, out_moving)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        index, *branch_operands = operands
        linear = tuple(is_linear(x) for x in branch_operands)
        nonzero = moving(cotangents)
        choice, nonzero_out = self._derived(
            lambda branch, instantiate: transpose_program(branch, linear, nonzero, instantiate)
        )
        nonlinear_operands = [x for x in branch_operands if not is_linear(x)]
        results = bind(choice, index, *nonlinear_operands, *present(cotangents))
        return [None, *in_places(in_places(results, nonzero_out), linear, None)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = batch_size(operands, axes)
        if axes[0] is not NOT_MAPPED:
            self._require_no_io()
            return select_branches(self.branches, operands, axes, size)
        inner = tuple(axes[1:])

        def batch_branch(branch: ClosedJaxpr, force_mapped: Marks | None) -> tuple[ClosedJaxpr, Marks]:
            program, out_axes = batch_program(branch, inner, size, force_mapped)
            return program, mapped(out_axes)

        choice, out_mapped = self._derived(batch_branch)
        return bind(choice, *operands), axes_in_front(out_mapped)

    def _require_no_io(self) -> None:
        """Raise NotImplementedError if the branches have IO effects, because all of them run for all examples."""
        if is_io(self.effects):
            raise NotImplementedError(
                f"IO effect not supported in vmap-of-cond{here()}: where each example chooses for itself all branches "
                "are computed for all examples, and io_callback would be called for those that did not choose it. Use "
                "lax.map in place of vmap"
            )
