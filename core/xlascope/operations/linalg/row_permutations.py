"""Permutations of the rows of stacks of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.avals import ShapedArray
from ...ir.markers import ZERO
from ...records.traits import NO_TRAITS
from ...trace.bind import bind1
from ...trace.source import here
from ...xla.mlir.builder import attribute, int64_array
from ..comparisons import eq
from ..conversion import to_dtype
from ..linear_operation import linear_taylor_rule
from ..operand_values import aval
from ..selection import select
from ..shapes import broadcasted_iota, reduce_sum, zeros_of
from .matrices import as_columns
from .matrix_stacks import INT32, MatrixStackOperation, emit_zeros


class PermuteRows(MatrixStackOperation, name="permute_rows"):
    """Rows of stacks of matrices in another order: row i of the result is row ``permutation[i]`` of the operand.

    The rows are gathered: in a product with permutation matrices, one infinity or NaN makes a whole column NaN. The
    transpose gathers too, by the inverse permutations. That of a gather at any indices adds the rows one by one.
    """

    traits = NO_TRAITS
    taylor_rule = linear_taylor_rule

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        x, permutation = operands
        if x.ndim < 2 or permutation.dtype != INT32 or permutation.shape != x.shape[:-1]:
            raise TypeError(
                f"permute_rows takes matrices and int32 numbers of their rows, got {x.str_short()} and "
                f"{permutation.str_short()}{here()}"
            )
        return [x]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (out,) = builder.out_avals
        if not out.size:
            return [emit_zeros(builder, out)]
        rows, lead = out.ndim - 2, list(range(out.ndim - 2))
        text = (
            f"#stablehlo.gather<offset_dims = [{rows + 1}], collapsed_slice_dims = [{rows}], "
            f"operand_batching_dims = {lead}, start_indices_batching_dims = {lead}, start_index_map = [{rows}], "
            f"index_vector_dim = {rows + 1}>"
        )
        sizes = (*[1] * (rows + 1), out.shape[-1])
        attributes = {"dimension_numbers": attribute(text), "slice_sizes": int64_array(sizes)}
        return builder.emit("stablehlo.gather", operands, attributes)  # type: ignore[no-any-return]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x, permutation), (t, _) = primals, tangents
        return [bind1(self, x, permutation)], [ZERO if t is ZERO else bind1(self, t, permutation)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (_, permutation) = cotangents, operands
        return [bind1(self, ct, invert_permutation(permutation)), None]


def exchange_rows(x: Any, permutation: Any) -> Any:
    """Return stacks of matrices, ``(…, m, k)``, whose row i is row ``permutation[i]`` of ``x``."""
    return bind1(PermuteRows.instance, x, permutation)


def invert_permutation(permutation: Any) -> Any:
    """Return the inverses of permutations, ``(…, m)``: for each number, the position at which it is."""
    shape = aval(permutation).shape
    rank = len(shape) + 1
    is_at = eq(as_columns(permutation), broadcasted_iota(np.int32, (*(1,) * (rank - 1), shape[-1]), rank - 1))
    positions = broadcasted_iota(np.int32, (*shape, shape[-1]), rank - 2)
    return reduce_sum(select(is_at, positions, zeros_of(aval(positions))), (rank - 2,))


def permutation_matrices(permutation: Any, dtype: Any) -> Any:
    """Return the permutation matrices whose row i selects row ``permutation[i]``, with elements of ``dtype``."""
    shape = aval(permutation).shape
    numbers = broadcasted_iota(np.int32, (*(1,) * len(shape[:-1]), 1, shape[-1]), len(shape))
    return to_dtype(eq(as_columns(permutation), numbers), dtype)
