"""The cond operation: run one of several programs, selected by an index."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...ir.avals import ShapedArray, union_of_varying_axes, with_varying_axes
from ...ir.effects import is_io
from ...ir.jaxpr import ClosedJaxpr
from ...ir.markers import NOT_MAPPED, ZERO
from ...ir.operation import Operation
from ...operations.operand_checks import is_linear
from ...trace.bind import bind
from ...trace.source import here
from ...transforms.batch import batch_program
from ...transforms.batch_trace import batch_size
from ...transforms.dce import dce_program, find_dependent_results, restrict_program
from ...transforms.differentiate import jvp_program, linearize_program
from ...transforms.taylor import find_moving, taylor_program, unflatten_coefficients
from ...transforms.taylor import flatten_coefficients as taylor_terms
from ...transforms.transpose import transpose_program
from ..programs.masks import (
    Mask,
    drop_zero_tangents,
    leading_axes,
    mapped_axes_mask,
    nonzero_tangents_mask,
    scatter_by_mask,
    split_tangents,
    union_masks,
)
from ..programs.program_rewrites import latest_program
from .branch_selection import select_branches
from .cond_reverse_mode import split_branches


class Cond(Operation, name="cond"):
    """Operation that applies one of several programs, ``branches``, to all operands but the first.

    The first operand is the index of the branch. All branches have the same operand and result types.
    """

    composite = True

    branches: tuple[ClosedJaxpr, ...]

    @property
    def holder(self) -> ClosedJaxpr:
        return latest_program(self.branches)

    def bodies(self) -> Sequence[ClosedJaxpr]:
        return self.branches

    def flops_of_bodies(self, flops: Sequence[int]) -> int:
        return max(flops)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        of_branches = [branch.out_avals for branch in self.branches]
        return [with_varying_axes(avals[0], union_of_varying_axes(avals)) for avals in zip(*of_branches, strict=True)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        index, *branch_operands = operands
        branches = [functools.partial(builder.call_body, b, branch_operands, n) for n, b in enumerate(self.branches)]
        return builder.case(index, branches, with_token=builder.needs_token(self.effects))  # type: ignore[no-any-return]

    def dependence(self, operands: Sequence[bool]) -> list[bool]:
        index, *marks = operands
        dependences = [find_dependent_results(branch, marks) for branch in self.branches]
        return [index or any(marks_of_result) for marks_of_result in zip(*dependences, strict=True)]

    def dce_rule(self, used: Mask) -> tuple[Operation, Mask, Mask]:
        """Return the cond without the results not marked in ``used``, the mask of operands it takes, and ``used``.

        It takes the index, and each operand that any branch needs for these results. The third part says which results
        it returns: exactly those marked.
        """
        needed = union_masks([dce_program(branch, used)[1] for branch in self.branches])
        return Cond(tuple(restrict_program(branch, used, needed) for branch in self.branches)), (True, *needed), used

    def _derive_branches(
        self, transform: Callable[[ClosedJaxpr, Mask | None], tuple[ClosedJaxpr, Mask]]
    ) -> tuple[Cond, Mask]:
        """Return the cond of transformed branches, and the mask of its results.

        ``transform(branch, forced)`` returns a program and a mask of its results (nonzero or mapped ones, say), in
        which those marked in ``forced`` are set. The mask of the cond is the union of the branches' masks.
        """
        marks = union_masks([transform(branch, None)[1] for branch in self.branches])
        return Cond(tuple([transform(branch, marks)[0] for branch in self.branches])), marks

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        nonzero = nonzero_tangents_mask(tangents[1:])
        choice, out_moving = self._derive_branches(
            lambda branch, instantiate: jvp_program(branch, nonzero, instantiate)
        )
        return split_tangents(bind(choice, *primals, *drop_zero_tangents(tangents[1:])), out_moving)

    def taylor_program_rule(
        self, primals: Sequence[Any], series: Sequence[Sequence[Any]]
    ) -> tuple[list[Any], list[list[Any]]]:
        nonzero, order = find_moving(series[1:]), len(series[0])
        choice, out_moving = self._derive_branches(
            lambda branch, instantiate: taylor_program(branch, order, nonzero, instantiate)
        )
        results = bind(choice, *primals, *taylor_terms(primals[1:], series[1:], nonzero))
        count = len(out_moving)
        return results[:count], unflatten_coefficients(results[count:], out_moving, order)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run the branches' forward halves now, and record the choice between their linear halves.

        Returns the results and their tangents; a tangent is ZERO where it is known to be zero.
        """
        nonzero = nonzero_tangents_mask(tangents[1:])
        out_moving = union_masks([linearize_program(branch, nonzero).nonzero_out_tangents for branch in self.branches])
        split = split_branches([linearize_program(branch, nonzero, out_moving) for branch in self.branches])
        results = bind(Cond(split.forward), *primals)
        count = len(out_moving)
        if not any(out_moving):
            return results[:count], [ZERO] * count
        primal_operands = [primals[1 + index] for index in split.operands]
        tangents_out = bind(
            Cond(split.linear), primals[0], *results[count:], *primal_operands, *drop_zero_tangents(tangents)
        )
        return results[:count], scatter_by_mask(tangents_out, out_moving)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        index, *branch_operands = operands
        linear = tuple(is_linear(x) for x in branch_operands)
        nonzero = nonzero_tangents_mask(cotangents)
        choice, nonzero_out = self._derive_branches(
            lambda branch, instantiate: transpose_program(branch, linear, nonzero, instantiate)
        )
        nonlinear_operands = [x for x in branch_operands if not is_linear(x)]
        results = bind(choice, index, *nonlinear_operands, *drop_zero_tangents(cotangents))
        return [None, *scatter_by_mask(scatter_by_mask(results, nonzero_out), linear, None)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = batch_size(operands, axes)
        if axes[0] is not NOT_MAPPED:
            self._require_no_io()
            return select_branches(self.branches, operands, axes, size)
        inner = tuple(axes[1:])

        def batch_branch(branch: ClosedJaxpr, force_mapped: Mask | None) -> tuple[ClosedJaxpr, Mask]:
            program, out_axes = batch_program(branch, inner, size, force_mapped)
            return program, mapped_axes_mask(out_axes)

        choice, out_mapped = self._derive_branches(batch_branch)
        return bind(choice, *operands), leading_axes(out_mapped)

    def _require_no_io(self) -> None:
        """Raise NotImplementedError if the branches have IO effects, because all of them run for all examples."""
        if is_io(self.effects):
            raise NotImplementedError(
                f"IO effect not supported in vmap-of-cond{here()}: where each example chooses for itself all branches "
                "are computed for all examples, and io_callback would be called for those that did not choose it. Use "
                "lax.map in place of vmap"
            )
