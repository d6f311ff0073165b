"""Convolutions written out in other operations where XLA for CPUs is slow at them.

XLA computes convolutions in groups, those of each feature with a kernel of its own among them, one product after the
other: 40 ms for a depthwise one of 3 × 3 that takes 0.6 ms as nine products of shifted arrays. Of the derivative by the
kernels of groups it computes each group with each, and takes the diagonal: 256 times the work for 256 groups.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import dtype_kind
from ..ir.avals import ShapedArray, make_aval
from ..ir.jaxpr import ClosedJaxpr
from ..trace.bind import bind1
from ..trace.jaxpr_trace import stage
from .arithmetic import add, div, mul, rem
from .barriers import OptimizationBarrier
from .comparisons import eq
from .conversion import to_dtype
from .dot_product import dot_general
from .dynamic_slicing import dynamic_slice
from .operand_values import aval, typed_scalar
from .selection import select
from .shapes import broadcast_in_dim, reduce_sum, reshape, transpose
from .slicing import concatenate, pad
from .slicing import slice as slice_array

#: Most places of a kernel whose products with shifted arrays are written out: for a feature with a kernel of its own
#: (7 × 7), and for one feature with a kernel for each that comes out.
MAX_PLACES, MAX_PLACES_OF_ONE_FEATURE = 49, 18
#: Most groups that become convolutions of their own.
MAX_GROUPS = 32
#: Fewest multiplications of a group that becomes a convolution of its own: each takes 30 ms to compile, and a call is
#: faster by about 0.15 ns for each multiplication.
MIN_GROUP_PRODUCTS = 2**22


class Layout(NamedTuple):
    """Axes of both operands and of the result: batch, features, spatial axes (see ``ConvDimensionNumbers``)."""

    lhs: tuple[int, ...]
    rhs: tuple[int, ...]
    out: tuple[int, ...]


def emit_convolution(builder: Any, op: Any, operands: Sequence[Any]) -> list[Any] | None:
    """Emit a convolution in other operations and return its result; None where XLA's own is as fast.

    ``op`` is the ``ConvGeneralDilated``, ``operands`` are the MLIR operands of the current equation.
    """
    x, w, out = _types(builder)
    is_float = dtype_kind(out.dtype) == "f"
    if is_float and _is_shifted_products(op, x, w):
        return builder.call_formula(_stage_shifted(op, x, w, out), operands)  # type: ignore[no-any-return]
    if is_float and _is_split(op, w, out):
        return builder.call_formula(_stage_split(op, x, w), operands)  # type: ignore[no-any-return]
    if _is_loop(op):
        return [_emit_loop(builder, op, operands)]
    return None


def _types(builder: Any) -> tuple[ShapedArray, ShapedArray, ShapedArray]:
    """Return the types of the operands and of the result, without shardings, which concern the program outside."""
    x, w, out = (make_aval(of.shape, of.dtype) for of in (*builder.in_avals, *builder.out_avals))
    return x, w, out


# One input feature for each that comes out ----------------------------------------------------------------------------


def _is_shifted_products(op: Any, x: ShapedArray, w: ShapedArray) -> bool:
    lhs, rhs, _ = op.dimension_numbers
    features, groups, results = x.shape[lhs[1]], op.feature_group_count, w.shape[rhs[0]]
    if op.batch_group_count != 1 or features != groups or (groups != 1 and results != groups):
        return False
    return len(rhs) > 2 and _places(op, w) <= (MAX_PLACES if groups > 1 else MAX_PLACES_OF_ONE_FEATURE)


def _places(op: Any, w: ShapedArray) -> int:
    return math.prod(w.shape[axis] for axis in op.dimension_numbers[1][2:])


@functools.lru_cache(maxsize=256)
def _stage_shifted(op: Any, x: ShapedArray, w: ShapedArray, out: ShapedArray) -> ClosedJaxpr:
    """Return the jaxpr: the sum over the kernel's places of shifted arrays times the weights of the place."""
    layout = Layout(*op.dimension_numbers)
    wide = _dtype_of_sums(out.dtype)
    sizes = _sizes(op, out)

    def multiply_shifted(image: Any, kernel: Any) -> list[Any]:
        image, kernel = _as_dtype(image, wide), _as_dtype(kernel, wide)
        padded = _pad_spatial(op, image, layout.lhs)
        total = None
        for offset in np.ndindex(*(w.shape[axis] for axis in layout.rhs[2:])):
            product = mul(_shift(op, padded, layout.lhs, offset, sizes), _weights(kernel, layout, offset))
            total = product if total is None else add(total, product)
        total = select(eq(total, typed_scalar(0, wide)), typed_scalar(0, wide), total)  # -0 + -0: XLA's sums begin at 0
        # Whoever reads an element several times would compute its products as often.
        total = bind1(OptimizationBarrier(), _as_dtype(total, out.dtype))
        return [transpose(total, _order(layout))]

    return stage(multiply_shifted, [x, w], "convolution")


def _dtype_of_sums(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float32) if dtype_kind(dtype) == "f" and dtype.itemsize < 4 else dtype


def _as_dtype(x: Any, dtype: np.dtype[Any]) -> Any:
    return x if aval(x).dtype == dtype else to_dtype(x, dtype)


def _pad_spatial(op: Any, image: Any, lhs: Sequence[int]) -> Any:
    """Return lhs with its padding and its holes, written out once."""
    config = [(0, 0, 0)] * len(lhs)
    for axis, (low, high), dilation in zip(lhs[2:], op.padding, op.lhs_dilation, strict=True):
        config[axis] = (low, high, dilation - 1)
    if not any(map(any, config)):
        return image
    return bind1(OptimizationBarrier(), pad(image, typed_scalar(0, aval(image).dtype), config))


def _shift(op: Any, padded: Any, lhs: Sequence[int], offset: Sequence[int], sizes: Sequence[int]) -> Any:
    """Return the elements that meet one place of the kernel, by result."""
    shape = aval(padded).shape
    starts, ends, strides = [0] * len(shape), list(shape), [1] * len(shape)
    per_axis = zip(lhs[2:], offset, sizes, op.window_strides, op.rhs_dilation, strict=True)
    for axis, position, size, stride, dilation in per_axis:
        starts[axis], strides[axis] = position * dilation, stride
        ends[axis] = starts[axis] + (size - 1) * stride + 1
    return slice_array(padded, starts, ends, strides)


def _weights(kernel: Any, layout: Layout, offset: Sequence[int]) -> Any:
    """Return the kernel's weights at a place, one for each feature that comes out, along the features of lhs."""
    starts, ends = [0] * len(layout.rhs), list(aval(kernel).shape)
    for axis, position in zip(layout.rhs[2:], offset, strict=True):
        starts[axis], ends[axis] = position, position + 1
    weights = reshape(slice_array(kernel, starts, ends), (ends[layout.rhs[0]],))
    shape = [1] * len(layout.lhs)
    shape[layout.lhs[1]] = ends[layout.rhs[0]]
    return broadcast_in_dim(weights, shape, (layout.lhs[1],))


def _order(layout: Layout) -> list[int]:
    """Return which axis of lhs each axis of the result is."""
    by_axis = dict(zip(layout.out, layout.lhs, strict=True))
    return [by_axis[axis] for axis in range(len(layout.out))]


# The derivative by a kernel of groups ---------------------------------------------------------------------------------


def _is_loop(op: Any) -> bool:
    """Return whether the batch is in groups, each of which meets kernels of its own.

    XLA's own is not only slow: of operands that are shared between devices along the axis that is summed over, it
    leaves out the sum over devices.
    """
    return op.batch_group_count > 1 and len(op.dimension_numbers[0]) > 2


def _emit_loop(builder: Any, op: Any, operands: Sequence[Any]) -> Any:
    """Emit a loop over the places of the result: in each, arrays are multiplied and summed.

    One place after the other, because XLA would keep all products at the same time.
    """
    x, w, out = _types(builder)
    begin, sum_products, end = _stage_loop(op, x, w, out)
    images, kernels = begin.out_avals
    count, table = math.prod(_sizes(op, out)), end.in_avals[0]
    index = make_aval((), np.dtype(np.int32))
    start = [
        builder.constant(0, index),
        *builder.call_formula(begin, operands),
        builder.broadcast(builder.constant(0, make_aval((), table.dtype)), table),
    ]

    def is_not_finished(number: Any, *_: Any) -> list[Any]:
        return [builder.compare("LT", number, builder.constant(count, index))]

    def add_place(number: Any, image: Any, kernel: Any, sums: Any) -> list[Any]:
        (total,) = builder.call_formula(sum_products, [image, kernel, number])
        following = builder.emit1("stablehlo.add", [number, builder.constant(1, index)], index)
        return [following, image, kernel, builder.update_leading(sums, total, number, table)]

    loop = builder.while_loop(start, [index, images, kernels, table], is_not_finished, add_place)
    return builder.call_formula(end, [loop[-1]])[0]


def _sizes(op: Any, out: ShapedArray) -> list[int]:
    return [out.shape[axis] for axis in op.dimension_numbers[2][2:]]


@functools.lru_cache(maxsize=256)
def _stage_loop(
    op: Any, x: ShapedArray, w: ShapedArray, out: ShapedArray
) -> tuple[ClosedJaxpr, ClosedJaxpr, ClosedJaxpr]:
    """Return three jaxprs: what the loop begins with, the sums of a place, and the result of the sums of all places."""
    layout = Layout(*op.dimension_numbers)
    wide = _dtype_of_sums(out.dtype)
    sizes, groups = _sizes(op, out), op.batch_group_count
    of_group = x.shape[layout.lhs[0]] // groups, w.shape[layout.rhs[0]] // groups

    def prepare(image: Any, kernel: Any) -> list[Any]:
        like_image = dict(zip(layout.lhs, layout.rhs, strict=True))
        kernel = transpose(_as_dtype(kernel, wide), [like_image[axis] for axis in range(len(layout.lhs))])
        return [_pad_spatial(op, _as_dtype(image, wide), layout.lhs), kernel]

    begin = stage(prepare, [x, w], "convolution")
    padded, kernels = begin.out_avals

    def sum_place(image: Any, kernel: Any, number: Any) -> list[Any]:
        starts, lengths, strides = [np.int32(0)] * padded.ndim, list(padded.shape), [1] * padded.ndim
        rest = number
        spatial = list(zip(layout.lhs[2:], sizes, op.window_strides, op.rhs_dilation, strict=True))
        for axis, size, stride, dilation in reversed(spatial):
            starts[axis] = mul(rem(rest, typed_scalar(size, number.dtype)), typed_scalar(stride, number.dtype))
            rest = div(rest, typed_scalar(size, number.dtype))
            lengths[axis], strides[axis] = (kernels.shape[axis] - 1) * dilation + 1, dilation
        part = dynamic_slice(image, starts, lengths)
        if any(stride != 1 for stride in strides):
            part = slice_array(part, [0] * padded.ndim, lengths, strides)
        return [_sum_by_group(part, kernel, layout.lhs[0], groups)]

    sum_products = stage(sum_place, [padded, kernels, make_aval((), np.dtype(np.int32))], "place")

    def finish(sums: Any) -> list[Any]:
        of_image, of_kernel = of_group
        total = reshape(_as_dtype(sums, out.dtype), (*sizes, groups, of_image, of_kernel))
        rank = len(sizes)
        total = transpose(total, [rank + 1, rank, rank + 2, *range(rank)])
        total = reshape(total, (of_image, groups * of_kernel, *sizes))
        by_axis = dict(zip(layout.out, range(out.ndim), strict=True))
        return [transpose(total, [by_axis[axis] for axis in range(out.ndim)])]

    table = make_aval((math.prod(sizes), *sum_products.out_avals[0].shape), wide)
    return begin, sum_products, stage(finish, [table], "convolution")


def _sum_by_group(image: Any, kernel: Any, axis: int, groups: int) -> Any:
    """Return the sums of products over all axes but one, along which each group meets itself.

    The result has the groups, and unless there is one element of both operands in each, these elements.
    """
    summed = [d for d in range(aval(image).ndim) if d != axis]
    if aval(image).shape[axis] == aval(kernel).shape[axis] == groups:
        # XLA hands the sum to a library, which is slow where it also multiplies.
        return reduce_sum(bind1(OptimizationBarrier(), mul(image, kernel)), summed)
    image, kernel = _split_axis(image, axis, groups), _split_axis(kernel, axis, groups)
    summed = [d + (d > axis) for d in summed]
    return dot_general(image, kernel, ((summed, summed), ((axis,), (axis,))))


def _split_axis(x: Any, axis: int, groups: int) -> Any:
    shape = aval(x).shape
    return reshape(x, (*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :]))


# Groups ---------------------------------------------------------------------------------------------------------------


def _is_split(op: Any, w: ShapedArray, out: ShapedArray) -> bool:
    groups = max(op.feature_group_count, op.batch_group_count)
    if not 1 < groups <= MAX_GROUPS:
        return False
    features = w.shape[op.dimension_numbers[1][1]]
    results = w.shape[op.dimension_numbers[1][0]] // groups
    places = _places(op, w)
    products = out.size // groups * features * places
    return bool(min(features, results) > 1 and products >= MIN_GROUP_PRODUCTS)


@functools.lru_cache(maxsize=256)
def _stage_split(op: Any, x: ShapedArray, w: ShapedArray) -> ClosedJaxpr:
    """Return the jaxpr: a convolution for each group, and their results one after the other."""
    lhs, rhs, out = op.dimension_numbers
    groups = max(op.feature_group_count, op.batch_group_count)
    grouped = lhs[1] if op.feature_group_count > 1 else lhs[0]
    of_one = op.with_groups(1, 1)

    def convolve_groups(image: Any, kernel: Any) -> list[Any]:
        images, kernels = _parts(image, grouped, groups), _parts(kernel, rhs[0], groups)
        results = [bind1(of_one, *pair) for pair in zip(images, kernels, strict=True)]
        return [concatenate(results, out[1])]

    return stage(convolve_groups, [x, w], "convolution")


def _parts(x: Any, axis: int, count: int) -> list[Any]:
    """Return equal parts of an array along an axis."""
    shape = aval(x).shape
    size = shape[axis] // count
    starts, ends = [0] * len(shape), list(shape)
    parts = []
    for number in range(count):
        starts[axis], ends[axis] = number * size, (number + 1) * size
        parts.append(slice_array(x, starts, ends))
    return parts
