"""Gather and scatter: reading and writing elements at computed indices."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..dtypes import cast_on_host, dtype_kind, iinfo, is_differentiable
from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import NOT_MAPPED, ZERO
from ..ir.operation import Operation
from ..records.traits import KERNEL
from ..trace.bind import bind1
from ..xla.mlir.builder import attribute, int64_array
from . import arithmetic, sharding_rules
from .comparisons import eq
from .dimension_numbers import GatherDimensionNumbers as GatherDimensionNumbers
from .dimension_numbers import ScatterDimensionNumbers as ScatterDimensionNumbers
from .dimension_numbers import check_gather, check_scatter
from .integer_arguments import whole_numbers
from .linear_operation import linear_taylor_rule
from .operand_checks import is_linear, require_indices, require_kind
from .operand_values import aval, shape_of, typed_scalar
from .selection import select
from .shapes import broadcasted_iota, expand_dims, full, mapped_in_front, moveaxis, reshape, zeros_of
from .slicing import concatenate
from .tangent_arithmetic import sum_tangents


class Gather(Operation, name="gather"):
    """Blocks of the operand at indices; the last axis of the indices holds the coordinates.

    ``mode`` defines blocks that leave the operand: "clip" moves them inside, "fill" fills them with ``fill_value``
    (NaN where it is None, see :func:`default_fill`), "promise_in_bounds" promises that there are none.
    """

    accepts_keys = True

    dimension_numbers: GatherDimensionNumbers
    slice_sizes: tuple[int, ...]
    mode: str = "clip"
    fill_value: Any = None
    indices_are_sorted: bool = False
    unique_indices: bool = False

    taylor_rule = linear_taylor_rule

    sharding_rule = sharding_rules.gather

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
        return [make_aval(shape, x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        numbers = self.dimension_numbers
        text = (
            f"#stablehlo.gather<offset_dims = {list(numbers.offset_dims)}, "
            f"collapsed_slice_dims = {list(numbers.collapsed_slice_dims)}, "
            f"operand_batching_dims = {list(numbers.operand_batching_dims)}, "
            f"start_indices_batching_dims = {list(numbers.start_indices_batching_dims)}, "
            f"start_index_map = {list(numbers.start_index_map)}, index_vector_dim = {builder.in_avals[1].ndim - 1}>"
        )
        attributes = {"dimension_numbers": attribute(text), "slice_sizes": int64_array(self.slice_sizes)}
        if self.indices_are_sorted:
            attributes["indices_are_sorted"] = attribute("true")
        blocks = builder.emit("stablehlo.gather", operands, attributes)
        if self.mode != "fill" or not builder.out_avals[0].size:
            return blocks  # type: ignore[no-any-return]
        (out,) = builder.out_avals
        fill = default_fill(out.dtype) if self.fill_value is None else self.fill_value
        filling = builder.constant(cast_on_host(fill, out.dtype), out)
        return builder.emit("stablehlo.select", [self._is_inside(builder, operands[1]), *blocks, filling])  # type: ignore[no-any-return]

    def _is_inside(self, builder: Any, indices: Any) -> Any:
        """Return an MLIR boolean for each element of the result: whether its block lies within the operand.

        ``indices`` is the MLIR value of the indices.
        """
        x, index_aval = builder.in_avals
        (out,) = builder.out_avals
        limits = [x.shape[axis] - self.slice_sizes[axis] for axis in self.dimension_numbers.start_index_map]
        low, high = index_bounds(builder, index_aval, limits)
        truth = make_aval(index_aval.shape, np.dtype("bool"))
        above, below = (
            builder.emit1("stablehlo.compare", [indices, bound], truth, {"comparison_direction": attribute(direction)})
            for bound, direction in (
                (low, "#stablehlo<comparison_direction GE>"),
                (high, "#stablehlo<comparison_direction LE>"),
            )
        )
        is_coordinate_inside = builder.emit1("stablehlo.and", [above, below], truth)
        scalar, block_aval = make_aval((), truth.dtype), make_aval(index_aval.shape[:-1], truth.dtype)
        reduce_op = builder.operation(
            "stablehlo.reduce",
            [is_coordinate_inside, builder.constant(True, scalar)],
            {"dimensions": int64_array((index_aval.ndim - 1,))},
            [block_aval],
            regions=1,
        )
        builder.fill_region(reduce_op, [scalar] * 2, lambda p, q: [builder.emit1("stablehlo.and", [p, q], scalar)])
        places = [axis for axis in range(out.ndim) if axis not in self.dimension_numbers.offset_dims]
        return builder.broadcast(reduce_op.results[0], make_aval(out.shape, truth.dtype), places)

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
                (0, *_increment_axes(n.offset_dims)),
                _increment_axes(n.collapsed_slice_dims),
                _increment_axes(n.start_index_map),
                _increment_axes(n.operand_batching_dims),
                n.start_indices_batching_dims,
            )
            return [bind1(self._with_numbers(numbers, (shape_of(x)[0], *self.slice_sizes)), x, indices)], [0]
        indices = moveaxis(indices, index_axis, 0)
        if axis is NOT_MAPPED:
            numbers = n._replace(
                offset_dims=_increment_axes(n.offset_dims),
                start_indices_batching_dims=_increment_axes(n.start_indices_batching_dims),
            )
            return [bind1(self._with_numbers(numbers, self.slice_sizes), x, indices)], [0]
        numbers = GatherDimensionNumbers(
            _increment_axes(n.offset_dims),
            _increment_axes(n.collapsed_slice_dims),
            _increment_axes(n.start_index_map),
            (0, *_increment_axes(n.operand_batching_dims)),
            (0, *_increment_axes(n.start_indices_batching_dims)),
        )
        x = moveaxis(x, axis, 0)
        batch_block_size = min(1, shape_of(x)[0])  # an empty batch has no block to take
        return [bind1(self._with_numbers(numbers, (batch_block_size, *self.slice_sizes)), x, indices)], [0]

    def _with_numbers(self, numbers: GatherDimensionNumbers, slice_sizes: tuple[int, ...]) -> Gather:
        """Return the same operation for a batch, with these dimension numbers and slice sizes.

        Promises about the order and uniqueness of the indices are dropped.
        """
        return Gather(numbers, slice_sizes, self.mode, self.fill_value)


def default_fill(dtype: np.dtype[Any]) -> Any:
    """Return the fill value of a dtype: NaN, the smallest signed integer, the largest unsigned integer, or true."""
    if is_differentiable(dtype):
        return cast_on_host(np.nan, dtype)[()]
    if dtype_kind(dtype) == "b":
        return np.True_
    limits = iinfo(dtype)
    return dtype.type(limits.max if dtype_kind(dtype) == "u" else limits.min)


def index_bounds(builder: Any, index_aval: ShapedArray, limits: Sequence[int]) -> tuple[Any, Any]:
    """Return zeros and the largest valid indices, as MLIR values of the indices' type ``index_aval``.

    ``limits`` are the largest valid coordinates, one for each element along the last axis of the indices.
    """
    most = int(iinfo(index_aval.dtype).max)
    row = builder.constant(np.array([min(n, most) for n in limits]), make_aval((len(limits),), index_aval.dtype))
    high = builder.broadcast(row, index_aval, (index_aval.ndim - 1,))
    low = builder.broadcast(builder.constant(0, make_aval((), index_aval.dtype)), index_aval)
    return low, high


def gather(
    operand: Any, start_indices: Any, dimension_numbers: GatherDimensionNumbers, slice_sizes: Sequence[int]
) -> Any:
    """Return blocks of ``operand`` of size ``slice_sizes`` at ``start_indices``.

    The last axis of ``start_indices`` holds the coordinates; ``dimension_numbers`` says to which axes they belong.
    Blocks that would leave the operand are moved inside.
    """
    return bind1(Gather(dimension_numbers, whole_numbers(slice_sizes, "slice_sizes of gather")), operand, start_indices)


class ScatterFamily(Operation):
    """Base of operations that combine blocks of updates with the operand at indices.

    ``mode`` defines what happens to blocks that leave the operand: "drop" ignores them, "clip" moves them inside.
    ``unique_indices`` promises that no two updates fall on one element.
    """

    traits = KERNEL
    dimension_numbers: ScatterDimensionNumbers
    mode: str
    indices_are_sorted: bool = False
    unique_indices: bool = False

    #: The kinds of dtypes that can be merged.
    kinds: ClassVar[str] = ""

    sharding_rule = sharding_rules.scatter

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        x, indices, updates = operands
        if self.kinds:
            require_kind(self.name, x.dtype, self.kinds)
        require_indices(self.name, [indices])
        if x.dtype != updates.dtype:
            raise TypeError(f"{self.name} takes an operand and updates of one dtype, got {x} and {updates}")
        check_scatter(self.name, self.dimension_numbers, x.shape, indices.shape, updates.shape)
        return [make_aval(x.shape, x.dtype)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        n = self.dimension_numbers
        x, indices, updates = operands
        if self.mode == "clip":
            indices = self._clamp_indices(builder, indices)
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
        scalar = make_aval((), builder.out_avals[0].dtype)
        builder.fill_region(scatter_op, [scalar] * 2, lambda old, new: [self.merge(builder, old, new, scalar)])
        return list(scatter_op.results)

    def merge(self, builder: Any, old: Any, new: Any, scalar: ShapedArray) -> Any:
        """Return the MLIR scalar that replaces the element ``old`` when the update ``new`` falls on it.

        ``scalar`` is the type of both.
        """
        raise NotImplementedError

    def _clamp_indices(self, builder: Any, indices: Any) -> Any:
        operand, index_aval, updates = builder.in_avals
        n = self.dimension_numbers
        dropped = {*n.inserted_window_dims, *n.operand_batching_dims}
        window_axes = [axis for axis in range(operand.ndim) if axis not in dropped]
        window = dict(zip(window_axes, (updates.shape[axis] for axis in n.update_window_dims), strict=True))
        limits = [operand.shape[axis] - window.get(axis, 1) for axis in n.scatter_dims_to_operand_dims]
        low, high = index_bounds(builder, index_aval, limits)
        return builder.emit1("stablehlo.clamp", [low, indices, high], index_aval)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = mapped_size(operands, axes)
        x, indices, updates = (mapped_in_front(v, axis, size) for v, axis in zip(operands, axes, strict=True))
        n = self.dimension_numbers
        numbers = ScatterDimensionNumbers(
            _increment_axes(n.update_window_dims),
            _increment_axes(n.inserted_window_dims),
            _increment_axes(n.scatter_dims_to_operand_dims),
            (0, *_increment_axes(n.operand_batching_dims)),
            (0, *_increment_axes(n.scatter_indices_batching_dims)),
        )
        batched = type(self)(numbers, self.mode, unique_indices=self.unique_indices)
        return [bind1(batched, x, indices, updates)], [0]

    def gather_at_updates(self, x: Any, indices: Any, updates: ShapedArray) -> Any:
        """Return the elements of ``x`` at the positions of the updates, in the shape of the updates.

        ``updates`` is the type of the updates. Elements are zero where an update is dropped.
        """
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
    """Operand with updates added to its elements at indices."""

    taylor_rule = linear_taylor_rule

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
        ct_updates = self.gather_at_updates(ct, indices, updates.aval) if is_linear(updates) else None
        return [ct if is_linear(x) else None, None, ct_updates]


class Scatter(ScatterFamily, name="scatter"):
    """Operand with its elements at indices replaced by updates; one of them wins where several have one index."""

    accepts_keys = True

    taylor_rule = linear_taylor_rule

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
            parts.append(bind1(add, zeros_of(aval(x)), indices, self._mask_overwritten(x, indices, updates, tu)))
        return [bind1(self, x, indices, updates)], [sum_tangents(parts)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        # Linear in the operand for zero updates: its cotangent is zero where an update was written.
        (ct,), (_, indices, updates) = cotangents, operands
        return [bind1(self, ct, indices, zeros_of(aval(updates))), None, None]

    def _mask_overwritten(self, x: Any, indices: Any, updates: Any, tangents: Any) -> Any:
        """Return the tangents of the updates, zero for each update that another one overwrote.

        Scattering distinct numbers in the same way shows which updates remain.
        """
        if self.unique_indices or math.prod(shape_of(indices)[:-1]) <= 1:
            return tangents
        shape = shape_of(updates)
        iota = broadcasted_iota(np.int32, (math.prod(shape),), 0)
        numbers = reshape(arithmetic.add(iota, 1), shape)
        last_writers = bind1(self, full(shape_of(x), np.int32(0)), indices, numbers)
        wins = eq(self.gather_at_updates(last_writers, indices, aval(updates)), numbers)
        return select(wins, tangents, typed_scalar(0, aval(tangents).dtype))


def take_along(x: Any, order: Any, axis: int) -> Any:
    """Return the elements of ``x`` at the positions ``order``, an array of its shape, along an axis."""
    shape = aval(x).shape
    if 0 in shape:
        return x
    batch_axes = tuple(d for d in range(len(shape)) if d != axis)
    numbers = GatherDimensionNumbers((), (axis,), (axis,), batch_axes, batch_axes)
    indices = expand_dims(order, (len(shape),))
    return gather(x, indices, numbers, (1,) * len(shape))


def _increment_axes(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(axis + 1 for axis in axes)


def mapped_size(operands: Sequence[Any], axes: Sequence[Any]) -> int:
    """Return the batch size of operands whose batch axes are ``axes``; at least one is mapped."""
    sizes = (shape_of(x)[axis] for x, axis in zip(operands, axes, strict=True) if axis is not NOT_MAPPED)
    return int(next(sizes))


def stacked_indices(starts: Sequence[Any], axes: Sequence[Any], size: int) -> Any:
    """Stack scalar indices into an array of shape (size, number of indices).

    ``axes`` are their batch axes, ``size`` is the batch size; indices without batch axis are repeated.
    """
    columns = [reshape(mapped_in_front(s, axis, size), (size, 1)) for s, axis in zip(starts, axes, strict=True)]
    return concatenate(columns, 1)


def batched_gather(
    x: Any, axis: Any, starts: Sequence[Any], start_axes: Sequence[Any], slice_sizes: tuple[int, ...]
) -> tuple[list[Any], list[Any]]:
    """Return a batch of slices at start indices that are mapped, computed as a gather, and its batch axis.

    ``axis`` is the batch axis of ``x``, ``start_axes`` are those of the scalar indices ``starts``. Returns lists of one
    result and one batch axis, as a batching rule does.
    """
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
