"""Operations that take parts of arrays, join them, pad them and reverse them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from ..errors import see
from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import NOT_MAPPED, ZERO
from ..ir.operation import Operation
from ..records.traits import MOVES, PERMUTES
from ..trace.bind import bind1
from ..trace.operand_coercion import pass_through
from ..trace.source import here
from ..xla.mlir.builder import attribute, int64_array
from . import sharding_rules
from .integer_arguments import is_several, whole_numbers
from .linear_operation import Linear, linear_taylor_rule
from .operand_checks import is_linear, require_axes, type_of
from .operand_values import aval, typed_scalar
from .selection import select
from .shapes import broadcast_in_dim, full, mapped_in_front, moveaxis, reduce_sum, zeros_of
from .tangent_arithmetic import ADD_ANY, neg


class Concatenate(Operation, name="concatenate"):
    """Operands joined along axis ``dimension``."""

    traits = MOVES
    accepts_keys = True

    dimension: int

    taylor_rule = linear_taylor_rule

    sharding_rule = sharding_rules.concatenate

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        first = operands[0]
        require_axes(self.name, (self.dimension,), first.shape)
        for operand in operands[1:]:
            same = len(operand.shape) == len(first.shape) and all(
                a == b for i, (a, b) in enumerate(zip(first.shape, operand.shape, strict=True)) if i != self.dimension
            )
            if not same or operand.dtype != first.dtype:
                more = see("shape-mismatch")
                types = f"{first.str_short()} and {operand.str_short()}"
                raise TypeError(
                    f"cannot concatenate {types} along axis {self.dimension}: their dtypes and the sizes of all other "
                    f"axes have to be equal{here()}{more}"
                )
        total = sum(x.shape[self.dimension] for x in operands)
        shape = (*first.shape[: self.dimension], total, *first.shape[self.dimension + 1 :])
        return [make_aval(shape, first.dtype, all(x.weak_type for x in operands))]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        name, attributes = self.as_stablehlo()
        return builder.emit(name, operands, attributes)  # type: ignore[no-any-return]

    def as_stablehlo(self) -> tuple[str, dict[str, Any]]:
        return "stablehlo.concatenate", {"dimension": attribute(f"{self.dimension} : i64")}

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        out_tangents = [zeros_of(aval(x)) if t is ZERO else t for x, t in zip(primals, tangents, strict=True)]
        return [bind1(self, *primals)], [bind1(self, *out_tangents)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,) = cotangents
        parts, start = [], 0
        for x in operands:
            stop = start + type_of(x).shape[self.dimension]
            parts.append(slice_in_dim(ct, start, stop, self.dimension) if is_linear(x) else None)
            start = stop
        return parts

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = next(aval(x).shape[a] for x, a in zip(operands, axes, strict=True) if a is not NOT_MAPPED)
        batched = [mapped_in_front(x, a, size) for x, a in zip(operands, axes, strict=True)]
        return [bind1(Concatenate(self.dimension + 1), *batched)], [0]


def concatenate(operands: Sequence[Any], dimension: int) -> Any:
    """Join ``operands`` along axis ``dimension``."""
    if len(operands) == 1:
        return pass_through(operands[0])
    return bind1(Concatenate(dimension), *operands)


class Slice(Linear, name="slice"):
    """Elements from ``start_indices`` to ``limit_indices`` (exclusive) in steps of ``strides``, 1 for None."""

    traits = MOVES
    accepts_keys = True

    start_indices: tuple[int, ...]
    limit_indices: tuple[int, ...]
    strides: tuple[int, ...] | None

    sharding_rule = sharding_rules.resize

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        strides = self.strides or (1,) * x.ndim
        bounds = list(zip(self.start_indices, self.limit_indices, x.shape, strict=False))
        complete = len(self.start_indices) == len(self.limit_indices) == len(strides) == x.ndim
        if not complete or any(not 0 <= start <= limit <= size for start, limit, size in bounds):
            raise TypeError(f"slice from {self.start_indices} to {self.limit_indices} leaves shape {x.shape}")
        if any(stride < 1 for stride in strides):
            raise TypeError(f"slice takes strides of at least 1, got {self.strides}")
        shape = tuple(-(-(limit - start) // s) for (start, limit, _), s in zip(bounds, strides, strict=True))
        return [make_aval(shape, x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        name, attributes = self.as_stablehlo()
        return builder.emit(name, operands, attributes)  # type: ignore[no-any-return]

    def as_stablehlo(self) -> tuple[str, dict[str, Any]]:
        return "stablehlo.slice", {
            "start_indices": int64_array(self.start_indices),
            "limit_indices": int64_array(self.limit_indices),
            "strides": int64_array(self.strides or (1,) * len(self.start_indices)),
        }

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        # Skipped elements get zero: pad in front, behind, and between.
        (ct,), (x,) = cotangents, operands
        strides = self.strides or (1,) * x.aval.ndim
        config = [
            (start, size - start - ((n - 1) * s + 1 if n else 0), s - 1)
            for start, size, n, s in zip(self.start_indices, x.aval.shape, aval(ct).shape, strides, strict=True)
        ]
        return [pad(ct, typed_scalar(0, x.aval.dtype), config)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        x = moveaxis(x, axis, 0)
        size = aval(x).shape[0]
        strides = None if self.strides is None else (1, *self.strides)
        return [bind1(Slice((0, *self.start_indices), (size, *self.limit_indices), strides), x)], [0]


def slice(operand: Any, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Any = None) -> Any:
    """Return the elements from ``start_indices`` to ``limit_indices`` (exclusive) in steps of ``strides``."""
    steps = None if strides is None else whole_numbers(strides, "strides of slice")
    if steps is not None and all(s == 1 for s in steps):
        steps = None
    starts = whole_numbers(start_indices, "start_indices of slice")
    limits = whole_numbers(limit_indices, "limit_indices of slice")
    return bind1(Slice(starts, limits, steps), operand)


def slice_in_dim(operand: Any, start_index: int, limit_index: int, axis: int = 0, stride: int = 1) -> Any:
    """Return the elements from ``start_index`` to ``limit_index`` (exclusive) along one axis."""
    shape = aval(operand).shape
    start, limit, strides = [0] * len(shape), list(shape), [1] * len(shape)
    start[axis], limit[axis], strides[axis] = start_index, limit_index, stride
    return slice(operand, start, limit, strides)


class Pad(Operation, name="pad"):
    """Operand with a value before, after and between its elements: (low, high, interior) for each axis.

    Negative low and high crop.
    """

    traits = MOVES
    padding_config: tuple[tuple[int, int, int], ...]

    taylor_rule = linear_taylor_rule

    sharding_rule = sharding_rules.resize

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        x, value = operands
        if x.dtype != value.dtype or value.shape or len(self.padding_config) != x.ndim:
            raise TypeError(f"pad takes an operand, a scalar of its dtype and one triple per axis, got {x} and {value}")
        if any(interior < 0 for _, _, interior in self.padding_config):
            raise ValueError(f"pad takes interior padding of at least 0, got {self.padding_config}")
        shape = tuple(
            low + high + size + max(size - 1, 0) * interior
            for size, (low, high, interior) in zip(x.shape, self.padding_config, strict=True)
        )
        if any(size < 0 for size in shape):
            raise ValueError(f"pad by {self.padding_config} takes more from shape {x.shape} than there is")
        return [make_aval(shape, x.dtype, x.weak_type and value.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        low, high, interior = zip(*self.padding_config, strict=True) if self.padding_config else ((), (), ())
        return builder.emit(  # type: ignore[no-any-return]
            "stablehlo.pad",
            operands,
            {
                "edge_padding_low": int64_array(low),
                "edge_padding_high": int64_array(high),
                "interior_padding": int64_array(interior),
            },
        )

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        out_tangents = [zeros_of(aval(x)) if t is ZERO else t for x, t in zip(primals, tangents, strict=True)]
        return [bind1(self, *primals)], [bind1(self, *out_tangents)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x, value) = cotangents, operands
        back = tuple((-low, -high, 0) for low, high, _ in self.padding_config)
        inner = bind1(Pad(back), ct, typed_scalar(0, aval(ct).dtype))
        steps = tuple(interior + 1 for _, _, interior in self.padding_config)
        shape = aval(inner).shape
        ct_x = slice(inner, (0,) * len(shape), shape, steps)
        ct_value = None
        if is_linear(value):
            axes = tuple(range(len(shape)))
            everything, inside = reduce_sum(ct, axes), reduce_sum(ct_x, axes)
            ct_value = bind1(ADD_ANY, everything, neg(inside))
        return [ct_x if is_linear(x) else None, ct_value]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x, value), (axis, value_axis) = operands, axes
        batched = Pad(((0, 0, 0), *self.padding_config))
        if value_axis is NOT_MAPPED:
            return [bind1(batched, moveaxis(x, axis, 0), value)], [0]
        # Each example has its own padding value: pad with zeros, and select the value where there is no element.
        size = aval(value).shape[0]
        x = mapped_in_front(x, axis, size)
        outside = bind1(batched, full(aval(x).shape, np.False_), np.True_)
        padded = bind1(batched, x, typed_scalar(0, aval(x).dtype))
        values = broadcast_in_dim(value, aval(padded).shape, (0,))
        return [select(outside, values, padded)], [0]


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Any:
    """Put ``padding_value`` around and between the elements: counts (low, high, interior) for each axis.

    Negative low and high crop.
    """
    try:
        config = tuple((index(a), index(b), index(c)) for a, b, c in padding_config)
    except (TypeError, ValueError):
        config = _check_padding_config(padding_config)
    if all(triple == (0, 0, 0) for triple in config):
        return pass_through(operand)
    return bind1(Pad(config), operand, padding_value)


def _check_padding_config(padding_config: Any) -> tuple[tuple[int, int, int], ...]:
    """Return the (low, high, interior) triples of each axis; raise TypeError or ValueError for anything else."""
    if not is_several(padding_config):
        raise TypeError(f"pad takes (low, high, interior) for each axis, got {padding_config!r}{here()}")
    triples = [whole_numbers(numbers, "numbers (low, high, interior) of pad") for numbers in padding_config]
    if any(len(numbers) != 3 for numbers in triples):
        raise ValueError(f"pad takes (low, high, interior) for each axis, got {padding_config!r}{here()}")
    return tuple((low, high, interior) for low, high, interior in triples)


class Rev(Linear, name="rev"):
    """Operand with the order of its elements reversed along ``dimensions``."""

    traits = PERMUTES
    accepts_keys = True

    dimensions: tuple[int, ...]

    sharding_rule = sharding_rules.same_as_first

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        require_axes(self.name, self.dimensions, operands[0].shape)
        return list(operands)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        at = int64_array(self.dimensions)
        return builder.emit("stablehlo.reverse", operands, {"dimensions": at})  # type: ignore[no-any-return]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,) = cotangents
        return [bind1(self, ct)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        return [rev(moveaxis(x, axis, 0), tuple(d + 1 for d in self.dimensions))], [0]


def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """Return ``operand`` with the order of elements reversed along ``dimensions``."""
    return bind1(Rev(whole_numbers(dimensions, "dimensions of rev")), operand)
