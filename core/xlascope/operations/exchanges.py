"""Collectives that move values between the examples of a mapped axis."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import NOT_MAPPED, ZERO
from ..key_types import is_key
from ..trace.bind import bind, bind1
from ..xla.lowering import collectives as across
from ..xla.mlir.builder import int64_array
from . import collectives, indexing
from .arithmetic import add, mul
from .comparisons import eq
from .dynamic_slicing import dynamic_slice
from .indexing import gather
from .operand_checks import require_axes, require_kind
from .operand_values import aval, shape_of
from .random_keys import random_wrap
from .selection import select
from .shapes import (
    broadcast_in_dim,
    broadcasted_iota,
    full,
    mapped_in_front,
    moveaxis,
    reduce_sum,
    reshape,
    squeeze,
    transpose,
    zeros_of,
)
from .slicing import slice_in_dim


class _Exchange(collectives.CollectiveOperation):
    """Collective that moves elements between examples; ``sizes`` are the sizes of its axes, in row-major order."""

    sizes: tuple[int, ...]

    @property
    def count(self) -> int:
        """Return the number of examples along all axes together."""
        return math.prod(self.sizes)


class _ExchangeInGroups(_Exchange):
    """Exchange between all examples, or (``axis_index_groups``) between those of each group, which are as many."""

    @property
    def groups(self) -> collectives.Groups:
        """Return the field ``axis_index_groups``, the last one of each subclass."""
        return self.axis_index_groups  # type: ignore[attr-defined,no-any-return]

    @property
    def count(self) -> int:
        """Return the number of examples that exchange: along all axes together, or of a group."""
        return math.prod(self.sizes) if self.groups is None else len(self.groups[0])

    @property
    def part_sizes(self) -> tuple[int, ...]:
        """Return into how many parts operands are cut along each axis."""
        return self.sizes if self.groups is None else (self.count,)

    def decompose(self, operands: Sequence[Any]) -> list[Any] | None:
        collectives.require_one_axis(self, self.groups)
        if len(self.axes) == 1 and not self.tiled:  # type: ignore[attr-defined]
            return None
        return self.decompose_axes(*operands)

    def decompose_axes(self, x: Any) -> list[Any]:
        """Bind equivalent exchanges over one axis each, which are not tiled, and return the results."""
        raise NotImplementedError

    def carry_out(
        self, operands: Sequence[Any], axes: Sequence[Any], name: Hashable, size: int
    ) -> tuple[list[Any], list[Any]]:
        (x,), (axis,), groups = operands, axes, self.groups
        if groups is None:
            return self.carry_out_for_all(x, axis, size)
        parts = []
        for part in collectives.split_into_groups(mapped_in_front(x, axis, size), groups):
            (result,), (result_axis,) = self.carry_out_for_all(part, 0, self.count)
            parts.append(mapped_in_front(result, result_axis, self.count))
        return [collectives.join_groups(parts, groups)], [0]

    def carry_out_for_all(self, x: Any, axis: Any, size: int) -> tuple[list[Any], list[Any]]:
        """Exchange between all examples of one mapped axis; return the results and their batch axes."""
        raise NotImplementedError


class AllGather(_ExchangeInGroups, name="all_gather"):
    """The operands of all examples along the axis ``all_gather_dimension``.

    The axis is a new one, or (``tiled``) the operands are concatenated along the existing one.
    """

    accepts_keys = True

    all_gather_dimension: int
    tiled: bool
    axis_index_groups: collectives.Groups = None

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        shape, at = list(x.shape), self.all_gather_dimension
        require_axes(self.name, (at,), (*x.shape, *(() if self.tiled else (1,))))
        if self.tiled:
            shape[at] *= self.count
        else:
            shape.insert(at, self.count)
        return [make_aval(tuple(shape), x.dtype, x.weak_type)]

    def lower_on_mesh(self, builder: Any, *operands: Any) -> Any:
        (x,), (out,), at = operands, builder.out_avals, self.all_gather_dimension
        if not self.tiled:
            shape = list(out.shape)
            shape[at] = 1
            x = builder.emit1("stablehlo.reshape", [x], make_aval(tuple(shape), out.dtype))
        return across.all_gather(builder, x, out, self.axes, at, self.axis_index_groups)

    def decompose_axes(self, x: Any) -> list[Any]:
        at = self.all_gather_dimension
        for name, size in zip(reversed(self.axes), reversed(self.sizes), strict=True):
            x = bind1(AllGather((name,), (size,), at, False, self.axis_index_groups), x)
        return [_merge_axes(x, at, len(self.axes) + self.tiled)]

    def carry_out_for_all(self, x: Any, axis: Any, size: int) -> tuple[list[Any], list[Any]]:
        if axis is NOT_MAPPED:
            x, axis = mapped_in_front(x, axis, size), 0
        return [moveaxis(x, axis, self.all_gather_dimension)], [NOT_MAPPED]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        back = ReduceScatter(self.axes, self.sizes, self.all_gather_dimension, self.tiled, self.axis_index_groups)
        return [bind1(back, *cotangents)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        at = self.all_gather_dimension + 1
        batched = AllGather(self.axes, self.sizes, at, self.tiled, self.axis_index_groups)
        return [bind1(batched, _batch_to_front(operands, axes))], [0]


class ReduceScatter(_ExchangeInGroups, name="reduce_scatter"):
    """Sum over all examples, divided among them along ``scatter_dimension``.

    Each example gets one element, whose axis is removed, or (``tiled``) one block.
    """

    scatter_dimension: int
    tiled: bool
    axis_index_groups: collectives.Groups = None

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        require_kind("psum_scatter", x.dtype, "ifc")
        shape = _scattered_shape("psum_scatter", x.shape, self.scatter_dimension, self)
        return [make_aval(shape, x.dtype, x.weak_type)]

    def lower_on_mesh(self, builder: Any, *operands: Any) -> Any:
        (x,), (out,), at = operands, builder.out_avals, self.scatter_dimension
        shape = list(out.shape)
        if not self.tiled:
            shape.insert(at, 1)
        block_aval = make_aval(tuple(shape), out.dtype)
        block = across.reduce_scatter(builder, x, block_aval, self.axes, at, self.axis_index_groups)
        return block if self.tiled else builder.emit1("stablehlo.reshape", [block], out)

    def decompose_axes(self, x: Any) -> list[Any]:
        at = self.scatter_dimension
        x = _split_axis(x, at, (*self.part_sizes, *((shape_of(x)[at] // self.count,) if self.tiled else ())))
        for name, size in zip(self.axes, self.sizes, strict=True):
            x = bind1(ReduceScatter((name,), (size,), at, False, self.axis_index_groups), x)
        return [x]

    def carry_out_for_all(self, x: Any, axis: Any, size: int) -> tuple[list[Any], list[Any]]:
        total = mul(x, size) if axis is NOT_MAPPED else reduce_sum(x, (axis,))
        return [total], [self.scatter_dimension]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        back = AllGather(self.axes, self.sizes, self.scatter_dimension, self.tiled, self.axis_index_groups)
        return [bind1(back, *cotangents)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        at = self.scatter_dimension + 1
        batched = ReduceScatter(self.axes, self.sizes, at, self.tiled, self.axis_index_groups)
        return [bind1(batched, _batch_to_front(operands, axes))], [0]


class AllToAll(_ExchangeInGroups, name="all_to_all"):
    """Exchange: example i gets part i along ``split_axis`` of the operand of every example.

    The parts form a new axis ``concat_axis`` and the split axis is removed, or (``tiled``) blocks are concatenated
    along the existing axis.
    """

    accepts_keys = True

    split_axis: int
    concat_axis: int
    tiled: bool
    axis_index_groups: collectives.Groups = None

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        for axis in (self.split_axis, self.concat_axis):  # which may be one
            require_axes(self.name, (axis,), x.shape)
        shape = list(_scattered_shape(self.name, x.shape, self.split_axis, self))
        if self.tiled:
            shape[self.concat_axis] *= self.count
        else:
            shape.insert(self.concat_axis, self.count)
        return [make_aval(tuple(shape), x.dtype, x.weak_type)]

    def lower_on_mesh(self, builder: Any, *operands: Any) -> Any:
        (x,), (out,), (operand_aval,) = operands, builder.out_avals, builder.in_avals
        split, to = self.split_axis, self.concat_axis
        if self.tiled:
            return across.all_to_all(builder, x, out, self.axes, split, to, self.axis_index_groups)
        # A new axis of size 1 receives the parts; the split axis, of which one part remains, is removed.
        new = to if to <= split else to + 1
        split += new <= split
        wide = [*operand_aval.shape[:new], 1, *operand_aval.shape[new:]]
        x = builder.emit1("stablehlo.reshape", [x], make_aval(tuple(wide), out.dtype))
        wide[new], wide[split] = self.count, 1
        parts_aval = make_aval(tuple(wide), out.dtype)
        parts = across.all_to_all(builder, x, parts_aval, self.axes, split, new, self.axis_index_groups)
        return builder.emit1("stablehlo.reshape", [parts], out)

    def decompose_axes(self, x: Any) -> list[Any]:
        at, to = self.split_axis, self.concat_axis
        x = _split_axis(x, at, (*self.part_sizes, *((shape_of(x)[at] // self.count,) if self.tiled else ())))
        # Each step removes the next split axis and puts a new axis behind those already in front.
        for step, (name, size) in enumerate(zip(self.axes, self.sizes, strict=True)):
            x = bind1(AllToAll((name,), (size,), at + step, step, False, self.axis_index_groups), x)
        x = moveaxis(_merge_axes(x, 0, len(self.axes)), 0, to)
        return [_merge_axes(x, to, 2) if self.tiled else x]

    def carry_out_for_all(self, x: Any, axis: Any, size: int) -> tuple[list[Any], list[Any]]:
        x = mapped_in_front(x, axis, size)
        order = [i for i in range(1, len(shape_of(x))) if i != self.split_axis + 1]
        order.insert(self.concat_axis, 0)
        return [transpose(x, (self.split_axis + 1, *order))], [0]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        at, to = self.concat_axis, self.split_axis
        back = AllToAll(self.axes, self.sizes, at, to, self.tiled, self.axis_index_groups)
        return [bind1(back, *cotangents)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        at, to = self.split_axis + 1, self.concat_axis + 1
        batched = AllToAll(self.axes, self.sizes, at, to, self.tiled, self.axis_index_groups)
        return [bind1(batched, _batch_to_front(operands, axes))], [0]


class PPermute(_Exchange, name="ppermute"):
    """Permutation: example ``target`` gets the operand of ``source``, for each pair of ``perm``; others get zeros."""

    accepts_keys = True

    perm: tuple[tuple[int, int], ...]

    def lower_on_mesh(self, builder: Any, *operands: Any) -> Any:
        (x,) = operands
        return across.collective_permute(builder, x, builder.out_avals[0], self.axes, self.perm)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return list(operands)

    def decompose(self, operands: Sequence[Any]) -> list[Any] | None:
        if len(self.axes) == 1:
            return None
        (x,) = operands
        example_index = bind1(AxisIndex(self.axes, self.sizes))
        everything = bind1(AllGather(self.axes, self.sizes, 0, False), x)
        return [_take_row(self._permute(everything), example_index)]

    def carry_out(
        self, operands: Sequence[Any], axes: Sequence[Any], name: Hashable, size: int
    ) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        if axis is NOT_MAPPED and len(self.perm) == size:
            return [x], [NOT_MAPPED]
        return [self._permute(mapped_in_front(x, axis, size))], [0]

    def _permute(self, x: Any) -> Any:
        """Return ``x``, which has the examples along axis 0, permuted by ``perm``; zeros where there is no source."""
        source = np.full((self.count,), -1, np.int32)
        for start, target in self.perm:
            source[target] = start
        shape = shape_of(x)
        received = gather(
            x,
            np.maximum(source, 0)[:, None],
            indexing.GatherDimensionNumbers(tuple(range(1, len(shape))), (0,), (0,)),
            (min(self.count, 1), *shape[1:]),
        )
        if (source >= 0).all():
            return received
        receives = broadcast_in_dim(source >= 0, shape, (0,))
        return select(receives, received, _zeros_like(received))

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        back = tuple((target, source) for source, target in self.perm)
        return [bind1(PPermute(self.axes, self.sizes, back), *cotangents)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *operands), list(axes)


class PBroadcast(_Exchange, name="pbroadcast"):
    """Operand of example ``source``, broadcast to all examples."""

    accepts_keys = True

    source: int

    def lower_on_mesh(self, builder: Any, *operands: Any) -> Any:
        (x,), (out,) = operands, builder.out_avals
        expanded = builder.emit1("stablehlo.reshape", [x], make_aval((1, *out.shape), out.dtype))
        gathered = across.all_gather(builder, expanded, make_aval((self.count, *out.shape), out.dtype), self.axes, 0)
        limits = {
            "start_indices": int64_array((self.source, *[0] * len(out.shape))),
            "limit_indices": int64_array((self.source + 1, *out.shape)),
            "strides": int64_array([1] * (len(out.shape) + 1)),
        }
        row = builder.emit1("stablehlo.slice", [gathered], make_aval((1, *out.shape), out.dtype), limits)
        return builder.emit1("stablehlo.reshape", [row], out)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return list(operands)

    def decompose(self, operands: Sequence[Any]) -> list[Any] | None:
        if len(self.axes) == 1:
            return None
        (x,) = operands
        for name, size, index in zip(self.axes, self.sizes, np.unravel_index(self.source, self.sizes), strict=True):
            x = bind1(PBroadcast((name,), (size,), int(index)), x)
        return [x]

    def carry_out(
        self, operands: Sequence[Any], axes: Sequence[Any], name: Hashable, size: int
    ) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        if axis is not NOT_MAPPED:
            x = squeeze(slice_in_dim(x, self.source, self.source + 1, axis), (axis,))
        return [x], [NOT_MAPPED]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        # Only the source contributes to the results, and to every one of them.
        total = bind1(collectives.PSum(self.axes), *cotangents)
        is_source = eq(bind1(AxisIndex(self.axes, self.sizes)), self.source)
        is_source = full(shape_of(total), is_source)
        return [select(is_source, total, zeros_of(aval(total)))]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *operands), list(axes)


def _zeros_like(x: Any) -> Any:
    """Return zeros of the type of ``x``; for keys, keys whose words are zeros."""
    kind: Any = aval(x).dtype
    if not is_key(kind):
        return zeros_of(aval(x))
    return broadcast_in_dim(random_wrap(np.zeros(kind.words, np.uint32), kind.implementation), shape_of(x), ())


class AxisIndex(_Exchange, name="axis_index"):
    """Index of the current example along the axes, an int32, in row-major order."""

    def lower_on_mesh(self, builder: Any, *operands: Any) -> Any:
        return across.axis_index(builder, self.axes)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return [make_aval((), np.dtype(np.int32))]

    def decompose(self, operands: Sequence[Any]) -> list[Any] | None:
        if len(self.axes) == 1:
            return None
        index: Any = np.int32(0)
        for name, size in zip(self.axes, self.sizes, strict=True):
            index = add(mul(index, size), bind1(AxisIndex((name,), (size,))))
        return [index]

    def carry_out(
        self, operands: Sequence[Any], axes: Sequence[Any], name: Hashable, size: int
    ) -> tuple[list[Any], list[Any]]:
        return [broadcasted_iota(np.int32, (size,), 0)], [0]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self), [ZERO]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self), [NOT_MAPPED]


def _scattered_shape(name: str, shape: tuple[int, ...], axis: int, operation: Any) -> tuple[int, ...]:
    """Return the shape of the part that each example gets along an axis.

    The part is a block if ``operation.tiled``, otherwise one element. Raises ValueError if there are no equal parts;
    ``name`` is the name of the collective, for the message.
    """
    require_axes(name, (axis,), shape)
    names, count, size = operation.axes, operation.count, shape[axis]
    text = f"the axis {names[0]!r}" if len(names) == 1 else f"the axes {names} together"
    text = text if operation.groups is None else "a group of axis_index_groups"
    if operation.tiled:
        if count and size % count:
            raise ValueError(f"{name}: axis {axis} of shape {shape} has no {count} equal parts, as many as {text} has")
        return (*shape[:axis], size // count if count else size, *shape[axis + 1 :])
    if size != count:
        fix = ". Use tiled=True to give each example a block" if count and size % count == 0 else ""
        raise ValueError(f"{name}: axis {axis} of shape {shape} has size {size}, but {text} has size {count}{fix}")
    return (*shape[:axis], *shape[axis + 1 :])


def _batch_to_front(operands: Sequence[Any], axes: Sequence[Any]) -> Any:
    """Return the only operand, with its mapped axis in front."""
    (x,), (axis,) = operands, axes
    return moveaxis(x, axis, 0)


def _merge_axes(x: Any, axis: int, count: int) -> Any:
    """Merge ``count`` axes from ``axis`` on into one."""
    shape = shape_of(x)
    return reshape(x, (*shape[:axis], math.prod(shape[axis : axis + count]), *shape[axis + count :]))


def _split_axis(x: Any, axis: int, sizes: Sequence[int]) -> Any:
    """Split an axis into several axes of the given sizes."""
    shape = shape_of(x)
    return reshape(x, (*shape[:axis], *sizes, *shape[axis + 1 :]))


def _take_row(x: Any, index: Any) -> Any:
    """Return the element at a computed index along axis 0."""
    shape = shape_of(x)
    starts = [index, *[np.int32(0)] * (len(shape) - 1)]
    return squeeze(dynamic_slice(x, starts, (1, *shape[1:])), (0,))
