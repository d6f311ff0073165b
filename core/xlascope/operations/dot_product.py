"""The product of arrays over shared axes."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_bits, dtype_kind, finfo, promote_dtypes
from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import NOT_MAPPED, ZERO
from ..ir.operation import Operation
from ..ir.requested_dtypes import resolve_requested_dtype
from ..records.traits import PRODUCT
from ..trace.bind import bind1
from ..trace.source import compose_message, here
from ..xla.mlir.builder import attribute
from . import sharding_rules
from .conversion import to_dtype
from .dot_algorithms import DotAlgorithmPreset, check_algorithm, emit_product
from .operand_checks import is_linear, require_kind, require_one_dtype, type_of
from .operand_values import aval
from .precision import Precisions, precision_config, precision_of
from .shapes import transpose
from .tangent_arithmetic import bilinear_taylor_rule, sum_tangents

DimensionNumbers = tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]]


class DotGeneral(Operation, name="dot_general"):
    """Sum of products over the contracting axes, for each index of the batch axes.

    The result's axes are the batch axes, then the free axes of the left operand, then those of the right one.
    """

    traits = PRODUCT
    dimension_numbers: DimensionNumbers
    precision: Precisions
    preferred_element_type: np.dtype[Any] | None

    taylor_rule = bilinear_taylor_rule

    sharding_rule = sharding_rules.product

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        x, y = operands
        (contract_x, contract_y), (batch_x, batch_y) = self.dimension_numbers
        require_one_dtype(self.name, x, y)
        require_kind(self.name, x.dtype, "bifc")
        self.check_shapes(x, y)
        if isinstance(self.precision, DotAlgorithmPreset):
            check_algorithm(self.precision, x, y)
        shape = (
            *(x.shape[i] for i in batch_x),
            *(x.shape[i] for i in free_axes(x.ndim, contract_x, batch_x)),
            *(y.shape[j] for j in free_axes(y.ndim, contract_y, batch_y)),
        )
        return [make_aval(shape, self.preferred_element_type or x.dtype, x.weak_type and y.weak_type)]

    def check_shapes(self, x: ShapedArray, y: ShapedArray) -> None:
        """Raise TypeError unless the dimension numbers name axes of the operands that have equal sizes."""
        (contract_x, contract_y), (batch_x, batch_y) = self.dimension_numbers
        for operand, axes in ((x, (*contract_x, *batch_x)), (y, (*contract_y, *batch_y))):
            if len(set(axes)) < len(axes) or not all(0 <= axis < operand.ndim for axis in axes):
                raise TypeError(
                    f"dot_general takes different axes below {operand.ndim} of {operand.str_short()}, got {axes}"
                    + here()
                )
        if len(contract_x) != len(contract_y) or len(batch_x) != len(batch_y):
            raise TypeError(
                "dot_general takes as many contracting and batch axes of one operand as of the other, got "
                f"{self.dimension_numbers}{here()}"
            )
        for i, j in zip((*contract_x, *batch_x), (*contract_y, *batch_y), strict=True):
            if x.shape[i] != y.shape[j]:
                problem = (
                    f"dot_general: axis {i} of shape {x.shape} and axis {j} of shape {y.shape} have different sizes, "
                    f"{x.shape[i]} and {y.shape[j]}; they have to be equal."
                )
                raise TypeError(compose_message(problem))

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        attributes = {name: attribute(text) for name, text in self._attributes.items()}
        if not self._has_algorithm:
            return builder.emit("stablehlo.dot_general", operands, attributes)  # type: ignore[no-any-return]
        by: Any = self.precision
        return emit_product(builder, operands, by, attributes, self._is_matrix_product(*builder.in_avals))

    def as_stablehlo(self) -> tuple[str, dict[str, Any] | None] | None:
        if self._has_algorithm:
            return None
        return "stablehlo.dot_general", {name: attribute(text) for name, text in self._attributes.items()}

    @property
    def _has_algorithm(self) -> bool:
        return isinstance(self.precision, DotAlgorithmPreset) and self.precision is not DotAlgorithmPreset.DEFAULT

    def _is_matrix_product(self, x: ShapedArray, y: ShapedArray) -> bool:
        """Return whether there is more than one row, more than one column and more than one contracted element."""
        (contract_x, contract_y), (batch_x, batch_y) = self.dimension_numbers
        rows, columns = free_axes(x.ndim, contract_x, batch_x), free_axes(y.ndim, contract_y, batch_y)
        axes = (x, contract_x), (x, rows), (y, columns)
        return all(math.prod(operand.shape[i] for i in numbers) > 1 for operand, numbers in axes)

    @functools.cached_property
    def _attributes(self) -> dict[str, str]:
        """Return the text of StableHLO attributes, by name."""
        (contract_x, contract_y), (batch_x, batch_y) = self.dimension_numbers
        return {
            "dot_dimension_numbers": (
                f"#stablehlo.dot<lhs_batching_dimensions = {list(batch_x)}, "
                f"rhs_batching_dimensions = {list(batch_y)}, lhs_contracting_dimensions = {list(contract_x)}, "
                f"rhs_contracting_dimensions = {list(contract_y)}>"
            ),
            "precision_config": precision_config(self.precision),
        }

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        (contract_x, _), _ = self.dimension_numbers
        return 2 * results[0].size * math.prod(operands[0].shape[i] for i in contract_x)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x, y), (tx, ty) = primals, tangents
        parts = [ZERO if tx is ZERO else bind1(self, tx, y), ZERO if ty is ZERO else bind1(self, x, ty)]
        return [bind1(self, x, y)], [sum_tangents(parts)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        # The cotangent's axes are (batch, free x, free y). For x it is multiplied with y over free y, which leaves
        # (batch, free x, contracted axes in y's order); a transposition puts these where x has them.
        (ct,), (x, y) = cotangents, operands
        (contract_x, contract_y), (batch_x, batch_y) = self.dimension_numbers
        rank_x, rank_y = len(type_of(x).shape), len(type_of(y).shape)
        free_x, free_y = free_axes(rank_x, contract_x, batch_x), free_axes(rank_y, contract_y, batch_y)
        count, batch = len(batch_x), tuple(range(len(batch_x)))
        dtype = aval(ct).dtype  # wider than the operands' when preferred_element_type is
        ct_x = ct_y = None
        if is_linear(x):
            over = tuple(range(count + len(free_x), count + len(free_x) + len(free_y)))
            factor = _as_dtype(y, dtype)
            numbers = (over, free_y), (batch, batch_y)
            product = bind1(DotGeneral(numbers, self.precision, dtype), ct, factor)
            ordered = [i for _, i in sorted(zip(contract_y, contract_x, strict=True))]
            ct_x = _as_dtype(_restore_axis_order(product, (*batch_x, *free_x, *ordered)), x.aval.dtype)
        if is_linear(y):
            over = tuple(range(count, count + len(free_x)))
            factor = _as_dtype(x, dtype)
            numbers = (over, free_x), (batch, batch_x)
            product = bind1(DotGeneral(numbers, self.precision, dtype), ct, factor)
            ordered = [j for _, j in sorted(zip(contract_x, contract_y, strict=True))]
            ct_y = _as_dtype(_restore_axis_order(product, (*batch_y, *free_y, *ordered)), y.aval.dtype)
        return [ct_x, ct_y]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x, y), (axis_x, axis_y) = operands, axes
        (contract_x, contract_y), (batch_x, batch_y) = self.dimension_numbers
        if axis_x is not NOT_MAPPED and axis_y is not NOT_MAPPED:
            numbers = (
                (_shift_axes(contract_x, axis_x), _shift_axes(contract_y, axis_y)),
                ((axis_x, *_shift_axes(batch_x, axis_x)), (axis_y, *_shift_axes(batch_y, axis_y))),
            )
            return [bind1(DotGeneral(numbers, self.precision, self.preferred_element_type), x, y)], [0]
        if axis_y is NOT_MAPPED:  # the mapped axis becomes one of x's free axes
            free = free_axes(len(aval(x).shape) - 1, contract_x, batch_x)
            numbers = (_shift_axes(contract_x, axis_x), contract_y), (_shift_axes(batch_x, axis_x), batch_y)
            result_axis = len(batch_x) + sum(1 for i in free if i < axis_x)
        else:
            free = free_axes(len(aval(y).shape) - 1, contract_y, batch_y)
            numbers = (contract_x, _shift_axes(contract_y, axis_y)), (batch_x, _shift_axes(batch_y, axis_y))
            result_axis = len(aval(x).shape) - len(contract_x) + sum(1 for j in free if j < axis_y)
        return [bind1(DotGeneral(numbers, self.precision, self.preferred_element_type), x, y)], [result_axis]


def free_axes(rank: int, contract: Sequence[int], batch: Sequence[int]) -> tuple[int, ...]:
    """Return the axes below ``rank`` that are neither in ``contract`` nor in ``batch``, in order."""
    return tuple(axis for axis in range(rank) if axis not in contract and axis not in batch)


def _shift_axes(axes: Sequence[int], inserted: int) -> tuple[int, ...]:
    return tuple(axis + (axis >= inserted) for axis in axes)


def _as_dtype(x: Any, dtype: np.dtype[Any]) -> Any:
    return x if aval(x).dtype == dtype else to_dtype(x, dtype)


def _restore_axis_order(product: Any, where: Sequence[int]) -> Any:
    return transpose(product, tuple(int(i) for i in np.argsort(where)))


def _product_dtype(first: np.dtype[Any], second: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which arrays of two dtypes are multiplied.

    It is the wider of the two if both are integers or both floats, otherwise their promoted dtype.
    """
    kinds = {dtype_kind(dtype).replace("b", "u").replace("u", "i") for dtype in (first, second)}
    if kinds == {"i"}:
        return max(first, second, key=lambda dtype: (dtype_bits(dtype), dtype_kind(dtype) == "i"))
    if kinds == {"f"}:
        return max(first, second, key=lambda dtype: (finfo(dtype).maxexp, finfo(dtype).nmant))
    return promote_dtypes(((first, False), (second, False)))[0]


def _require_no_narrower(wider: np.dtype[Any], preferred: np.dtype[Any] | None) -> None:
    if preferred is not None and dtype_kind(wider) in "iu" and dtype_bits(wider) > dtype_bits(preferred):
        raise TypeError(
            f"preferred_element_type of dot_general, {preferred.name}, is narrower than the operands' {wider.name}"
            f"{here()}"
        )


def dot_general(
    lhs: Any, rhs: Any, dimension_numbers: Any, precision: Any = None, preferred_element_type: Any = None
) -> Any:
    """Return the product over ``dimension_numbers = ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))``.

    The result has the batch axes, then the remaining axes of ``lhs``, then those of ``rhs``. For operands of different
    dtypes it is computed in ``preferred_element_type``, or else in the wider dtype: of integers the one with more bits,
    signed if both have as many; of floats the one with the larger range.
    """
    try:
        (contract_x, contract_y), (batch_x, batch_y) = dimension_numbers
        numbers = (tuple(contract_x), tuple(contract_y)), (tuple(batch_x), tuple(batch_y))
    except (TypeError, ValueError):
        raise TypeError(
            "dimension_numbers of dot_general are ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch)), sequences of "
            f"axes, got {dimension_numbers!r}{here()}"
        ) from None
    dtype = None if preferred_element_type is None else resolve_requested_dtype(preferred_element_type)
    return dot_general_in_dtype(lhs, rhs, numbers, precision, dtype)


def dot_general_in_dtype(lhs: Any, rhs: Any, numbers: Any, precision: Any, dtype: np.dtype[Any] | None) -> Any:
    """Return the product like :func:`dot_general`, in the dtype of an operand, whatever enable_x64 is.

    ``numbers`` are tuples. ``dtype`` None stands for that of the operands.
    """
    types = aval(lhs), aval(rhs)
    if types[0].dtype is not types[1].dtype:
        wider = _product_dtype(types[0].dtype, types[1].dtype)
        _require_no_narrower(wider, dtype)
        common = wider if dtype is None else dtype
        lhs, rhs = to_dtype(lhs, common), to_dtype(rhs, common)
    operation = DotGeneral(numbers, precision_of(precision), dtype)
    operation.check_shapes(*types)  # check the user's shapes, before batch rules add mapped axes
    return bind1(operation, lhs, rhs)
