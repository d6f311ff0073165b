"""The LU factorization with row exchanges."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ...ir.avals import ShapedArray, make_aval
from ...ir.markers import NOT_MAPPED, ZERO
from ...ir.operation import Operation
from ...records.traits import KERNEL
from ...trace.bind import bind, bind1
from ...trace.source import here
from ...xla.mlir import lapack
from ...xla.mlir.builder import attribute, int64_array
from ...xla.mlir.solver_calls import GPU_PLATFORMS, call_column_major, call_xla_factorization
from .. import sharding_rules
from ..integer_arguments import whole_number
from ..operand_values import aval, typed_scalar
from ..shapes import moveaxis
from ..slicing import concatenate, pad, slice_in_dim
from ..tangent_arithmetic import sum_tangents
from .matrices import identity, lower, product, upper
from .matrix_stacks import (
    INT32,
    MatrixStackOperation,
    emit_compare,
    emit_select,
    emit_zero_based,
    emit_zeros,
    require_matrices,
)
from .row_permutations import exchange_rows, invert_permutation
from .triangular import triangular_solve

#: Up to this many row exchanges are written out; more are a loop.
MAX_UNROLLED_EXCHANGES = 8


class LU(MatrixStackOperation, name="lu"):
    """P A = L U: both factors in one matrix (without the unit diagonal of L), the row exchanges, and P.

    With F = L⁻¹ P A' U⁻¹ the tangent of L is L times the part of F below the diagonal, and that of U is the rest of F
    times U (S. F. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions", arXiv:1009.6112,
    section 3). For a matrix that is not square, the larger factor is completed to a square matrix with rows and columns
    of the identity.
    """

    multiple_results: ClassVar[bool] = True

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (a,) = operands
        require_matrices(self.name, a)
        (*lead, m, n) = a.shape
        return [make_aval(a.shape, a.dtype), make_aval((*lead, min(m, n)), INT32), make_aval((*lead, m), INT32)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), (factors, pivots, permutation) = builder.in_avals, builder.out_avals
        if not a.size:
            empty_factors, exchanges = emit_zeros(builder, factors), emit_zeros(builder, pivots)
            return [empty_factors, exchanges, emit_permutation(builder, exchanges, pivots, permutation)]
        return self.on_platform(builder, operands)

    def on_cpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return self._by_pivots(builder, operands, functools.partial(lapack.call_lapack, builder, "getrf"))

    def on_gpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return self._by_pivots(builder, operands, functools.partial(call_column_major, builder, "cusolver_getrf_ffi"))

    def on_tpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return call_xla_factorization(builder, "LuDecomposition", operands, builder.out_avals, version=2)

    def _by_pivots(self, builder: Any, operands: Sequence[Any], call: Callable[..., list[Any]]) -> list[Any]:
        """Emit a library call, and the permutation that its row exchanges amount to; return the three results.

        ``call`` emits the library's routine, which counts rows from 1.
        """
        (a,), (factors, pivots, permutation) = builder.in_avals, builder.out_avals
        results = [factors, pivots, make_aval(a.shape[:-2], INT32)]
        lu_factors, exchanges, _ = call(operands, [a], results, a.ndim - 2, None, {0: 0})
        exchanges = emit_zero_based(builder, exchanges, pivots)
        return [lu_factors, exchanges, emit_permutation(builder, exchanges, pivots, permutation)]

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return 2 * operands[0].size * min(operands[0].shape[-2:]) // 3

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (a,), (t,) = primals, tangents
        results = bind(self, a)
        if t is ZERO:
            return results, [ZERO] * 3
        factors, _, permutation = results
        size = min(aval(a).shape[-2:])
        ones = identity(size, aval(a).dtype, aval(a).shape[:-2])
        lower_factor = _complete_to_square(
            sum_tangents([lower(factors, strictly=True), _pad_to_shape(ones, aval(a))]), size, -1
        )
        upper_factor = _complete_to_square(upper(factors), size, -2)
        inner = exchange_rows(t, permutation)
        inner = triangular_solve(lower_factor, inner, left_side=True, lower=True, unit_diagonal=True)
        inner = triangular_solve(upper_factor, inner, left_side=False)
        return results, [
            sum_tangents([product(lower_factor, lower(inner, strictly=True)), product(upper(inner), upper_factor)]),
            ZERO,
            ZERO,
        ]


def _pad_to_shape(x: Any, like: ShapedArray) -> Any:
    """Pad matrices with zeros at the end to the shape of the type ``like``."""
    missing = [(0, padded_size - size, 0) for size, padded_size in zip(aval(x).shape, like.shape, strict=True)]
    return pad(x, typed_scalar(0, like.dtype), missing)


def _complete_to_square(x: Any, size: int, axis: int) -> Any:
    """Complete a factor of shape (m, n) to a square matrix.

    The first ``size`` = min(m, n) columns (``axis`` -1) or rows (-2) are kept; the others are replaced by those of the
    identity.
    """
    type_ = aval(x)
    axis += len(type_.shape)
    core = slice_in_dim(x, 0, size, axis=axis) if type_.shape[axis] > size else x
    full_size = max(aval(core).shape[-2:])
    if size == full_size:
        return core
    identity_part = slice_in_dim(identity(full_size, type_.dtype, type_.shape[:-2]), size, full_size, axis=axis)
    return concatenate([core, identity_part], axis)


def lu(x: Any) -> list[Any]:
    """Return the LU factorization with partial pivoting of stacks of matrices, shape ``(…, m, n)``.

    Returns a list: both factors in one array of that shape (the diagonal of the lower factor, which is all ones, is not
    stored), the row exchanges as int32 of shape ``(…, min(m, n))``, and the permutation of rows that they amount to,
    int32 ``(…, m)``. A singular matrix gives zeros on the diagonal. Raises ValueError for arrays without rows and
    columns, TypeError unless they are floating-point or complex.

    >>> from xlascope import lax, numpy as jnp
    >>> factors, exchanges, permutation = lax.linalg.lu(jnp.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> print(factors, permutation)
    [[4.   4.  ]
     [0.25 1.  ]] [1 0]
    """
    return list(bind(LU.instance, x))


class LUPivotsToPermutation(Operation, name="lu_pivots_to_permutation"):
    """Permutation of ``permutation_size`` rows that successive row exchanges amount to."""

    traits = KERNEL
    permutation_size: int

    def sharding_rule(self, parts: Any, operands: Any, results: Any) -> Any:
        return sharding_rules.stacks_of_rank(self, parts, operands, results, operands[0].ndim - 1)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (pivots,) = operands
        if pivots.dtype.name not in ("int32", "uint32") or not pivots.ndim:
            raise TypeError(f"lu_pivots_to_permutation takes vectors of int32, got {pivots.str_short()}{here()}")
        if self.permutation_size < pivots.shape[-1]:
            raise ValueError(
                f"Output permutation size {self.permutation_size} has to exceed the trailing dimension of the pivots, "
                f"got shape {pivots.shape}{here()}"
            )
        return [make_aval((*pivots.shape[:-1], self.permutation_size), pivots.dtype)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return [emit_permutation(builder, operands[0], builder.in_avals[0], builder.out_avals[0])]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *primals), [ZERO]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        return [bind1(self, x if axis is NOT_MAPPED else moveaxis(x, axis, 0))], [0]


def emit_permutation(builder: Any, exchanges: Any, of_exchanges: ShapedArray, out: ShapedArray) -> Any:
    """Emit the permutation that row exchanges amount to; return its MLIR value of type ``out``.

    ``exchanges`` is the MLIR value of the exchanges, which count from 0, and ``of_exchanges`` its type. Each row is
    followed from its last place to its first, so that a step reads no element of the permutation but its own: XLA fuses
    the steps that are written out, and updates the permutation of a loop in place.
    """
    rank, count = out.ndim, of_exchanges.shape[-1]
    if builder.platform in GPU_PLATFORMS and out.dtype == INT32 and count and out.size:
        name = "cu_lu_pivots_to_permutation"
        return call_column_major(builder, name, [exchanges], [of_exchanges], [out], rank - 1)[0]
    places = builder.emit1("stablehlo.iota", [], out, {"iota_dimension": attribute(f"{rank - 1} : i64")})
    if not count or not out.size:
        return places
    if count <= MAX_UNROLLED_EXCHANGES:
        for position in reversed(range(count)):
            at = builder.constant(position, make_aval((), out.dtype))
            places = _emit_exchange(builder, places, exchanges, of_exchanges, at, out)
        return places
    return _emit_exchange_loop(builder, places, exchanges, of_exchanges, out)


def _emit_exchange_loop(builder: Any, places: Any, exchanges: Any, of_exchanges: ShapedArray, out: ShapedArray) -> Any:
    """Emit a loop over all exchanges, the last one first."""
    scalar = make_aval((), out.dtype)

    def number(value: int) -> Any:
        return builder.constant(value, scalar)

    def step(step_index: Any, places: Any, exchanges: Any) -> list[Any]:
        at = builder.emit1("stablehlo.subtract", [number(of_exchanges.shape[-1] - 1), step_index], scalar)
        places = _emit_exchange(builder, places, exchanges, of_exchanges, at, out)
        return [builder.emit1("stablehlo.add", [step_index, number(1)], scalar), places, exchanges]

    return builder.while_loop(
        [number(0), places, exchanges],
        [scalar, out, of_exchanges],
        lambda step_index, *_: [builder.compare("LT", step_index, number(of_exchanges.shape[-1]))],
        step,
    )[1]


def _emit_exchange(
    builder: Any, places: Any, exchanges: Any, of_exchanges: ShapedArray, at: Any, out: ShapedArray
) -> Any:
    """Emit where the rows at ``places`` were before the exchange at the position ``at``, a scalar."""
    sizes = (*of_exchanges.shape[:-1], 1)
    starts = [*[builder.constant(0, make_aval((), out.dtype))] * (out.ndim - 1), at]
    other = builder.emit1(
        "stablehlo.dynamic_slice",
        [exchanges, *starts],
        make_aval(sizes, out.dtype),
        {"slice_sizes": int64_array(sizes)},
    )
    other, at = builder.broadcast(other, out, range(out.ndim)), builder.broadcast(at, out)
    is_at, is_other = (emit_compare(builder, "EQ", places, x, out.shape) for x in (at, other))
    return emit_select(builder, is_at, other, emit_select(builder, is_other, at, places, out), out)


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    """Return the permutation of ``permutation_size`` rows that the row exchanges of :func:`lu` amount to.

    ``pivots`` has shape ``(…, k)``, the result ``(…, permutation_size)``; both are int32. Raises ValueError for a
    size below k or beyond int32.

    >>> from xlascope import lax, numpy as jnp
    >>> print(lax.linalg.lu_pivots_to_permutation(jnp.array([2, 2]), 3))
    [2 0 1]
    """
    size = whole_number(permutation_size, "permutation_size")
    if size > np.iinfo(np.int32).max:
        raise ValueError(f"permutation_size fits int32, got {size}{here()}")
    return bind1(LUPivotsToPermutation(size), pivots)


def solve_factored(factors: Any, permutation: Any, b: Any, transposing: bool = False) -> Any:
    """Return the X with A X = B (``transposing``: Aᵀ X = B), from the results of :func:`lu` for A."""
    if transposing:
        y = triangular_solve(factors, b, left_side=True, lower=False, transpose_a=True)
        y = triangular_solve(factors, y, left_side=True, lower=True, transpose_a=True, unit_diagonal=True)
        return exchange_rows(y, invert_permutation(permutation))
    y = triangular_solve(factors, exchange_rows(b, permutation), left_side=True, lower=True, unit_diagonal=True)
    return triangular_solve(factors, y, left_side=True, lower=False)


def solve(a: Any, b: Any) -> Any:
    """Return the X with A X = B, for square matrices."""
    factors, _, permutation = lu(a)
    return solve_factored(factors, permutation, b)
