"""Operations that move, repeat, join and sum elements: all linear."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import see
from ..ir.avals import ShapedArray, shaped
from ..ir.markers import NOT_MAPPED, ZERO
from ..ir.operation import Operation
from ..trace.bind import bind, bind1
from ..xla.builder import attribute, integers
from . import arithmetic, elementwise, families
from .values import aval


class AddAny(Operation, name="add_any"):
    """The sum of two tangents or cotangents."""

    taylor_rule = families.pushed

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        x, y = operands
        if x.shape != y.shape or x.dtype != y.dtype:
            raise TypeError(f"add_any takes operands of one type, got {x} and {y}")
        return [x if x is y else shaped(x.shape, x.dtype)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.emit("stablehlo.add", operands)  # type: ignore[no-any-return]

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return results[0].size

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *primals)], [families.sum_tangents(tangents)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,) = cotangents
        return [ct if families.is_linear(x) else None for x in operands]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = next(aval(x).shape[a] for x, a in zip(operands, axes, strict=True) if a is not NOT_MAPPED)
        return [bind1(self, *(mapped_in_front(x, a, size) for x, a in zip(operands, axes, strict=True)))], [0]


ADD_ANY = AddAny()


class BroadcastInDim(families.Linear, name="broadcast_in_dim"):
    """Spread over a larger shape: operand axis i becomes result axis broadcast_dimensions[i]."""

    shape: tuple[int, ...]
    broadcast_dimensions: tuple[int, ...]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        dimensions = self.broadcast_dimensions
        fits = len(dimensions) == x.ndim == len(set(dimensions)) and all(
            0 <= axis < len(self.shape) and size in (1, self.shape[axis])
            for size, axis in zip(x.shape, dimensions, strict=True)
        )
        if not fits:
            raise TypeError(f"cannot broadcast shape {x.shape} to {self.shape} along {self.broadcast_dimensions}")
        return [shaped(self.shape, x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return [builder.broadcast(operands[0], builder.out_avals[0], self.broadcast_dimensions)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        # Each element was copied along the new and the stretched axes: its cotangent is the sum of the copies'.
        (ct,), (x,) = cotangents, operands
        new = [axis for axis in range(len(self.shape)) if axis not in self.broadcast_dimensions]
        stretched = [
            axis
            for size, axis in zip(x.aval.shape, self.broadcast_dimensions, strict=True)
            if size == 1 and self.shape[axis] != 1
        ]
        summed = reduce_sum(ct, tuple(sorted(new + stretched)))
        return [reshape(summed, x.aval.shape)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        x = moveaxis(x, axis, 0)
        shape = (aval(x).shape[0], *self.shape)
        return [broadcast_in_dim(x, shape, (0, *(d + 1 for d in self.broadcast_dimensions)))], [0]


def broadcast_in_dim(operand: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> Any:
    """Spread ``operand`` over ``shape``; its axis i becomes axis ``broadcast_dimensions[i]`` of the result."""
    return bind1(BroadcastInDim(tuple(map(int, shape)), tuple(map(int, broadcast_dimensions))), operand)


def expand_dims(x: Any, dimensions: Sequence[int]) -> Any:
    """Insert axes of size 1 so that they stand at ``dimensions`` of the result."""
    if not dimensions:
        return x
    shape = aval(x).shape
    rank = len(shape) + len(dimensions)
    new = {d % rank for d in dimensions}
    kept = [d for d in range(rank) if d not in new]
    sizes = iter(shape)
    return broadcast_in_dim(x, [1 if d in new else next(sizes) for d in range(rank)], kept)


def stretch_axis(x: Any, axis: int, size: int) -> Any:
    """Repeat an axis of size 1 so that it has ``size``."""
    shape = aval(x).shape
    if shape[axis] == size:
        return x
    return broadcast_in_dim(x, (*shape[:axis], size, *shape[axis + 1 :]), range(len(shape)))


class Reshape(families.Linear, name="reshape"):
    """The same elements in row-major order, in another shape."""

    new_sizes: tuple[int, ...]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        if math.prod(self.new_sizes) != x.size:
            raise TypeError(f"cannot reshape shape {x.shape} ({x.size} elements) to {self.new_sizes}")
        return [shaped(self.new_sizes, x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.emit("stablehlo.reshape", operands)  # type: ignore[no-any-return]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x,) = cotangents, operands
        return [reshape(ct, x.aval.shape)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        x = moveaxis(x, axis, 0)
        return [reshape(x, (aval(x).shape[0], *self.new_sizes))], [0]


def reshape(operand: Any, new_sizes: Sequence[int]) -> Any:
    """``operand`` with shape ``new_sizes``, which has as many elements."""
    sizes = tuple(map(int, new_sizes))
    if aval(operand).shape == sizes:
        return operand
    return bind1(Reshape(sizes), operand)


class Squeeze(families.Linear, name="squeeze"):
    """Drop axes of size 1."""

    dimensions: tuple[int, ...]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        families.require_axes(self.name, self.dimensions, x.shape)
        bad = [d for d in self.dimensions if x.shape[d] != 1]
        if bad:
            raise ValueError(f"cannot squeeze axis {bad[0]} of shape {x.shape}: its size is not 1")
        return [shaped(_without(x.shape, self.dimensions), x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.emit("stablehlo.reshape", operands)  # type: ignore[no-any-return]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x,) = cotangents, operands
        return [reshape(ct, x.aval.shape)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        return [squeeze(moveaxis(x, axis, 0), tuple(d + 1 for d in self.dimensions))], [0]


def squeeze(array: Any, dimensions: Sequence[int]) -> Any:
    """Drop the axes ``dimensions``, which have size 1."""
    rank = len(aval(array).shape)
    axes = tuple(sorted(d % rank for d in dimensions))
    return bind1(Squeeze(axes), array) if axes else array


class Transpose(families.Linear, name="transpose"):
    """Permute axes: axis i of the result is axis permutation[i] of the operand."""

    permutation: tuple[int, ...]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        if sorted(self.permutation) != list(range(x.ndim)):
            raise TypeError(f"{self.permutation} is no permutation of the axes of shape {x.shape}")
        return [shaped(tuple(x.shape[p] for p in self.permutation), x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.emit(  # type: ignore[no-any-return]
            "stablehlo.transpose", operands, {"permutation": integers(self.permutation)}
        )

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,) = cotangents
        return [transpose(ct, tuple(int(i) for i in np.argsort(self.permutation)))]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        return [transpose(moveaxis(x, axis, 0), (0, *(p + 1 for p in self.permutation)))], [0]


def transpose(operand: Any, permutation: Sequence[int]) -> Any:
    """Permute axes: axis i of the result is axis ``permutation[i]`` of ``operand``."""
    order = tuple(map(int, permutation))
    return operand if order == tuple(range(len(aval(operand).shape))) else bind1(Transpose(order), operand)


def moveaxis(x: Any, source: int, destination: int) -> Any:
    """Move one axis, the others keeping their order."""
    rank = len(aval(x).shape)
    order = [axis for axis in range(rank) if axis != source]
    order.insert(destination, source)
    return transpose(x, order)


def mapped_in_front(x: Any, axis: Any, size: int) -> Any:
    """``x`` with its mapped axis in front, repeated ``size`` times when it has none."""
    if axis is NOT_MAPPED:
        shape = aval(x).shape
        return broadcast_in_dim(x, (size, *shape), range(1, len(shape) + 1))
    return moveaxis(x, axis, 0)


class ReduceSum(families.Linear, name="reduce_sum"):
    """Sum over axes."""

    axes: tuple[int, ...]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        families.require_kind(self.name, x.dtype, "ifc")
        families.require_axes(self.name, self.axes, x.shape)
        return [shaped(_without(x.shape, self.axes), x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return reduce_region(builder, operands[0], self.axes, 0, "stablehlo.add")

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return operands[0].size

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x,) = cotangents, operands
        kept = tuple(axis for axis in range(x.aval.ndim) if axis not in self.axes)
        return [broadcast_in_dim(ct, x.aval.shape, kept)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        return [bind1(ReduceSum(tuple(a + 1 for a in self.axes)), moveaxis(x, axis, 0))], [0]


def reduce_sum(operand: Any, axes: Sequence[int]) -> Any:
    """The sum of ``operand`` over ``axes``."""
    return bind1(ReduceSum(tuple(axes)), operand) if axes else operand


def reduce_region(builder: Any, value: Any, axes: Sequence[int], start: Any, combine: str) -> list[Any]:
    """Emit a ``stablehlo.reduce`` that combines elements with one binary operation."""
    scalar = shaped((), builder.in_avals[0].dtype)
    initial = builder.constant(start, scalar)
    made = builder.operation("stablehlo.reduce", [value, initial], {"dimensions": integers(axes)}, regions=1)
    builder.fill_region(made, [scalar] * 2, lambda a, b: [builder.emit1(combine, [a, b], scalar)])
    return list(made.results)


class Concatenate(Operation, name="concatenate"):
    """Join operands along an axis."""

    dimension: int

    taylor_rule = families.pushed

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        first = operands[0]
        families.require_axes(self.name, (self.dimension,), first.shape)
        for other in operands[1:]:
            same = len(other.shape) == len(first.shape) and all(
                a == b for i, (a, b) in enumerate(zip(first.shape, other.shape, strict=True)) if i != self.dimension
            )
            if not same or other.dtype != first.dtype:
                more = see("shape-mismatch")
                raise TypeError(f"cannot concatenate {first} and {other} along axis {self.dimension}{more}")
        total = sum(x.shape[self.dimension] for x in operands)
        shape = (*first.shape[: self.dimension], total, *first.shape[self.dimension + 1 :])
        return [shaped(shape, first.dtype, all(x.weak_type for x in operands))]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        at = attribute(f"{self.dimension} : i64")
        return builder.emit("stablehlo.concatenate", operands, {"dimension": at})  # type: ignore[no-any-return]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        moved = [zeros_of(aval(x)) if t is ZERO else t for x, t in zip(primals, tangents, strict=True)]
        return [bind1(self, *primals)], [bind1(self, *moved)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,) = cotangents
        parts, start = [], 0
        for x in operands:
            stop = start + families.type_of(x).shape[self.dimension]
            parts.append(slice_in_dim(ct, start, stop, self.dimension) if families.is_linear(x) else None)
            start = stop
        return parts

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = next(aval(x).shape[a] for x, a in zip(operands, axes, strict=True) if a is not NOT_MAPPED)
        moved = [mapped_in_front(x, a, size) for x, a in zip(operands, axes, strict=True)]
        return [bind1(Concatenate(self.dimension + 1), *moved)], [0]


def concatenate(operands: Sequence[Any], dimension: int) -> Any:
    """Join ``operands`` along axis ``dimension``."""
    if len(operands) == 1:
        return operands[0]
    return bind1(Concatenate(dimension), *operands)


class Slice(families.Linear, name="slice"):
    """The elements from start_indices to limit_indices in steps of strides."""

    start_indices: tuple[int, ...]
    limit_indices: tuple[int, ...]
    strides: tuple[int, ...] | None

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        strides = self.strides or (1,) * x.ndim
        bounds = list(zip(self.start_indices, self.limit_indices, x.shape, strict=False))
        complete = len(self.start_indices) == len(self.limit_indices) == len(strides) == x.ndim
        if not complete or any(not 0 <= start <= limit <= size for start, limit, size in bounds):
            raise TypeError(f"slice from {self.start_indices} to {self.limit_indices} leaves shape {x.shape}")
        shape = tuple(-(-(limit - start) // s) for (start, limit, _), s in zip(bounds, strides, strict=True))
        return [shaped(shape, x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.emit(  # type: ignore[no-any-return]
            "stablehlo.slice",
            operands,
            {
                "start_indices": integers(self.start_indices),
                "limit_indices": integers(self.limit_indices),
                "strides": integers(self.strides or (1,) * len(self.start_indices)),
            },
        )

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        # The elements that were left out get zero: pad in front, behind, and between.
        (ct,), (x,) = cotangents, operands
        strides = self.strides or (1,) * x.aval.ndim
        config = [
            (start, size - start - ((n - 1) * s + 1 if n else 0), s - 1)
            for start, size, n, s in zip(self.start_indices, x.aval.shape, aval(ct).shape, strides, strict=True)
        ]
        return [pad(ct, np.zeros((), x.aval.dtype)[()], config)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        x = moveaxis(x, axis, 0)
        size = aval(x).shape[0]
        strides = None if self.strides is None else (1, *self.strides)
        return [bind1(Slice((0, *self.start_indices), (size, *self.limit_indices), strides), x)], [0]


def slice_(operand: Any, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Any = None) -> Any:
    """The elements of ``operand`` from ``start_indices`` to ``limit_indices`` (exclusive) in steps of ``strides``."""
    steps = None if strides is None or all(s == 1 for s in strides) else tuple(map(int, strides))
    return bind1(Slice(tuple(map(int, start_indices)), tuple(map(int, limit_indices)), steps), operand)


def slice_in_dim(operand: Any, start_index: int, limit_index: int, axis: int = 0, stride: int = 1) -> Any:
    """The elements from ``start_index`` to ``limit_index`` along one axis."""
    shape = aval(operand).shape
    start, limit, strides = [0] * len(shape), list(shape), [1] * len(shape)
    start[axis], limit[axis], strides[axis] = start_index, limit_index, stride
    return slice_(operand, start, limit, strides)


class Pad(Operation, name="pad"):
    """Put a value before, behind and between the elements: (low, high, interior) for each axis; negative low and high
    crop.
    """

    padding_config: tuple[tuple[int, int, int], ...]

    taylor_rule = families.pushed

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        x, value = operands
        if x.dtype != value.dtype or value.shape or len(self.padding_config) != x.ndim:
            raise TypeError(f"pad takes an operand, a scalar of its dtype and one triple per axis, got {x} and {value}")
        shape = tuple(
            low + high + size + max(size - 1, 0) * interior
            for size, (low, high, interior) in zip(x.shape, self.padding_config, strict=True)
        )
        if any(size < 0 for size in shape):
            raise ValueError(f"pad by {self.padding_config} takes more from shape {x.shape} than there is")
        return [shaped(shape, x.dtype, x.weak_type and value.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        low, high, interior = zip(*self.padding_config, strict=True) if self.padding_config else ((), (), ())
        return builder.emit(  # type: ignore[no-any-return]
            "stablehlo.pad",
            operands,
            {
                "edge_padding_low": integers(low),
                "edge_padding_high": integers(high),
                "interior_padding": integers(interior),
            },
        )

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        moved = [zeros_of(aval(x)) if t is ZERO else t for x, t in zip(primals, tangents, strict=True)]
        return [bind1(self, *primals)], [bind1(self, *moved)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x, value) = cotangents, operands
        back = tuple((-low, -high, 0) for low, high, _ in self.padding_config)
        inner = bind1(Pad(back), ct, np.zeros((), aval(ct).dtype)[()])
        steps = tuple(interior + 1 for _, _, interior in self.padding_config)
        shape = aval(inner).shape
        ct_x = slice_(inner, (0,) * len(shape), shape, steps)
        ct_value = None
        if families.is_linear(value):
            axes = tuple(range(len(shape)))
            everything, inside = reduce_sum(ct, axes), reduce_sum(ct_x, axes)
            ct_value = bind1(ADD_ANY, everything, elementwise.neg(inside))
        return [ct_x if families.is_linear(x) else None, ct_value]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x, value), (axis, value_axis) = operands, axes
        batched = Pad(((0, 0, 0), *self.padding_config))
        if value_axis is NOT_MAPPED:
            return [bind1(batched, moveaxis(x, axis, 0), value)], [0]
        # Each example has its own value: pad with zeros, and choose the value where no element is.
        size = aval(value).shape[0]
        x = mapped_in_front(x, axis, size)
        outside = bind1(batched, full(aval(x).shape, np.False_), np.True_)
        padded = bind1(batched, x, np.zeros((), aval(x).dtype)[()])
        values = broadcast_in_dim(value, aval(padded).shape, (0,))
        return [arithmetic.select(outside, values, padded)], [0]


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Any:
    """Put ``padding_value`` around the elements: (low, high, interior) counts for each axis."""
    config = tuple((int(a), int(b), int(c)) for a, b, c in padding_config)
    if all(triple == (0, 0, 0) for triple in config):
        return operand
    return bind1(Pad(config), operand, padding_value)


class Rev(families.Linear, name="rev"):
    """Reverse the order of elements along axes."""

    dimensions: tuple[int, ...]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        families.require_axes(self.name, self.dimensions, operands[0].shape)
        return list(operands)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        at = integers(self.dimensions)
        return builder.emit("stablehlo.reverse", operands, {"dimensions": at})  # type: ignore[no-any-return]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,) = cotangents
        return [bind1(self, ct)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        return [rev(moveaxis(x, axis, 0), tuple(d + 1 for d in self.dimensions))], [0]


def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """``operand`` with the order of elements reversed along ``dimensions``."""
    return bind1(Rev(tuple(dimensions)), operand)


class Iota(Operation, name="iota"):
    """0, 1, 2, … along one axis, repeated along the others."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    dimension: int

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return [shaped(self.shape, self.dtype)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        at = attribute(f"{self.dimension} : i64")
        return builder.emit("stablehlo.iota", [], {"iota_dimension": at})  # type: ignore[no-any-return]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self), [ZERO]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self), [NOT_MAPPED]


def broadcasted_iota(dtype: Any, shape: Sequence[int], dimension: int) -> Any:
    """0, 1, 2, … along axis ``dimension`` of an array of that shape."""
    return bind1(Iota(np.dtype(dtype), tuple(shape), dimension))


def zeros_of(type_: ShapedArray) -> Any:
    """Zeros of that type."""
    return full(type_.shape, np.zeros((), type_.dtype)[()])


def full(shape: Sequence[int], fill_value: Any) -> Any:
    """An array of that shape filled with a scalar."""
    return broadcast_in_dim(fill_value, shape, ()) if len(shape) else fill_value


def _without(shape: tuple[int, ...], axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)
