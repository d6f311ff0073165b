"""Sorting along an axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_kind, is_floating
from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import NOT_MAPPED, ZERO
from ..ir.operation import Operation
from ..records.traits import KERNEL
from ..trace.bind import bind
from ..xla.mlir.builder import attribute, int64_array
from . import sharding_rules
from .complex_numbers import real_dtype
from .indexing import take_along
from .integer_arguments import axis_of, whole_number
from .linear_operation import linear_taylor_rule
from .operand_checks import require_axes, require_kind
from .operand_values import aval
from .shapes import broadcasted_iota, mapped_in_front, moveaxis
from .sorting_on_cpu import emit_sort


class Sort(Operation, name="sort"):
    """Arrays of one shape, sorted together along an axis by the first ``num_keys`` of them.

    -0.0 and 0.0 are equal, NaN comes last.
    """

    traits = KERNEL
    dimension: int
    is_stable: bool
    num_keys: int

    multiple_results = True
    taylor_rule = linear_taylor_rule

    def sharding_rule(self, parts: Any, operands: Any, results: Any) -> Any:
        return sharding_rules.along_axes(self, parts, operands, results, (self.dimension,))

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        if len({x.shape for x in operands}) != 1:
            raise TypeError(f"sort takes operands of one shape, got {' and '.join(str(x.shape) for x in operands)}")
        require_axes(self.name, (self.dimension,), operands[0].shape)
        if not 1 <= self.num_keys <= len(operands):
            raise ValueError(
                f"sort takes num_keys from 1 to the number of operands, {len(operands)}; got {self.num_keys}"
            )
        return list(operands)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        if builder.platform == "cpu" and (results := emit_sort(builder, self, operands)) is not None:
            return results
        is_alone = builder.platform == "cpu" and len(operands) == 1
        sort_op = builder.operation(
            "stablehlo.sort",
            operands,
            {
                "dimension": attribute(f"{self.dimension} : i64"),
                # Alone, equal integers cannot be told apart; XLA for CPUs sorts stably in half the time.
                "is_stable": attribute("true" if self.is_stable or is_alone else "false"),
            },
            regions=1,
        )
        scalars = [make_aval((), x.dtype) for x in builder.in_avals]
        pairs = [scalar for scalar in scalars for _ in (0, 1)]
        builder.fill_region(sort_op, pairs, lambda *values: [self._emit_less_than(builder, values, scalars)])
        return list(sort_op.results)

    def _emit_less_than(self, builder: Any, values: Sequence[Any], scalars: Sequence[ShapedArray]) -> Any:
        # keys in order of importance: first < second, or they are equal and the next key decides
        result = None
        for i in reversed(range(self.num_keys)):
            for x, y, scalar in reversed(
                list(_comparison_parts(builder, values[2 * i], values[2 * i + 1], scalars[i]))
            ):
                x, y = (_canonicalize(builder, v, scalar) for v in (x, y))
                less = _emit_compare(builder, "LT", x, y, scalar)
                if result is not None:
                    equal = _emit_compare(builder, "EQ", x, y, scalar)
                    tied = builder.emit1("stablehlo.and", [equal, result], _TRUTH)
                    less = builder.emit1("stablehlo.or", [less, tied], _TRUTH)
                result = less
        return result

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        # Tangents are permuted as their values: sort the positions too, and gather the tangents at them.
        shape = aval(primals[0]).shape
        positions = broadcasted_iota(np.dtype("int32"), shape, self.dimension)
        *results, order = bind(self, *primals, positions)
        out_tangents = [t if t is ZERO else take_along(t, order, self.dimension) for t in tangents]
        return results, out_tangents

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = next(aval(x).shape[a] for x, a in zip(operands, axes, strict=True) if a is not NOT_MAPPED)
        batched = [mapped_in_front(x, a, size) for x, a in zip(operands, axes, strict=True)]
        return bind(Sort(self.dimension + 1, self.is_stable, self.num_keys), *batched), [0] * len(operands)


_TRUTH = make_aval((), np.dtype("bool"))


def _comparison_parts(builder: Any, x: Any, y: Any, scalar: ShapedArray) -> Iterator[tuple[Any, Any, ShapedArray]]:
    """Yield the pairs of values, with their type, by which two elements ``x`` and ``y`` of a key are compared.

    These are the elements themselves; of complex ones first the real, then the imaginary parts.
    """
    if dtype_kind(scalar.dtype) != "c":
        yield x, y, scalar
        return
    part = make_aval((), real_dtype(scalar.dtype))
    for name in ("stablehlo.real", "stablehlo.imag"):
        yield builder.emit1(name, [x], part), builder.emit1(name, [y], part), part


def _emit_compare(builder: Any, direction: str, x: Any, y: Any, scalar: ShapedArray) -> Any:
    attributes = {"comparison_direction": attribute(f"#stablehlo<comparison_direction {direction}>")}
    if is_floating(scalar.dtype):
        attributes["compare_type"] = attribute("#stablehlo<comparison_type TOTALORDER>")
    return builder.emit1("stablehlo.compare", [x, y], _TRUTH, attributes)


def _canonicalize(builder: Any, x: Any, scalar: ShapedArray) -> Any:
    """Replace all zeros by 0.0 and all NaNs by one NaN, so that the total order treats them alike."""
    if not is_floating(scalar.dtype):
        return x
    zero, nan = builder.constant(0, scalar), builder.constant(np.nan, scalar)
    equal = attribute("#stablehlo<comparison_direction EQ>")
    is_zero = builder.emit1("stablehlo.compare", [x, zero], _TRUTH, {"comparison_direction": equal})
    is_number = builder.emit1("stablehlo.compare", [x, x], _TRUTH, {"comparison_direction": equal})
    x = builder.emit1("stablehlo.select", [is_zero, zero, x], scalar)
    return builder.emit1("stablehlo.select", [is_number, x, nan], scalar)


class TopK(Operation, name="top_k"):
    """The ``k`` largest elements along an axis, in descending order, and their positions; NaN counts as largest."""

    traits = KERNEL
    k: int
    axis: int

    multiple_results = True
    taylor_rule = linear_taylor_rule

    def sharding_rule(self, parts: Any, operands: Any, results: Any) -> Any:
        return sharding_rules.along_axes(self, parts, operands, results, (self.axis,))

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        require_kind(self.name, x.dtype, "bif")
        if not 0 <= self.axis < x.ndim:
            raise ValueError(f"top_k along axis {self.axis} of shape {x.shape}, which has {x.ndim} axes")
        if not 0 <= self.k <= x.shape[self.axis]:
            raise ValueError(f"top_k of {self.k} elements along axis {self.axis} of shape {x.shape}")
        shape = (*x.shape[: self.axis], self.k, *x.shape[self.axis + 1 :])
        return [make_aval(shape, x.dtype, x.weak_type), make_aval(shape, np.dtype("int32"))]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,), (aval_x,), outs = operands, builder.in_avals, builder.out_avals
        if not outs[0].size:
            return [builder.constant(0, out) for out in outs]
        last = aval_x.ndim - 1
        k = {"k": attribute(f"{self.k} : i64")}
        if self.axis == last:
            return list(builder.operation("chlo.top_k", [x], k).results)
        permutation = [axis for axis in range(aval_x.ndim) if axis != self.axis] + [self.axis]
        inverse = [int(axis) for axis in np.argsort(permutation)]

        def emit_transpose(value: Any, aval_: ShapedArray, order: Sequence[int]) -> Any:
            result = make_aval(tuple(aval_.shape[axis] for axis in order), aval_.dtype)
            return builder.emit1("stablehlo.transpose", [value], result, {"permutation": int64_array(order)})

        transposed_avals = [make_aval(tuple(out.shape[axis] for axis in permutation), out.dtype) for out in outs]
        results = builder.operation("chlo.top_k", [emit_transpose(x, aval_x, permutation)], k, transposed_avals).results
        return [emit_transpose(y, aval_, inverse) for y, aval_ in zip(results, transposed_avals, strict=True)]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (t,) = primals, tangents
        values, places = bind(self, x)
        return [values, places], [ZERO if t is ZERO else take_along(t, places, self.axis), ZERO]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        return bind(TopK(self.k, self.axis + 1), moveaxis(x, axis, 0)), [0, 0]


def top_k(operand: Any, k: int, axis: int = -1) -> list[Any]:
    """Return a list: the ``k`` largest elements along an axis, in descending order, and their positions."""
    axis_number = axis_of(axis, len(aval(operand).shape), "axis of top_k")
    return bind(TopK(whole_number(k, "k of top_k"), axis_number), operand)


def sort(operands: Sequence[Any], dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> list[Any]:
    """Sort arrays of one shape together along an axis, by the first ``num_keys`` of them.

    Returns a list of the sorted arrays. ``is_stable`` keeps the order of elements with equal keys; NaN comes last.
    """
    if not operands:
        raise TypeError("sort takes at least one operand")
    axis_number = axis_of(dimension, len(aval(operands[0]).shape), "dimension of sort")
    return bind(Sort(axis_number, bool(is_stable), whole_number(num_keys, "num_keys of sort")), *operands)
