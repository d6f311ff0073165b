"""Gather and scatter: reading and writing elements at computed indices."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..dtypes import iinfo, is_differentiable, kind_of
from ..ir.avals import ShapedArray, shaped
from ..ir.markers import NOT_MAPPED, ZERO
from ..ir.operation import Operation
from ..records.traits import KERNEL
from ..trace.bind import bind1
from ..xla.mlir.builder import attribute, integers
from . import arithmetic, sharding_rules
from .comparisons import eq
from .dimension_numbers import GatherDimensionNumbers as GatherDimensionNumbers
from .dimension_numbers import ScatterDimensionNumbers as ScatterDimensionNumbers
from .dimension_numbers import check_gather, check_scatter
from .linear import pushed
from .requirements import is_linear, require_indices, require_kind
from .selection import select
from .shapes import broadcasted_iota, full, mapped_in_front, moveaxis, reshape, zeros_of
from .slicing import concatenate
from .sums import sum_tangents
from .values import aval, shape_of, typed_scalar
from .whole_numbers import whole_numbers


class Gather(Operation, name="gather"):
    """Blocks of the operand at indices; the last axis of the indices holds the coordinates.

    ``mode`` defines blocks that leave the operand: "clip" moves them inside, "fill" fills them with ``fill_value``
    (NaN where it is None, see :func:`default_fill`), "promise_in_bounds" promises that there are none.
    """

    takes_keys = True

    dimension_numbers: GatherDimensionNumbers
    slice_sizes: tuple[int, ...]
    mode: str = "clip"
    fill_value: Any = None
    indices_are_sorted: bool = False
    unique_indices: bool = False

    taylor_rule = pushed

    sharding_rule = sharding_rules.gathered

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        x, indices = operands
        require_indices(self.name, [indices])
        numbers = self.dimension_numbers
        check_gather(numbers, self.slice_sizes, x.shape, indices.shape)
        dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
        window = iter([size for axis, size in enumerate(self.slice_sizes) if axis not in dropped])
        batch = iter(indices.shape[:-1])
        rank = len(numbers.offset_dims) + indices.ndim - 1
        shape = tuple(next(window) if axis in numbers.offset_dims else next(batch) for axis in range(rank))
        return [shaped(shape, x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        numbers = self.dimension_numbers
        text = (
            f"#stablehlo.gather<offset_dims = {list(numbers.offset_dims)}, "
            f"collapsed_slice_dims = {list(numbers.collapsed_slice_dims)}, "
            f"operand_batching_dims = {list(numbers.operand_batching_dims)}, "
            f"start_indices_batching_dims = {list(numbers.start_indices_batching_dims)}, "
            f"start_index_map = {list(numbers.start_index_map)}, index_vector_dim = {builder.in_avals[1].ndim - 1}>"
        )
        attributes = {"dimension_numbers": attribute(text), "slice_sizes": integers(self.slice_sizes)}
        if self.indices_are_sorted:
            attributes["indices_are_sorted"] = attribute("true")
        blocks = builder.emit("stablehlo.gather", operands, attributes)
        if self.mode != "fill" or not builder.out_avals[0].size:
            return blocks  # type: ignore[no-any-return]
        (out,) = builder.out_avals
        fill = default_fill(out.dtype) if self.fill_value is None else self.fill_value
        filling = builder.constant(np.asarray(fill).astype(out.dtype), out)
        return builder.emit("stablehlo.select", [self._inside(builder, operands[1]), *blocks, filling])  # type: ignore[no-any-return]

    def _inside(self, builder: Any, indices: Any) -> Any:
        """Return whether each element of the result comes from a block that lies in the operand."""
        x, index_aval = builder.in_avals
        (out,) = builder.out_avals
        limits = [x.shape[axis] - self.slice_sizes[axis] for axis in self.dimension_numbers.start_index_map]
        low, high = bounds_of_indices(builder, index_aval, limits)
        truth = shaped(index_aval.shape, np.dtype("bool"))
        above, below = (
            builder.emit1("stablehlo.compare", [indices, bound], truth, {"comparison_direction": attribute(direction)})
            for bound, direction in (
                (low, "#stablehlo<comparison_direction GE>"),
                (high, "#stablehlo<comparison_direction LE>"),
            )
        )
        is_coordinate_inside = builder.emit1("stablehlo.and", [above, below], truth)
        scalar, block_aval = shaped((), truth.dtype), shaped(index_aval.shape[:-1], truth.dtype)
        reduce_op = builder.operation(
            "stablehlo.reduce",
            [is_coordinate_inside, builder.constant(True, scalar)],
            {"dimensions": integers((index_aval.ndim - 1,))},
            [block_aval],
            regions=1,
        )
        builder.fill_region(reduce_op, [scalar] * 2, lambda p, q: [builder.emit1("stablehlo.and", [p, q], scalar)])
        places = [axis for axis in range(out.ndim) if axis not in self.dimension_numbers.offset_dims]
        return builder.broadcast(reduce_op.results[0], shaped(out.shape, truth.dtype), places)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x, indices), (t, _) = primals, tangents
        # a tangent is filled with zeros
        linear = dataclasses.replace(self, fill_value=0) if self.mode == "fill" else self
        return [bind1(self, x, indices)], [ZERO if t is ZERO else bind1(linear, t, indices)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x, indices) = cotangents, operands
        n = self.dimension_numbers
        scatter = ScatterDimensionNumbers(
            n.offset_dims,
            n.collapsed_slice_dims,
            n.start_index_map,
            n.operand_batching_dims,
            n.start_indices_batching_dims,
        )
        # clipping determines the target of each cotangent, and filled elements have none
        mode = "drop" if self.mode == "fill" else "clip"
        add = ScatterAdd(scatter, mode, self.indices_are_sorted, self.unique_indices)
        return [bind1(add, zeros_of(x.aval), indices, ct), None]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x, indices), (axis, index_axis) = operands, axes
        n = self.dimension_numbers
        if index_axis is NOT_MAPPED:
            x = moveaxis(x, axis, 0)
            numbers = GatherDimensionNumbers(
                (0, *_plus(n.offset_dims)),
                _plus(n.collapsed_slice_dims),
                _plus(n.start_index_map),
                _plus(n.operand_batching_dims),
                n.start_indices_batching_dims,
            )
            return [bind1(self._with(numbers, (shape_of(x)[0], *self.slice_sizes)), x, indices)], [0]
        indices = moveaxis(indices, index_axis, 0)
        if axis is NOT_MAPPED:
            numbers = n._replace(
                offset_dims=_plus(n.offset_dims), start_indices_batching_dims=_plus(n.start_indices_batching_dims)
            )
            return [bind1(self._with(numbers, self.slice_sizes), x, indices)], [0]
        numbers = GatherDimensionNumbers(
            _plus(n.offset_dims),
            _plus(n.collapsed_slice_dims),
            _plus(n.start_index_map),
            (0, *_plus(n.operand_batching_dims)),
            (0, *_plus(n.start_indices_batching_dims)),
        )
        x = moveaxis(x, axis, 0)
        batch_block_size = min(1, shape_of(x)[0])  # an empty batch has no block to take
        return [bind1(self._with(numbers, (batch_block_size, *self.slice_sizes)), x, indices)], [0]

    def _with(self, numbers: GatherDimensionNumbers, slice_sizes: tuple[int, ...]) -> Gather:
        """Return the same operation for a batch, without promises about the order or uniqueness of the indices."""
        return Gather(numbers, slice_sizes, self.mode, self.fill_value)


def default_fill(dtype: np.dtype[Any]) -> Any:
    """Return the fill value of a dtype: NaN, the smallest signed integer, the largest unsigned integer, or true."""
    if is_differentiable(dtype):
        return np.asarray(np.nan).astype(dtype)[()]
    if kind_of(dtype) == "b":
        return np.True_
    limits = iinfo(dtype)
    return dtype.type(limits.max if kind_of(dtype) == "u" else limits.min)


def bounds_of_indices(builder: Any, index_aval: ShapedArray, limits: Sequence[int]) -> tuple[Any, Any]:
    """Return zeros and the largest valid indices, as MLIR values of the indices' type."""
    most = int(iinfo(index_aval.dtype).max)
    row = builder.constant(np.array([min(n, most) for n in limits]), shaped((len(limits),), index_aval.dtype))
    high = builder.broadcast(row, index_aval, (index_aval.ndim - 1,))
    low = builder.broadcast(builder.constant(0, shaped((), index_aval.dtype)), index_aval)
    return low, high


def gather(
    operand: Any, start_indices: Any, dimension_numbers: GatherDimensionNumbers, slice_sizes: Sequence[int]
) -> Any:
    """Return blocks of ``operand`` of size ``slice_sizes`` at ``start_indices``.

    The last axis of ``start_indices`` holds the coordinates.
    """
    return bind1(Gather(dimension_numbers, whole_numbers(slice_sizes, "slice_sizes of gather")), operand, start_indices)


class ScatterFamily(Operation):
    """Base of operations that merge blocks into the operand at indices.

    ``mode`` defines blocks that leave the operand: "drop" leaves them out, "clip" moves them inside.
    ``unique_indices`` promises that no two fall on one element.
    """

    traits = KERNEL
    dimension_numbers: ScatterDimensionNumbers
    mode: str
    indices_are_sorted: bool = False
    unique_indices: bool = False

    #: The kinds of dtypes that can be merged.
    kinds: ClassVar[str] = ""

    sharding_rule = sharding_rules.scattered

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        x, indices, updates = operands
        if self.kinds:
            require_kind(self.name, x.dtype, self.kinds)
        require_indices(self.name, [indices])
        if x.dtype != updates.dtype:
            raise TypeError(f"{self.name} takes an operand and updates of one dtype, got {x} and {updates}")
        check_scatter(self.name, self.dimension_numbers, x.shape, indices.shape, updates.shape)
        return [shaped(x.shape, x.dtype)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        n = self.dimension_numbers
        x, indices, updates = operands
        if self.mode == "clip":
            indices = self._clamped(builder, indices)
        text = (
            f"#stablehlo.scatter<update_window_dims = {list(n.update_window_dims)}, "
            f"inserted_window_dims = {list(n.inserted_window_dims)}, "
            f"input_batching_dims = {list(n.operand_batching_dims)}, "
            f"scatter_indices_batching_dims = {list(n.scatter_indices_batching_dims)}, "
            f"scatter_dims_to_operand_dims = {list(n.scatter_dims_to_operand_dims)}, "
            f"index_vector_dim = {builder.in_avals[1].ndim - 1}>"
        )
        scatter_op = builder.operation(
            "stablehlo.scatter",
            [x, indices, updates],
            {
                "scatter_dimension_numbers": attribute(text),
                "indices_are_sorted": attribute("true" if self.indices_are_sorted else "false"),
                "unique_indices": attribute("true" if self.unique_indices else "false"),
            },
            regions=1,
        )
        scalar = shaped((), builder.out_avals[0].dtype)
        builder.fill_region(scatter_op, [scalar] * 2, lambda old, new: [self.merge(builder, old, new, scalar)])
        return list(scatter_op.results)

    def merge(self, builder: Any, old: Any, new: Any, scalar: ShapedArray) -> Any:
        """Emit the value of an element after an update falls on it."""
        raise NotImplementedError

    def _clamped(self, builder: Any, indices: Any) -> Any:
        operand, index_aval, updates = builder.in_avals
        n = self.dimension_numbers
        dropped = {*n.inserted_window_dims, *n.operand_batching_dims}
        window_axes = [axis for axis in range(operand.ndim) if axis not in dropped]
        window = dict(zip(window_axes, (updates.shape[axis] for axis in n.update_window_dims), strict=True))
        limits = [operand.shape[axis] - window.get(axis, 1) for axis in n.scatter_dims_to_operand_dims]
        low, high = bounds_of_indices(builder, index_aval, limits)
        return builder.emit1("stablehlo.clamp", [low, indices, high], index_aval)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = mapped_size(operands, axes)
        x, indices, updates = (mapped_in_front(v, axis, size) for v, axis in zip(operands, axes, strict=True))
        n = self.dimension_numbers
        numbers = ScatterDimensionNumbers(
            _plus(n.update_window_dims),
            _plus(n.inserted_window_dims),
            _plus(n.scatter_dims_to_operand_dims),
            (0, *_plus(n.operand_batching_dims)),
            (0, *_plus(n.scatter_indices_batching_dims)),
        )
        batched = type(self)(numbers, self.mode, unique_indices=self.unique_indices)
        return [bind1(batched, x, indices, updates)], [0]

    def gathered(self, x: Any, indices: Any, updates: ShapedArray) -> Any:
        """Gather the operand's elements at the positions of the updates; zero where an update is dropped."""
        n = self.dimension_numbers
        dropped = {*n.inserted_window_dims, *n.operand_batching_dims}
        window = iter([updates.shape[axis] for axis in n.update_window_dims])
        sizes = tuple(min(1, n) if axis in dropped else next(window) for axis, n in enumerate(shape_of(x)))
        numbers = GatherDimensionNumbers(
            n.update_window_dims,
            n.inserted_window_dims,
            n.scatter_dims_to_operand_dims,
            n.operand_batching_dims,
            n.scatter_indices_batching_dims,
        )
        mode = "clip" if self.mode == "clip" else "fill"
        return bind1(Gather(numbers, sizes, mode, 0 if mode == "fill" else None), x, indices)


class ScatterAdd(ScatterFamily, name="scatter_add"):
    """Updates added to the operand at indices."""

    taylor_rule = pushed

    def merge(self, builder: Any, old: Any, new: Any, scalar: ShapedArray) -> Any:
        return builder.emit1("stablehlo.add", [old, new], scalar)

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return operands[2].size

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        x, indices, updates = primals
        tx, _, tu = tangents
        z = bind1(self, x, indices, updates)
        if tu is ZERO:
            return [z], [tx]
        base = zeros_of(aval(x)) if tx is ZERO else tx
        return [z], [bind1(self, base, indices, tu)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x, indices, updates) = cotangents, operands
        ct_updates = self.gathered(ct, indices, updates.aval) if is_linear(updates) else None
        return [ct if is_linear(x) else None, None, ct_updates]


class Scatter(ScatterFamily, name="scatter"):
    """The operand with elements replaced by updates at indices; by one of them where several have one index."""

    takes_keys = True

    taylor_rule = pushed

    def merge(self, builder: Any, old: Any, new: Any, scalar: ShapedArray) -> Any:
        return new

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        # The operand's tangent remains where nothing was written; of several updates to one element that of the last.
        x, indices, updates = primals
        tx, _, tu = tangents
        parts = []
        if tx is not ZERO:
            zeros = zeros_of(aval(updates))
            parts.append(bind1(self, tx, indices, zeros))
        if tu is not ZERO:
            add = ScatterAdd(self.dimension_numbers, self.mode, self.indices_are_sorted, self.unique_indices)
            parts.append(bind1(add, zeros_of(aval(x)), indices, self._put_only(x, indices, updates, tu)))
        return [bind1(self, x, indices, updates)], [sum_tangents(parts)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        # Linear in the operand for zero updates: its cotangent is zero where an update was written.
        (ct,), (_, indices, updates) = cotangents, operands
        return [bind1(self, ct, indices, zeros_of(aval(updates))), None, None]

    def _put_only(self, x: Any, indices: Any, updates: Any, tangents: Any) -> Any:
        """Return the tangents of the updates, zero where another update overwrote one.

        Scattering distinct numbers in the same way shows which updates remain.
        """
        if self.unique_indices or math.prod(shape_of(indices)[:-1]) <= 1:
            return tangents
        shape = shape_of(updates)
        counted = broadcasted_iota(np.int32, (math.prod(shape),), 0)
        numbers = reshape(arithmetic.add(counted, 1), shape)
        put = bind1(self, full(shape_of(x), np.int32(0)), indices, numbers)
        wins = eq(self.gathered(put, indices, aval(updates)), numbers)
        return select(wins, tangents, typed_scalar(0, aval(tangents).dtype))


def _plus(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(axis + 1 for axis in axes)


def mapped_size(operands: Sequence[Any], axes: Sequence[Any]) -> int:
    """Return the batch size of operands mapped over ``axes``."""
    sizes = (shape_of(x)[axis] for x, axis in zip(operands, axes, strict=True) if axis is not NOT_MAPPED)
    return int(next(sizes))


def stacked_indices(starts: Sequence[Any], axes: Sequence[Any], size: int) -> Any:
    """Stack scalar indices, each mapped or not, into an array of shape (size, number of indices)."""
    columns = [reshape(mapped_in_front(s, axis, size), (size, 1)) for s, axis in zip(starts, axes, strict=True)]
    return concatenate(columns, 1)


def batched_gather(
    x: Any, axis: Any, starts: Sequence[Any], start_axes: Sequence[Any], slice_sizes: tuple[int, ...]
) -> tuple[list[Any], list[Any]]:
    """Return blocks at positions that differ along the mapped axis, as a gather."""
    size = next(shape_of(s)[0] for s, a in zip(starts, start_axes, strict=True) if a is not NOT_MAPPED)
    indices = stacked_indices(starts, start_axes, size)
    rank = len(slice_sizes)
    if axis is NOT_MAPPED:
        numbers = GatherDimensionNumbers(tuple(range(1, rank + 1)), (), tuple(range(rank)))
        return [gather(x, indices, numbers, slice_sizes)], [0]
    axes = tuple(range(1, rank + 1))
    numbers = GatherDimensionNumbers(axes, (), axes, (0,), (0,))
    x = moveaxis(x, axis, 0)
    return [gather(x, indices, numbers, (min(1, shape_of(x)[0]), *slice_sizes))], [0]
