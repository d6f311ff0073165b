"""Reductions other than the sum: maximum, minimum, product, booleans, and the positions of extremes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..dtypes import dtype_kind
from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..records.traits import KERNEL
from ..trace.bind import bind1
from ..xla.known_faults.nan_of_extremes import may_drop_nan, propagate_nan_of_extreme
from . import cumulative, sharding_rules
from .arithmetic import div, mul
from .comparisons import eq
from .complex_numbers import emit_extreme
from .conversion import to_dtype
from .integer_arguments import whole_numbers
from .linear_operation import linear_taylor_rule
from .operand_checks import require_axes, require_kind
from .operand_values import aval, highest, lowest, shape_of, typed_scalar
from .shapes import broadcast_in_dim, moveaxis, reduce_region, reduce_sum, reshape, transpose
from .slicing import pad


class _AxisReduction(Operation):
    """Base of reductions of the elements along ``axes``."""

    traits = KERNEL
    axes: tuple[int, ...]

    combine: ClassVar[str]
    kinds: ClassVar[str]

    sharding_rule = sharding_rules.reduce

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        require_kind(self.name, x.dtype, self.kinds)
        require_axes(self.name, self.axes, x.shape)
        shape = tuple(size for axis, size in enumerate(x.shape) if axis not in self.axes)
        return [make_aval(shape, x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        start = self.start(builder.in_avals[0].dtype)
        return reduce_region(builder, operands[0], self.axes, start, self.combine)

    def start(self, dtype: np.dtype[Any]) -> Any:
        """Return the identity element of the reduction for ``dtype``."""
        raise NotImplementedError

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return operands[0].size

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        batched = self.with_axes(tuple(a + 1 for a in self.axes))
        return [bind1(batched, moveaxis(x, axis, 0))], [0]

    def with_axes(self, axes: tuple[int, ...]) -> Operation:
        """Return the same reduction along other axes."""
        return type(self)(axes)

    def broadcast_to_operand(self, y: Any, x: Any) -> Any:
        """Broadcast a result ``y`` along the reduced axes to the shape of the operand ``x``."""
        retained = tuple(axis for axis in range(len(shape_of(x))) if axis not in self.axes)
        return broadcast_in_dim(y, shape_of(x), retained)


class _ReduceExtreme(_AxisReduction):
    """Largest or smallest element along axes; the tangent is the mean of those of equal extremes.

    ``propagates_nan`` is False if what is computed of the result is NaN, also where the result is not, as soon as an
    element is NaN. Such a reduction may leave NaN out, and takes less time where XLA does so.
    """

    propagates_nan: bool = True

    kinds = "bifc"
    taylor_rule = linear_taylor_rule

    @property
    def params(self) -> dict[str, Any]:
        return {"axes": self.axes}

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        ((x,), (operand,)) = operands, builder.in_avals
        (extreme,) = reduce_region(builder, x, self.axes, self.start(operand.dtype), self.combine, emit_extreme)
        if not self.propagates_nan or not may_drop_nan(builder, operand):
            return [extreme]

        def emit_sum(squares: Any) -> Any:
            return reduce_region(builder, squares, self.axes, 0, "stablehlo.add")[0]

        return [propagate_nan_of_extreme(builder, x, operand, extreme, emit_sum)]

    def with_axes(self, axes: tuple[int, ...]) -> Operation:
        return type(self)(axes, self.propagates_nan)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (t,) = primals, tangents
        y = bind1(self, x)
        if t is ZERO:
            return [y], [ZERO]
        is_extreme = to_dtype(eq(x, self.broadcast_to_operand(y, x)), aval(x).dtype)
        count = reduce_sum(is_extreme, self.axes)
        return [y], [div(reduce_sum(mul(t, is_extreme), self.axes), count)]


class ReduceMax(_ReduceExtreme, name="reduce_max"):
    """Largest element along ``axes``; NaN if there is one."""

    combine = "stablehlo.maximum"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return lowest(dtype)


def reduce_max(operand: Any, axes: Sequence[int]) -> Any:
    """Return the largest element along ``axes``, which are removed; NaN if there is one."""
    return bind1(ReduceMax(whole_numbers(axes, "axes of reduce_max")), operand)


def reduce_max_unless_nan(operand: Any, axes: Sequence[int]) -> Any:
    """Return the largest element along ``axes``, which are removed; NaN or one of the others if there is a NaN.

    It is for functions that are NaN anyway then, such as softmax, and takes less time than :func:`reduce_max`.
    """
    return bind1(ReduceMax(whole_numbers(axes, "axes of reduce_max"), False), operand)


class ReduceMin(_ReduceExtreme, name="reduce_min"):
    """Smallest element along ``axes``; NaN if there is one."""

    combine = "stablehlo.minimum"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return highest(dtype)


def reduce_min(operand: Any, axes: Sequence[int]) -> Any:
    """Return the smallest element along ``axes``, which are removed; NaN if there is one."""
    return bind1(ReduceMin(whole_numbers(axes, "axes of reduce_min")), operand)


class ReduceProd(_AxisReduction, name="reduce_prod"):
    """Product along ``axes``."""

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
        flat_tangent = reshape(transpose(t, front), flat)
        axis = len(lead)
        exclusive_products = mul(_exclusive_product(values, axis, False), _exclusive_product(values, axis, True))
        return [y], [reduce_sum(mul(flat_tangent, exclusive_products), (axis,))]


def reduce_prod(operand: Any, axes: Sequence[int]) -> Any:
    """Return the product of the elements along ``axes``, which are removed."""
    return bind1(ReduceProd(whole_numbers(axes, "axes of reduce_prod")), operand)


def _exclusive_product(x: Any, axis: int, reverse: bool) -> Any:
    """Return, for each element, the product of all before it along ``axis`` (after it with ``reverse``)."""
    size = shape_of(x)[axis]
    if size == 0:
        return x
    running = bind1(cumulative.CumProd(axis, reverse), x)
    unit = typed_scalar(1, aval(x).dtype)
    config = [(0, 0, 0)] * len(shape_of(x))
    config[axis] = (-1, 1, 0) if reverse else (1, -1, 0)
    return pad(running, unit, config)


class _BooleanReduction(_AxisReduction):
    """Base of logical reductions of booleans, bitwise ones of integers; their derivatives are zero."""

    kinds = "bi"

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (y,) = super().abstract_eval(operands)
        return [make_aval(y.shape, y.dtype)]  # the reduced dtype is no longer weak

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *primals)], [ZERO]


class ReduceAnd(_BooleanReduction, name="reduce_and"):
    """Logical conjunction along axes: true where all elements are; bitwise for integers."""

    combine = "stablehlo.and"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return True if dtype_kind(dtype) == "b" else np.invert(np.zeros((), dtype))


def reduce_and(operand: Any, axes: Sequence[int]) -> Any:
    """Return whether all elements are true, along ``axes``; bitwise for integers."""
    return bind1(ReduceAnd(whole_numbers(axes, "axes of reduce_and")), operand)


class ReduceOr(_BooleanReduction, name="reduce_or"):
    """Logical disjunction along axes: true where any element is; bitwise for integers."""

    combine = "stablehlo.or"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return 0


def reduce_or(operand: Any, axes: Sequence[int]) -> Any:
    """Return whether any element is true, along ``axes``; bitwise for integers."""
    return bind1(ReduceOr(whole_numbers(axes, "axes of reduce_or")), operand)


class ReduceXor(_BooleanReduction, name="reduce_xor"):
    """Exclusive disjunction along axes: true where an odd number of elements is; bitwise for integers."""

    combine = "stablehlo.xor"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return 0


def reduce_xor(operand: Any, axes: Sequence[int]) -> Any:
    """Return whether an odd number of elements is true, along ``axes``; bitwise for integers."""
    return bind1(ReduceXor(whole_numbers(axes, "axes of reduce_xor")), operand)
