"""Operations that repeat, rearrange and sum elements: all linear, and each other's transposes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from ..ir.avals import ShapedArray, make_aval
from ..ir.jaxpr import Literal
from ..ir.markers import NOT_MAPPED, ZERO
from ..ir.operation import Operation
from ..records.traits import KEEPS_ORDER, KERNEL, MOVES, PERMUTES
from ..trace.bind import bind, bind1
from ..trace.operand_coercion import pass_through
from ..xla.mlir.builder import attribute, int64_array
from . import sharding_rules
from .integer_arguments import axis_of, whole_number, whole_numbers
from .linear_operation import Linear
from .operand_checks import require_axes, require_kind, require_shape
from .operand_values import aval, typed_scalar


class BroadcastInDim(Linear, name="broadcast_in_dim"):
    """Broadcast to ``shape``: axis i of the operand becomes axis ``broadcast_dimensions[i]`` of the result."""

    traits = KEEPS_ORDER
    accepts_keys = True

    shape: tuple[int, ...]
    broadcast_dimensions: tuple[int, ...]

    sharding_rule = sharding_rules.broadcast

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        dimensions = self.broadcast_dimensions
        require_shape(self.name, self.shape)
        fits = len(dimensions) == x.ndim == len(set(dimensions)) and all(
            0 <= axis < len(self.shape) and size in (1, self.shape[axis])
            for size, axis in zip(x.shape, dimensions, strict=True)
        )
        if not fits:
            raise TypeError(f"cannot broadcast shape {x.shape} to {self.shape} along {self.broadcast_dimensions}")
        return [make_aval(self.shape, x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        name, attributes = self.as_stablehlo()
        return builder.emit(name, operands, attributes)  # type: ignore[no-any-return]

    def as_stablehlo(self) -> tuple[str, dict[str, Any]]:
        return "stablehlo.broadcast_in_dim", {"broadcast_dimensions": int64_array(self.broadcast_dimensions)}

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        # Each element was copied along the new and the broadcast axes: its cotangent is the sum of theirs.
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
    """Broadcast ``operand`` to ``shape``; its axis i becomes axis ``broadcast_dimensions[i]`` of the result."""
    try:
        sizes, places = tuple(map(index, shape)), tuple(map(index, broadcast_dimensions))
    except TypeError:
        sizes = whole_numbers(shape, "sizes of broadcast_in_dim")
        places = whole_numbers(broadcast_dimensions, "broadcast_dimensions of broadcast_in_dim")
    return bind1(BroadcastInDim(sizes, places), operand)


def expand_dims(array: Any, dimensions: Sequence[int]) -> Any:
    """Insert axes of size 1 at positions ``dimensions`` of the result, counted from its end where negative.

    Raises ValueError for a position that the result does not have, or that is named twice.
    """
    shape = aval(array).shape
    if dimensions.__class__ is not tuple:
        dimensions = whole_numbers(dimensions, "dimensions of expand_dims")
    if not dimensions:
        return pass_through(array)
    rank = len(shape) + len(dimensions)
    new = {d if 0 <= d < rank else axis_of(d, rank, "the dimension of expand_dims") for d in dimensions}
    if len(new) < len(dimensions):
        raise ValueError(f"expand_dims to dimensions {dimensions} of {rank} axes: one is named twice")
    retained = [d for d in range(rank) if d not in new]
    sizes = iter(shape)
    return broadcast_in_dim(array, [1 if d in new else next(sizes) for d in range(rank)], retained)


class Reshape(Linear, name="reshape"):
    """Elements of the operand in row-major order, in the shape ``new_sizes``."""

    traits = KEEPS_ORDER
    accepts_keys = True

    new_sizes: tuple[int, ...]

    sharding_rule = sharding_rules.reshape

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        require_shape(self.name, self.new_sizes)
        if math.prod(self.new_sizes) != x.size:
            raise TypeError(f"cannot reshape shape {x.shape} ({x.size} elements) to {self.new_sizes}")
        return [make_aval(self.new_sizes, x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.emit("stablehlo.reshape", operands)  # type: ignore[no-any-return]

    def as_stablehlo(self) -> tuple[str, dict[str, Any] | None] | None:
        return "stablehlo.reshape", None

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x,) = cotangents, operands
        return [reshape(ct, x.aval.shape)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        x = moveaxis(x, axis, 0)
        return [reshape(x, (aval(x).shape[0], *self.new_sizes))], [0]


def reshape(operand: Any, new_sizes: Sequence[int]) -> Any:
    """Return ``operand`` with shape ``new_sizes``, which has as many elements."""
    try:
        sizes = tuple(map(index, new_sizes))
    except TypeError:
        sizes = whole_numbers(new_sizes, "new_sizes of reshape")
    if aval(operand).shape == sizes:
        return pass_through(operand)
    return bind1(Reshape(sizes), operand)


class Squeeze(Linear, name="squeeze"):
    """Operand without the axes ``dimensions``, which have size 1."""

    traits = KEEPS_ORDER
    accepts_keys = True

    dimensions: tuple[int, ...]

    def sharding_rule(self, parts: Any, operands: Any, results: Any) -> Any:
        return [sharding_rules.without_axes(parts[0], self.dimensions)]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        require_axes(self.name, self.dimensions, x.shape)
        bad = [d for d in self.dimensions if x.shape[d] != 1]
        if bad:
            raise ValueError(f"cannot squeeze axis {bad[0]} of shape {x.shape}: its size is not 1")
        return [make_aval(_drop_axes(x.shape, self.dimensions), x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.emit("stablehlo.reshape", operands)  # type: ignore[no-any-return]

    def as_stablehlo(self) -> tuple[str, dict[str, Any] | None] | None:
        return "stablehlo.reshape", None

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x,) = cotangents, operands
        return [reshape(ct, x.aval.shape)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        return [squeeze(moveaxis(x, axis, 0), tuple(d + 1 for d in self.dimensions))], [0]


def squeeze(array: Any, dimensions: Sequence[int]) -> Any:
    """Drop the axes ``dimensions``, which have size 1."""
    rank = len(aval(array).shape)
    axes = tuple(sorted(axis_of(d, rank, "the dimension of squeeze") for d in dimensions))
    return bind1(Squeeze(axes), array) if axes else pass_through(array)


class Transpose(Linear, name="transpose"):
    """Permutation of axes: axis i of the result is axis ``permutation[i]`` of the operand."""

    traits = PERMUTES
    accepts_keys = True

    permutation: tuple[int, ...]

    def sharding_rule(self, parts: Any, operands: Any, results: Any) -> Any:
        return [tuple(parts[0][axis] for axis in self.permutation)]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        if sorted(self.permutation) != list(range(x.ndim)):
            raise TypeError(f"{self.permutation} is no permutation of the axes of shape {x.shape}")
        return [make_aval(tuple(x.shape[p] for p in self.permutation), x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        name, attributes = self.as_stablehlo()
        return builder.emit(name, operands, attributes)  # type: ignore[no-any-return]

    def as_stablehlo(self) -> tuple[str, dict[str, Any]]:
        return "stablehlo.transpose", {"permutation": int64_array(self.permutation)}

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,) = cotangents
        return [transpose(ct, tuple(int(i) for i in np.argsort(self.permutation)))]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        return [transpose(moveaxis(x, axis, 0), (0, *(p + 1 for p in self.permutation)))], [0]


def transpose(operand: Any, permutation: Sequence[int]) -> Any:
    """Permute axes: axis i of the result is axis ``permutation[i]`` of ``operand``."""
    try:
        order = tuple(map(index, permutation))
    except TypeError:
        order = whole_numbers(permutation, "permutation of transpose")
    if order == tuple(range(len(aval(operand).shape))):
        return pass_through(operand)
    return bind1(Transpose(order), operand)


def moveaxis(x: Any, source: int, destination: int) -> Any:
    """Move axis ``source`` to position ``destination`` and keep the order of the others."""
    if source == destination:
        return pass_through(x)
    rank = len(aval(x).shape)
    order = [axis for axis in range(rank) if axis != source]
    order.insert(destination, source)
    return transpose(x, order)


def mapped_in_front(x: Any, axis: Any, size: int) -> Any:
    """Return ``x`` with its batch axis ``axis`` in front; if it is NOT_MAPPED, repeated ``size`` times."""
    if axis is NOT_MAPPED:
        shape = aval(x).shape
        return broadcast_in_dim(x, (size, *shape), range(1, len(shape) + 1))
    return moveaxis(x, axis, 0)


class ReduceSum(Linear, name="reduce_sum"):
    """Sum over ``axes``."""

    traits = KERNEL
    axes: tuple[int, ...]

    sharding_rule = sharding_rules.reduce

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        require_kind(self.name, x.dtype, "ifc")
        require_axes(self.name, self.axes, x.shape)
        return [make_aval(_drop_axes(x.shape, self.axes), x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return reduce_region(builder, operands[0], self.axes, 0, "stablehlo.add")

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return operands[0].size

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x,) = cotangents, operands
        retained = tuple(axis for axis in range(x.aval.ndim) if axis not in self.axes)
        return [broadcast_in_dim(ct, x.aval.shape, retained)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        return [bind1(ReduceSum(tuple(a + 1 for a in self.axes)), moveaxis(x, axis, 0))], [0]


def reduce_sum(operand: Any, axes: Sequence[int]) -> Any:
    """Return the sum of the elements along ``axes``, which are removed."""
    axes = whole_numbers(axes, "axes of reduce_sum")
    if axes:
        return bind1(ReduceSum(axes), operand)
    require_kind("reduce_sum", aval(operand).dtype, "ifc")
    return pass_through(operand)


def _emit_binary(builder: Any, name: str, x: Any, y: Any, aval: ShapedArray) -> Any:
    return builder.emit1(name, [x, y], aval)


def reduce_region(
    builder: Any,
    value: Any,
    axes: Sequence[int],
    start: Any,
    combine: str,
    emit: Callable[[Any, str, Any, Any, ShapedArray], Any] = _emit_binary,
) -> list[Any]:
    """Emit a ``stablehlo.reduce`` along ``axes`` of the MLIR value ``value``; return its results.

    ``start`` is the initial value, ``combine`` the StableHLO operation that combines two elements. ``emit`` emits it,
    from builder, operation, two values and their scalar type.
    """
    scalar = make_aval((), builder.inputs[0].aval.dtype)
    operands, attributes = [value, builder.constant(start, scalar)], {"dimensions": int64_array(axes)}
    if emit is _emit_binary:
        return [builder.reduce(operands, attributes, combine, scalar)]
    reduce_op = builder.operation("stablehlo.reduce", operands, attributes, regions=1)
    builder.fill_region(reduce_op, [scalar] * 2, lambda a, b: [emit(builder, combine, a, b, scalar)])
    return list(reduce_op.results)


def _drop_axes(shape: tuple[int, ...], axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


class Iota(Operation, name="iota"):
    """Numbers 0, 1, 2, … along axis ``dimension``, repeated along the others."""

    traits = MOVES
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    dimension: int

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        require_kind(self.name, self.dtype, "ifc")
        require_shape(self.name, self.shape)
        require_axes(self.name, (self.dimension,), self.shape)
        return [make_aval(self.shape, self.dtype)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        at = attribute(f"{self.dimension} : i64")
        return builder.emit("stablehlo.iota", [], {"iota_dimension": at})  # type: ignore[no-any-return]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self), [ZERO]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self), [NOT_MAPPED]


def broadcasted_iota(dtype: Any, shape: Sequence[int], dimension: int) -> Any:
    """Return 0, 1, 2, … along axis ``dimension`` of an array of that shape."""
    sizes = whole_numbers(shape, "sizes of iota")
    return bind1(Iota(np.dtype(dtype), sizes, whole_number(dimension, "the dimension of iota")))


def zeros_of(type_: ShapedArray) -> Any:
    """Return an array of zeros of the type ``type_``."""
    return full(type_.shape, typed_scalar(0, type_.dtype))


def full(shape: Sequence[int], fill_value: Any) -> Any:
    """Return an array of that shape filled with the scalar ``fill_value``, in its dtype."""
    is_result = not len(shape) and fill_value.__class__ is not Literal
    return pass_through(fill_value) if is_result else broadcast_in_dim(fill_value, shape, ())
