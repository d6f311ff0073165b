"""Reductions other than the sum: maximum, minimum, product, booleans, and the positions of extremes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..dtypes import kind_of
from ..ir.avals import ShapedArray, shaped
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..records.traits import KERNEL
from ..trace.bind import bind1
from ..xla.mlir.builder import attribute, integers
from . import cumulative, sharding_rules
from .arithmetic import div, mul
from .comparisons import eq
from .complex_numbers import extreme
from .conversion import convert_element_type
from .linear import pushed
from .requirements import require_axes, require_kind
from .shapes import broadcast_in_dim, moveaxis, reduce_region, reduce_sum, reshape, transpose
from .slicing import pad
from .values import aval, highest, lowest, shape_of
from .whole_numbers import whole_numbers


class _Reduction(Operation):
    """Reduction of the elements along axes."""

    traits = KERNEL
    axes: tuple[int, ...]

    combine: ClassVar[str]
    kinds: ClassVar[str]

    sharding_rule = sharding_rules.reduced

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        require_kind(self.name, x.dtype, self.kinds)
        require_axes(self.name, self.axes, x.shape)
        shape = tuple(size for axis, size in enumerate(x.shape) if axis not in self.axes)
        return [shaped(shape, x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        start = self.start(builder.in_avals[0].dtype)
        return reduce_region(builder, operands[0], self.axes, start, self.combine)

    def start(self, dtype: np.dtype[Any]) -> Any:
        """Return the identity element of the reduction."""
        raise NotImplementedError

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return operands[0].size

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        moved = type(self)(tuple(a + 1 for a in self.axes))
        return [bind1(moved, moveaxis(x, axis, 0))], [0]

    def spread(self, y: Any, x: Any) -> Any:
        """Broadcast a result along the reduced axes to the operand's shape."""
        retained = tuple(axis for axis in range(len(shape_of(x))) if axis not in self.axes)
        return broadcast_in_dim(y, shape_of(x), retained)


class _Extreme(_Reduction):
    """The largest or smallest element; where several are equally extreme they share the derivative."""

    kinds = "bifc"
    taylor_rule = pushed

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        start = self.start(builder.in_avals[0].dtype)
        return reduce_region(builder, operands[0], self.axes, start, self.combine, extreme)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (t,) = primals, tangents
        y = bind1(self, x)
        if t is ZERO:
            return [y], [ZERO]
        chosen = convert_element_type(eq(x, self.spread(y, x)), aval(x).dtype)
        count = reduce_sum(chosen, self.axes)
        return [y], [div(reduce_sum(mul(t, chosen), self.axes), count)]


class ReduceMax(_Extreme, name="reduce_max"):
    """The largest element along axes; NaN if there is one."""

    combine = "stablehlo.maximum"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return lowest(dtype)


def reduce_max(operand: Any, axes: Sequence[int]) -> Any:
    """Return the largest element along ``axes``."""
    return bind1(ReduceMax(whole_numbers(axes, "axes of reduce_max")), operand)


class ReduceMin(_Extreme, name="reduce_min"):
    """The smallest element along axes; NaN if there is one."""

    combine = "stablehlo.minimum"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return highest(dtype)


def reduce_min(operand: Any, axes: Sequence[int]) -> Any:
    """Return the smallest element along ``axes``."""
    return bind1(ReduceMin(whole_numbers(axes, "axes of reduce_min")), operand)


class ReduceProd(_Reduction, name="reduce_prod"):
    """The product along axes."""

    combine = "stablehlo.multiply"
    kinds = "ifc"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return 1

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        # d(x1 … xn) = sum of ti times the product of the others; these come from products of the elements
        # before and behind, so that a zero among the elements does no harm.
        (x,), (t,) = primals, tangents
        y = bind1(self, x)
        if t is ZERO:
            return [y], [ZERO]
        shape = shape_of(x)
        retained = tuple(axis for axis in range(len(shape)) if axis not in self.axes)
        front = (*retained, *self.axes)
        lead = tuple(shape[axis] for axis in retained)
        flat = (*lead, int(np.prod([shape[axis] for axis in self.axes], dtype=int)))
        values = reshape(transpose(x, front), flat)
        moved = reshape(transpose(t, front), flat)
        axis = len(lead)
        exclusive_products = mul(_exclusive_product(values, axis, False), _exclusive_product(values, axis, True))
        return [y], [reduce_sum(mul(moved, exclusive_products), (axis,))]


def reduce_prod(operand: Any, axes: Sequence[int]) -> Any:
    """Return the product along ``axes``."""
    return bind1(ReduceProd(whole_numbers(axes, "axes of reduce_prod")), operand)


def _exclusive_product(x: Any, axis: int, reverse: bool) -> Any:
    """Return the product of all elements before (behind, when reversed) each element along an axis."""
    size = shape_of(x)[axis]
    if size == 0:
        return x
    running = bind1(cumulative.CumProd(axis, reverse), x)
    unit = np.ones((), aval(x).dtype)[()]
    config = [(0, 0, 0)] * len(shape_of(x))
    config[axis] = (-1, 1, 0) if reverse else (1, -1, 0)
    return pad(running, unit, config)


class _Truth(_Reduction):
    """Reduction of booleans."""

    kinds = "bi"

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (y,) = super().abstract_eval(operands)
        return [shaped(y.shape, y.dtype)]  # the reduced dtype is no longer weak

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *primals)], [ZERO]


class ReduceAnd(_Truth, name="reduce_and"):
    """Logical conjunction along axes: true where all elements are."""

    combine = "stablehlo.and"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return True if kind_of(dtype) == "b" else np.invert(np.zeros((), dtype))


def reduce_and(operand: Any, axes: Sequence[int]) -> Any:
    """Return whether all elements are true, along ``axes``."""
    return bind1(ReduceAnd(whole_numbers(axes, "axes of reduce_and")), operand)


class ReduceOr(_Truth, name="reduce_or"):
    """Logical disjunction along axes: true where any element is."""

    combine = "stablehlo.or"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return 0


def reduce_or(operand: Any, axes: Sequence[int]) -> Any:
    """Return whether any element is true, along ``axes``."""
    return bind1(ReduceOr(whole_numbers(axes, "axes of reduce_or")), operand)


class ReduceXor(_Truth, name="reduce_xor"):
    """Exclusive disjunction along axes: true where an odd number of elements is; of integers, bit by bit."""

    combine = "stablehlo.xor"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return 0


def reduce_xor(operand: Any, axes: Sequence[int]) -> Any:
    """Return whether an odd number of elements is true, along ``axes``; of integers, bit by bit."""
    return bind1(ReduceXor(whole_numbers(axes, "axes of reduce_xor")), operand)


class _ArgExtreme(Operation):
    """The position of the first extreme element along one axis; of the first NaN if there is one."""

    traits = KERNEL
    axes: tuple[int, ...]
    index_dtype: np.dtype[Any]

    direction: ClassVar[str]

    sharding_rule = sharding_rules.reduced

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        if len(self.axes) != 1:
            raise ValueError(f"{self.name} goes along one axis, got {self.axes}")
        (axis,) = self.axes
        require_axes(self.name, self.axes, x.shape)
        require_kind(f"{self.name} (index_dtype)", self.index_dtype, "i")
        if x.shape[axis] == 0:
            raise ValueError(f"{self.name} along axis {axis} of shape {x.shape}, which has no elements")
        require_kind(self.name, x.dtype, "bif")
        return [shaped(tuple(size for i, size in enumerate(x.shape) if i != axis), self.index_dtype)]

    def start(self, dtype: np.dtype[Any]) -> Any:
        """Return the value that every element beats."""
        raise NotImplementedError

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,), (aval_x,), (out,) = operands, builder.in_avals, builder.out_avals
        scalar, index = shaped((), aval_x.dtype), shaped((), self.index_dtype)
        positions = builder.emit1(
            "stablehlo.iota",
            [],
            shaped(aval_x.shape, self.index_dtype),
            {"iota_dimension": attribute(f"{self.axes[0]} : i64")},
        )
        reduce_op = builder.operation(
            "stablehlo.reduce",
            [x, positions, builder.constant(self.start(aval_x.dtype), scalar), builder.constant(0, index)],
            {"dimensions": integers(self.axes)},
            [shaped(out.shape, aval_x.dtype), out],
            regions=1,
        )
        builder.fill_region(reduce_op, [scalar, index, scalar, index], lambda *v: self._better(builder, *v))
        return [reduce_op.results[1]]

    def _better(self, builder: Any, x: Any, i: Any, y: Any, j: Any) -> list[Any]:
        """Emit the more extreme of (x, i) and (y, j); the earlier of equals; NaN beats all."""
        truth, scalar = shaped((), np.dtype("bool")), shaped((), builder.in_avals[0].dtype)
        index = shaped((), self.index_dtype)

        def compare(direction: str, lhs: Any, rhs: Any) -> Any:
            attributes = {"comparison_direction": attribute(f"#stablehlo<comparison_direction {direction}>")}
            return builder.emit1("stablehlo.compare", [lhs, rhs], truth, attributes)

        def both(name: str, lhs: Any, rhs: Any) -> Any:
            return builder.emit1(f"stablehlo.{name}", [lhs, rhs], truth)

        # Select (x, i) when x is more extreme, or a NaN and y is not, or equally extreme and earlier.
        x_nan, y_nan, earlier = compare("NE", x, x), compare("NE", y, y), compare("LT", i, j)
        equal = both("or", compare("EQ", x, y), both("and", x_nan, y_nan))
        beats = both("or", compare(self.direction, x, y), both("and", x_nan, compare("EQ", y, y)))
        keep = both("or", beats, both("and", equal, earlier))
        return [
            builder.emit1("stablehlo.select", [keep, x, y], scalar),
            builder.emit1("stablehlo.select", [keep, i, j], index),
        ]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *primals)], [ZERO]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        moved = type(self)((self.axes[0] + 1,), self.index_dtype)
        return [bind1(moved, moveaxis(x, axis, 0))], [0]


class ArgMax(_ArgExtreme, name="argmax"):
    """The position of the first largest element along an axis."""

    direction = "GT"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return lowest(dtype)


def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """Return the position of the first largest element along ``axis``."""
    return bind1(ArgMax((axis,), np.dtype(index_dtype)), operand)


class ArgMin(_ArgExtreme, name="argmin"):
    """The position of the first smallest element along an axis."""

    direction = "LT"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return highest(dtype)


def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """Return the position of the first smallest element along ``axis``."""
    return bind1(ArgMin((axis,), np.dtype(index_dtype)), operand)
