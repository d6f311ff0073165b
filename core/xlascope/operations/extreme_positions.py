"""Positions of the largest and smallest elements along an axis."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..dtypes import is_floating
from ..ir.avals import ShapedArray, make_aval
from ..ir.jaxpr import ClosedJaxpr
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..records.traits import KERNEL
from ..trace.bind import bind1
from ..trace.jaxpr_trace import stage
from ..xla.mlir.builder import attribute, int64_array
from . import sharding_rules
from .arithmetic import add, sub
from .barriers import OptimizationBarrier
from .comparisons import eq, lt, ne
from .conversion import to_dtype
from .operand_checks import require_axes, require_kind
from .operand_values import highest, lowest, typed_scalar
from .reductions import ReduceMax, ReduceMin
from .selection import select
from .shapes import broadcasted_iota, full, moveaxis

#: On CPUs smaller arrays are reduced with their positions at once: it takes fewer kernels.
MIN_SIZE = 1024
_INT32, _FLOAT32 = np.dtype(np.int32), np.dtype(np.float32)
#: float32 has all integers up to this one.
_MAX_FLOAT32 = 2**24
_MAX_LENGTH = 2**31 - 1


class _ArgExtreme(Operation):
    """Position of the first largest or smallest element along one axis; of the first NaN if there is one."""

    traits = KERNEL
    axes: tuple[int, ...]
    index_dtype: np.dtype[Any]

    direction: ClassVar[str]

    @property
    def extreme(self) -> Any:
        """Return the reduction to the extreme itself, which may leave NaN out."""
        raise NotImplementedError

    sharding_rule = sharding_rules.reduce

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
        return [make_aval(tuple(size for i, size in enumerate(x.shape) if i != axis), self.index_dtype)]

    def start(self, dtype: np.dtype[Any]) -> Any:
        """Return the initial value of the reduction, which is not more extreme than any element."""
        raise NotImplementedError

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,), (aval_x,), (out,) = operands, builder.in_avals, builder.out_avals
        if builder.platform == "cpu" and aval_x.size >= MIN_SIZE and aval_x.shape[self.axes[0]] <= _MAX_LENGTH:
            return builder.call_formula(  # type: ignore[no-any-return]
                _stage_comparisons(self, make_aval(aval_x.shape, aval_x.dtype)), operands
            )
        scalar, index = make_aval((), aval_x.dtype), make_aval((), self.index_dtype)
        positions = builder.emit1(
            "stablehlo.iota",
            [],
            make_aval(aval_x.shape, self.index_dtype),
            {"iota_dimension": attribute(f"{self.axes[0]} : i64")},
        )
        reduce_op = builder.operation(
            "stablehlo.reduce",
            [x, positions, builder.constant(self.start(aval_x.dtype), scalar), builder.constant(0, index)],
            {"dimensions": int64_array(self.axes)},
            [make_aval(out.shape, aval_x.dtype), out],
            regions=1,
        )
        builder.fill_region(reduce_op, [scalar, index, scalar, index], lambda *v: self._emit_better(builder, *v))
        return [reduce_op.results[1]]

    def _emit_better(self, builder: Any, x: Any, i: Any, y: Any, j: Any) -> list[Any]:
        """Emit the selection of the more extreme of two elements, and return its value and position.

        These are scalar MLIR values: ``x`` at position ``i`` and ``y`` at ``j``. NaN is more extreme than all numbers;
        of equal elements the earlier one is selected.
        """
        truth, scalar = make_aval((), np.dtype("bool")), make_aval((), builder.in_avals[0].dtype)
        index = make_aval((), self.index_dtype)

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
        batched = type(self)((self.axes[0] + 1,), self.index_dtype)
        return [bind1(batched, moveaxis(x, axis, 0))], [0]


@functools.lru_cache(maxsize=256)
def _stage_comparisons(op: Any, x: ShapedArray) -> ClosedJaxpr:
    """Return the jaxpr that finds the extreme first, and then the least position of an element that equals it.

    XLA for CPUs computes the reduction of pairs one by one, and these two with vectors, in a tenth of the time.
    """
    (axis,) = op.axes
    length = x.shape[axis]
    # XLA hands reductions of floats to a library, which needs no compilation; across rows that library is slow.
    dtype = _FLOAT32 if axis == x.ndim - 1 and length <= _MAX_FLOAT32 else _INT32

    def find_position(array: Any) -> list[Any]:
        array = bind1(OptimizationBarrier(), array)  # it is read twice
        extreme = op.extreme.broadcast_to_operand(bind1(op.extreme, array), array)
        positions, none = broadcasted_iota(dtype, x.shape, axis), full(x.shape, dtype.type(length))
        candidates = select(eq(array, extreme), positions, none)
        if is_floating(x.dtype):  # positions of NaN are less than all others
            candidates = select(ne(array, array), sub(positions, none), candidates)
        first = bind1(ReduceMin(op.axes), candidates)
        if is_floating(x.dtype):
            first = select(lt(first, typed_scalar(0, dtype)), add(first, typed_scalar(length, dtype)), first)
        return [to_dtype(first, op.index_dtype)]

    return stage(find_position, [x], op.name)


class ArgMax(_ArgExtreme, name="argmax"):
    """Position of the first largest element along an axis."""

    direction = "GT"

    @property
    def extreme(self) -> ReduceMax:
        return ReduceMax(self.axes, propagates_nan=False)

    def start(self, dtype: np.dtype[Any]) -> Any:
        return lowest(dtype)


def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """Return the position of the first largest element along ``axis``, in ``index_dtype``."""
    return bind1(ArgMax((axis,), np.dtype(index_dtype)), operand)


class ArgMin(_ArgExtreme, name="argmin"):
    """Position of the first smallest element along an axis."""

    direction = "LT"

    @property
    def extreme(self) -> ReduceMin:
        return ReduceMin(self.axes, propagates_nan=False)

    def start(self, dtype: np.dtype[Any]) -> Any:
        return highest(dtype)


def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """Return the position of the first smallest element along ``axis``, in ``index_dtype``."""
    return bind1(ArgMin((axis,), np.dtype(index_dtype)), operand)
