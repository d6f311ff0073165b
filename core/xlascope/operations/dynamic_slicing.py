"""Slices at computed positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import NOT_MAPPED, ZERO
from ..ir.operation import Operation
from ..trace.bind import bind1
from ..xla.arrays.transfers import integer_array
from ..xla.mlir.builder import int64_array
from . import indexing, sharding_rules
from .extremes import clamp
from .indexing import batched_gather, mapped_size, stacked_indices
from .integer_arguments import whole_numbers
from .linear_operation import linear_taylor_rule
from .operand_checks import is_linear, require_index_scalars, type_of
from .operand_values import aval, shape_of, typed_scalar
from .shapes import mapped_in_front, moveaxis, zeros_of


class DynamicSlice(Operation, name="dynamic_slice"):
    """Block of size ``slice_sizes`` at indices that are operands, clamped so that it lies in the first operand."""

    accepts_keys = True

    slice_sizes: tuple[int, ...]

    taylor_rule = linear_taylor_rule

    sharding_rule = sharding_rules.resize

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        x, *starts = operands
        require_index_scalars(self.name, starts)
        fits = len(starts) == len(self.slice_sizes) == x.ndim
        if not fits or any(not 0 <= size <= have for size, have in zip(self.slice_sizes, x.shape, strict=True)):
            raise TypeError(
                f"cannot take a block of size {self.slice_sizes} at {len(starts)} indices from shape {x.shape}"
            )
        return [make_aval(self.slice_sizes, x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.emit(  # type: ignore[no-any-return]
            "stablehlo.dynamic_slice", operands, {"slice_sizes": int64_array(self.slice_sizes)}
        )

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        t = tangents[0]
        return [bind1(self, *primals)], [ZERO if t is ZERO else bind1(self, t, *primals[1:])]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x, *starts) = cotangents, operands
        return [dynamic_update_slice(zeros_of(x.aval), ct, starts), *[None] * len(starts)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x, *starts), (axis, *start_axes) = operands, axes
        if all(a is NOT_MAPPED for a in start_axes):
            x = moveaxis(x, axis, 0)
            size = shape_of(x)[0]
            zero = typed_scalar(0, aval(starts[0]).dtype) if starts else np.int32(0)
            return [bind1(DynamicSlice((size, *self.slice_sizes)), x, zero, *starts)], [0]
        return batched_gather(x, axis, starts, start_axes, self.slice_sizes)


def dynamic_slice(operand: Any, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> Any:
    """Return the block of size ``slice_sizes`` of ``operand`` that begins at ``start_indices``.

    The indices are clamped so that the block lies within the operand.
    """
    sizes = whole_numbers(slice_sizes, "slice_sizes of dynamic_slice")
    return bind1(DynamicSlice(sizes), operand, *_index_scalars(start_indices))


def _index_scalars(indices: Sequence[Any]) -> list[Any]:
    return [integer_array(i, _INDEX_DTYPE)[()] if i.__class__ is int else i for i in indices]


_INDEX_DTYPE = np.dtype("int32")


class DynamicUpdateSlice(Operation, name="dynamic_update_slice"):
    """First operand with a block replaced by the second, at indices that are operands too."""

    accepts_keys = True

    taylor_rule = linear_taylor_rule

    sharding_rule = sharding_rules.update

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        x, update, *starts = operands
        require_index_scalars(self.name, starts)
        fits = len(starts) == x.ndim == update.ndim and x.dtype == update.dtype
        if not fits or any(size > have for size, have in zip(update.shape, x.shape, strict=True)):
            raise TypeError(f"cannot put {update} at {len(starts)} indices into {x}")
        return [make_aval(x.shape, x.dtype, x.weak_type and update.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.emit("stablehlo.dynamic_update_slice", operands)  # type: ignore[no-any-return]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        x, update, *starts = primals
        tx, tu, *_ = tangents
        z = bind1(self, *primals)
        if tx is ZERO and tu is ZERO:
            return [z], [ZERO]
        out_tangents = [zeros_of(aval(v)) if t is ZERO else t for v, t in ((x, tx), (update, tu))]
        return [z], [bind1(self, *out_tangents, *starts)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x, update, *starts) = cotangents, operands
        sizes = type_of(update).shape
        ct_x = dynamic_update_slice(ct, zeros_of(type_of(update)), starts) if is_linear(x) else None
        ct_update = dynamic_slice(ct, starts, sizes) if is_linear(update) else None
        return [ct_x, ct_update, *[None] * len(starts)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        # Writing a block is a scatter of one window: the batched form is a scatter with batching dimensions.
        (x, update, *starts), (axis, update_axis, *start_axes) = operands, axes
        size = mapped_size(operands, axes)
        x = mapped_in_front(x, axis, size)
        update = mapped_in_front(update, update_axis, size)
        if all(s is NOT_MAPPED for s in start_axes):
            zero = typed_scalar(0, aval(starts[0]).dtype) if starts else np.int32(0)
            return [bind1(self, x, update, zero, *starts)], [0]
        rank = len(shape_of(x)) - 1
        block = shape_of(update)[1:]
        clamped = [clamp(0, s, have - want) for s, have, want in zip(starts, shape_of(x)[1:], block, strict=True)]
        indices = stacked_indices(clamped, start_axes, size)
        numbers = indexing.ScatterDimensionNumbers(tuple(range(1, rank + 1)), (), tuple(range(1, rank + 1)), (0,), (0,))
        return [bind1(indexing.Scatter(numbers, "clip"), x, indices, update)], [0]


def dynamic_update_slice(operand: Any, update: Any, start_indices: Sequence[Any]) -> Any:
    """Return ``operand`` with the block that begins at ``start_indices`` replaced by ``update``.

    The indices are clamped so that the block lies within the operand.
    """
    return bind1(DynamicUpdateSlice(), operand, update, *_index_scalars(start_indices))
