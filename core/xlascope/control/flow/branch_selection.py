"""Batching of cond with a mapped index: compute all branches for all examples and select the results.

An example must not get the NaN of a branch that it does not take, in derivatives either. The derivative of a
branch is 0 · inf there, so tangents are selected where they enter a branch, which selects the cotangents that
leave it:

- an operand that differs from example to example passes through ``mask_tangent``;
- an operand that is the same for all examples (weights that the branch closes over) has a tangent for each
  example where it meets values that differ. Products and gathers are expensive, so their operand is unchanged,
  and the tangent of their result is masked instead; factors of examples that do not take the branch become 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dtypes import is_differentiable
from ...ir.avals import ShapedArray, make_aval
from ...ir.jaxpr import ClosedJaxpr
from ...ir.markers import NOT_MAPPED
from ...ir.operation import Operation
from ...operations.comparisons import eq, ge, le
from ...operations.convolution import ConvGeneralDilated
from ...operations.dot_product import DotGeneral
from ...operations.dynamic_slicing import DynamicSlice
from ...operations.indexing import Gather
from ...operations.operand_values import typed_scalar
from ...operations.reductions import reduce_or
from ...operations.selection import mask_tangent, select
from ...operations.shapes import expand_dims, mapped_in_front, zeros_of
from ...trace.bind import bind
from ...trace.jaxpr_trace import stage
from ...trace.state import STATE
from ...trace.values import aval_of
from ...transforms.batch import batch_program
from ...transforms.dce import find_dependent_results, fixed_point
from ...transforms.evaluate import evaluate, evaluate_jaxpr
from ..programs.call import JitCall
from ..programs.masks import Mask, mapped_axes_mask
from .per_example_select import select_per_example
from .scan_op import Scan


def select_branches(
    branches: Sequence[ClosedJaxpr], operands: Sequence[Any], axes: Sequence[Any], size: int
) -> tuple[list[Any], list[Any]]:
    """Compute all branches of a cond for all examples, and select each example's results by its index.

    The first operand is the index. ``axes`` are the batch axes of the operands, ``size`` is the batch size. Returns
    the results and their batch axes, all 0.
    """
    index = mapped_in_front(operands[0], axes[0], size)
    force_mapped = (True,) * len(branches[0].out_avals)
    cases = len(branches)
    results = []
    for case, branch in enumerate(branches):
        if STATE.trace is None or cases == 1:  # nothing can differentiate what is computed at once
            program, masked_operands, inner = branch, operands[1:], tuple(axes[1:])
        else:
            program, masked_operands, inner = _mask_operand_tangents(
                branch, index, operands[1:], tuple(axes[1:]), size, case, cases
            )
        results.append(evaluate(batch_program(program, inner, size, force_mapped)[0], *masked_operands))
    return [select_per_example(index, *case_results) for case_results in zip(*results, strict=True)], [0] * len(
        force_mapped
    )


def _mask_operand_tangents(
    branch: ClosedJaxpr, index: Any, operands: Sequence[Any], axes: tuple[Any, ...], size: int, case: int, cases: int
) -> tuple[ClosedJaxpr, Sequence[Any], tuple[Any, ...]]:
    """Return a branch, its operands and their batch axes, with tangents masked for examples of other branches.

    ``index`` holds each example's branch index, ``case`` is this branch's index and ``cases`` the number of branches;
    ``axes`` are the operands' batch axes, ``size`` is the batch size.
    """
    masked_operands: list[Any] = []
    inner: list[Any] = []
    for x, axis in zip(operands, axes, strict=True):
        if not is_differentiable(aval_of(x).dtype):
            masked_operands.append(x)
            inner.append(axis)
        elif axis is NOT_MAPPED:
            masked_operands.append(mask_tangent(reduce_or(_is_taken(index, case, cases), (0,)), x, 1, 2))
            inner.append(NOT_MAPPED)
        else:
            x = mapped_in_front(x, axis, size)
            rank = len(aval_of(x).shape)
            masked_operands.append(
                mask_tangent(expand_dims(index, tuple(range(1, rank))) if rank > 1 else index, x, case, cases)
            )
            inner.append(0)
    marks = mapped_axes_mask(axes)
    shared = tuple(not m and is_differentiable(aval_of(x).dtype) for m, x in zip(marks, operands, strict=True))
    if not any(shared):
        return branch, masked_operands, tuple(inner)
    scalar = make_aval((), aval_of(index).dtype)
    return _mask_shared_tangents(branch, scalar, marks, shared, case, cases), [index, *masked_operands], (0, *inner)


def _is_taken(index: Any, case: int, cases: int) -> Any:
    """Return a boolean array: whether each branch index selects branch ``case``.

    Indices out of range count as the first or the last of the ``cases`` branches.
    """
    compare = le if case == 0 else ge if case == cases - 1 else eq
    return compare(index, typed_scalar(case, aval_of(index).dtype))


def _mask_shared_tangents(
    program: ClosedJaxpr, index: ShapedArray, marks: Mask, shared: Mask, case: int, cases: int
) -> ClosedJaxpr:
    """Return a program that takes an example's branch index before its operands and masks tangents.

    It masks the tangents of the operands in ``shared``, which are the same for all examples, where they meet values
    that differ from example to example, such as the operands in ``marks``. ``index`` is the type of the branch index,
    ``case`` the branch's own index and ``cases`` the number of branches.
    """
    key = ("guard shared", index, marks, shared, case, cases)
    masked_program = program.derived.get(key)
    if masked_program is None:

        def masked_branch(branch_index: Any, *operands: Any) -> list[Any]:
            guard = _SharedTangentMasker(branch_index, case, cases)
            guard.mark(operands, marks, shared)
            return evaluate_jaxpr(program.jaxpr, program.consts, operands, guard)

        masked_program = program.derived[key] = stage(masked_branch, [index, *program.in_avals], program.name)
    return masked_program


class _SharedTangentMasker:
    """Evaluator of a branch's equations for one example that masks tangents of values shared by all examples.

    ``index`` is the example's branch index, ``case`` that of the branch, ``cases`` the number of branches. ``mapped``
    and ``shared`` hold the ids of values that differ from example to example, and of shared ones with tangents.
    """

    def __init__(self, index: Any, case: int, cases: int) -> None:
        self.index, self.case, self.cases = index, case, cases
        self.mapped: set[int] = set()
        self.shared: set[int] = set()

    def mark(self, values: Sequence[Any], mapped: Sequence[bool], shared: Sequence[bool]) -> None:
        """Record which values differ from example to example, and which are shared and may have tangents.

        ``mapped`` and ``shared`` are the masks of ``values`` that say so.
        """
        for x, differs, same in zip(values, mapped, shared, strict=True):
            if differs:
                self.mapped.add(id(x))
            elif same:
                self.shared.add(id(x))

    def __call__(self, operation: Operation, *operands: Any) -> list[Any]:
        differs = [id(x) in self.mapped for x in operands]
        same = [id(x) in self.shared for x in operands]
        mixes = any(same) and (any(differs) or operation.is_context_dependent)
        results = self._apply_masked(operation, operands, differs, same) if mixes else bind(operation, *operands)
        self.mark(results, *self._classify_results(operation, differs, same, results))
        return results

    def _classify_results(
        self, operation: Operation, differs: Sequence[bool], same: Sequence[bool], results: Sequence[Any]
    ) -> tuple[Sequence[bool], Sequence[bool]]:
        """Return masks of an operation's results that differ between examples, and of shared ones with tangents.

        ``differs`` and ``same`` are these masks of the operands.
        """
        count = len(results)
        if operation.is_context_dependent:
            return [True] * count, [False] * count
        of_mapped = operation.dependence(differs) if any(differs) else [False] * count
        of_shared = operation.dependence(same) if any(same) else [False] * count
        types = [is_differentiable(aval_of(y).dtype) for y in results]
        shared = [True] * count if of_shared is None else of_shared
        return (
            [True] * count if of_mapped is None else of_mapped,
            [s and t for s, t in zip(shared, types, strict=True)],
        )

    def _apply_masked(
        self, operation: Operation, operands: Sequence[Any], differs: Sequence[bool], same: Sequence[bool]
    ) -> list[Any]:
        """Apply an operation whose operands include both shared and per-example values, with tangents masked.

        ``differs`` and ``same`` mark the operands that differ from example to example, and the shared ones.
        """
        if isinstance(operation, JitCall):
            program = self._mask_program(operation.jaxpr, differs, same)
            return bind(operation.with_program(program), self.index, *operands)
        if isinstance(operation, Scan):
            return self._apply_scan(operation, operands, tuple(differs), tuple(same))
        if isinstance(operation, DotGeneral | ConvGeneralDilated):
            factors = [self._zero_unless_taken(x) if d else x for x, d in zip(operands, differs, strict=True)]
            return [self._mask_tangent(y) for y in bind(operation, *factors)]
        if isinstance(operation, Gather | DynamicSlice):
            return [self._mask_tangent(y) for y in bind(operation, *operands)]
        return bind(operation, *[self._mask_tangent(x) if s else x for x, s in zip(operands, same, strict=True)])

    def _apply_scan(self, operation: Scan, operands: Sequence[Any], differs: Mask, same: Mask) -> list[Any]:
        """Bind a scan with a body that masks tangents, and return its results.

        ``differs`` and ``same`` are the masks of operands that differ from example to example, and of operands shared
        by all examples that may have tangents. The branch index is passed to the body as one more constant.
        """
        body, count = operation.jaxpr, operation.num_carry

        def in_steps(marks: Mask) -> Mask:
            consts, carry, xs = operation.split_operands(marks)
            carry = fixed_point(lambda m: find_dependent_results(body, (*consts, *m, *xs))[:count], tuple(carry))
            return (*consts, *carry, *xs)

        differs = in_steps(differs)
        same = tuple(s and not d for s, d in zip(in_steps(same), differs, strict=True))
        same = tuple(s and is_differentiable(a.dtype) for s, a in zip(same, body.in_avals, strict=True))
        loop = operation.with_body(self._mask_program(body, differs, same), operation.num_consts + 1, count)
        return bind(loop, self.index, *operands)

    def _mask_program(self, program: ClosedJaxpr, differs: Sequence[bool], same: Sequence[bool]) -> ClosedJaxpr:
        index = aval_of(self.index)
        return _mask_shared_tangents(program, index, tuple(differs), tuple(same), self.case, self.cases)

    def _mask_tangent(self, x: Any) -> Any:
        return mask_tangent(self.index, x, self.case, self.cases) if is_differentiable(aval_of(x).dtype) else x

    def _zero_unless_taken(self, x: Any) -> Any:
        """Return ``x`` for examples that take the branch, and zeros for others, whose results are not used."""
        return select(_is_taken(self.index, self.case, self.cases), x, zeros_of(aval_of(x)))
