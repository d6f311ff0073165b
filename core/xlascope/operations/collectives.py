"""Operations across the examples of a named axis: reductions over all of them, exchanges between them.

A collective names the axes that it crosses. The trace that maps over such an axis carries it out (``carry_out``); to
any other trace it is an ordinary operation. Derivatives are those of the function of all examples together: the
cotangent of one example's operand is the sum of the contributions of all examples.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import numpy as np

from ..ir.avals import AxisNames, ShapedArray, union_of_varying_axes
from ..ir.jaxpr import ClosedJaxpr
from ..ir.markers import NOT_MAPPED, ZERO
from ..records.traits import KERNEL
from ..trace.bind import bind, bind1
from ..trace.source import here
from ..trace.values import aval_of
from ..xla.known_faults.nan_of_extremes import may_drop_nan, propagate_nan_of_extreme
from ..xla.lowering import collectives as across
from . import reductions
from .arithmetic import div, mul
from .comparisons import eq
from .conversion import to_dtype
from .indexing import GatherDimensionNumbers, gather
from .linear_operation import Linear
from .operand_checks import require_kind, type_of
from .operand_values import dtype_of, shape_of
from .shapes import broadcast_in_dim, mapped_in_front, reduce_sum
from .slicing import concatenate

#: Groups of examples, by their indices along all axes of a collective together; None for one group of all examples.
Groups = tuple[tuple[int, ...], ...] | None


class CollectiveOperation(Linear):
    """Base of operations across the named ``axes``; linear in the operand, unless a subclass says otherwise.

    With ``axis_index_groups``, which several have, the examples of each group are apart from the others.
    """

    traits = KERNEL
    axes: tuple[Hashable, ...]

    is_context_dependent = True

    @property
    def params(self) -> dict[str, Any]:
        return {key: value for key, value in super().params.items() if key != "axis_index_groups" or value is not None}

    def operand_varying_axes(self, types: Sequence[ShapedArray], checked: AxisNames) -> AxisNames:
        return union_of_varying_axes(types) | checked.intersection(self.axes)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        manual = builder.manual
        if manual is None or not set(self.axes) <= set(manual.names):
            listed = ", ".join(map(repr, self.axes))
            raise NameError(
                f"{self.name} crosses the axis {listed}, which is not bound by a pmap or shard_map where it is "
                "compiled. Call it inside the function that is mapped over that axis, such as "
                f"vmap(f, axis_name={self.axes[0]!r})."
            )
        return [self.lower_on_mesh(builder, *operands)]

    def lower_on_mesh(self, builder: Any, *operands: Any) -> Any:
        """Emit the operation across mesh axes, in a shard_map or pmap; return the MLIR value of the result."""
        raise NotImplementedError

    def decompose(self, operands: Sequence[Any]) -> list[Any] | None:
        """Bind equivalent collectives over one axis each, and return the results.

        Returns None if :meth:`carry_out` can compute this operation as it is.
        """
        return None

    def carry_out(
        self, operands: Sequence[Any], axes: Sequence[Any], name: Hashable, size: int
    ) -> tuple[list[Any], list[Any]]:
        """Compute the collective over one mapped axis; return the results and their batch axes.

        ``axes`` are the batch axes of the operands (NOT_MAPPED for an operand that all examples share); ``name`` and
        ``size`` are those of the mapped axis.
        """
        raise NotImplementedError


def axis_names_of(program: ClosedJaxpr) -> frozenset[Hashable]:
    """Return the names of the axes that the collectives of a program cross, nested programs included.

    Axes that an operation binds for its own nested program are left out. The result is cached in the program.
    """
    axis_names = program.derived.get("axis names")
    if axis_names is None:
        names: set[Hashable] = set()
        for raw in program.jaxpr.raw:
            operation = raw[0]
            if isinstance(operation, CollectiveOperation):
                names.update(operation.axes)
            for body in operation.bodies():
                names |= axis_names_of(body) - operation.binds_axes
        axis_names = program.derived["axis names"] = frozenset(names)
    return axis_names


class _AllReduce(CollectiveOperation):
    """Base of collectives that combine the operands of all examples into one value, the same for all of them.

    With ``axis_index_groups`` it is the same for those of a group.
    """

    kinds: ClassVar[str]
    #: The StableHLO operation that combines the operands of devices.
    hlo: ClassVar[str]

    axis_index_groups: Groups = None

    def lower_on_mesh(self, builder: Any, *operands: Any) -> Any:
        (x,) = operands
        return across.all_reduce(builder, x, builder.out_avals[0], self.axes, self.hlo, self.axis_index_groups)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        require_kind(self.name, x.dtype, self.kinds)
        return [x]

    def varying_axes(self, types: Sequence[ShapedArray]) -> AxisNames:
        axes = union_of_varying_axes(types)
        return axes if self.axis_index_groups is not None else axes.difference(self.axes)

    def decompose(self, operands: Sequence[Any]) -> list[Any] | None:
        require_one_axis(self, self.axis_index_groups)
        return None

    def carry_out(
        self, operands: Sequence[Any], axes: Sequence[Any], name: Hashable, size: int
    ) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        if name in aval_of(x).varying:
            raise ValueError(_shadowed_axis_text(self.name, name))
        if self.axis_index_groups is not None:
            parts = split_into_groups(mapped_in_front(x, axis, size), self.axis_index_groups)
            combined_parts = [_repeat(self.reduce_mapped(part, 0), shape_of(part)[0]) for part in parts]
            return [join_groups(combined_parts, self.axis_index_groups)], [0]
        combined = self.reduce_unmapped(x, size) if axis is NOT_MAPPED else self.reduce_mapped(x, axis)
        remaining = tuple(axis_name for axis_name in self.axes if axis_name != name)
        return [bind1(type(self)(remaining), combined) if remaining else combined], [NOT_MAPPED]

    def reduce_mapped(self, x: Any, axis: int) -> Any:
        """Return ``x`` reduced along ``axis``, its batch axis."""
        raise NotImplementedError

    def reduce_unmapped(self, x: Any, size: int) -> Any:
        """Return the reduction of ``size`` examples that are all equal to ``x``."""
        return x

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *operands), list(axes)


def require_one_axis(operation: CollectiveOperation, groups: Groups) -> None:
    """Raise NotImplementedError for a collective within ``groups`` across several axes, one of which is a vmap's."""
    if groups is not None and len(operation.axes) > 1:
        raise NotImplementedError(
            f"{operation.name} over {operation.axes} with axis_index_groups{here()}: where a vmap maps one of them, "
            "it can cross no other. Map over one axis, or cross the axes of a mesh"
        )


def split_into_groups(x: Any, groups: tuple[tuple[int, ...], ...]) -> list[Any]:
    """Return for each group its examples along axis 0 of ``x``, which has all examples along it."""
    return [_take_examples(x, group) for group in groups]


def join_groups(parts: Sequence[Any], groups: tuple[tuple[int, ...], ...]) -> Any:
    """Return all examples along axis 0, from those of each group: the inverse of :func:`split_into_groups`."""
    return _take_examples(concatenate(parts, 0), np.argsort([index for group in groups for index in group]).tolist())


def _take_examples(x: Any, indices: Sequence[int]) -> Any:
    shape = shape_of(x)
    numbers = GatherDimensionNumbers(tuple(range(1, len(shape))), (0,), (0,))
    return gather(x, np.array(indices, np.int32)[:, None], numbers, (1, *shape[1:]))


def _repeat(x: Any, count: int) -> Any:
    """Return an array that has ``x`` for each of ``count`` examples along axis 0."""
    return broadcast_in_dim(x, (count, *shape_of(x)), range(1, len(shape_of(x)) + 1))


def _shadowed_axis_text(title: str, name: Hashable) -> str:
    """Return the message of the error for a collective over ``name``, which a vmap took from the mesh."""
    return (
        f"{title} over {name!r}{here()}: the vmap around it has taken that name from an axis of the mesh along which "
        "the values vary, so a sum over devices, which derivatives also need, would be one over its examples. Give the "
        "vmap another axis_name."
    )


class PSum(_AllReduce, name="psum"):
    """Sum over all examples."""

    kinds = "ifc"
    hlo = "stablehlo.add"

    def reduce_mapped(self, x: Any, axis: int) -> Any:
        return reduce_sum(x, (axis,))

    def reduce_unmapped(self, x: Any, size: int) -> Any:
        return mul(x, size)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        # Each example's operand contributes to every example's sum: its cotangent is the sum of all cotangents. Where
        # types say that the sum is one value for all devices, it has one cotangent, which is that of each operand.
        (ct,), (x,) = cotangents, operands
        if self.axis_index_groups is not None:
            return [bind1(self, ct)]
        summed = tuple(axis for axis in self.axes if axis not in type_of(x).varying)
        return [bind1(PSum(summed), ct) if summed else ct]


class _AllReduceExtreme(_AllReduce):
    """Maximum or minimum over all examples; its tangent is the mean of those of equal extremes."""

    kinds = "bifc"

    def lower_on_mesh(self, builder: Any, *operands: Any) -> Any:
        ((x,), (operand,)) = operands, builder.in_avals
        extreme = super().lower_on_mesh(builder, x)
        if not may_drop_nan(builder, operand):
            return extreme

        def emit_sum(squares: Any) -> Any:
            return across.all_reduce(builder, squares, operand, self.axes, "stablehlo.add", self.axis_index_groups)

        return propagate_nan_of_extreme(builder, x, operand, extreme, emit_sum)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (t,) = primals, tangents
        y = bind1(self, x)
        if t is ZERO:
            return [y], [ZERO]
        is_extreme = to_dtype(eq(x, y), dtype_of(x))
        total = PSum(self.axes, self.axis_index_groups)
        return [y], [div(bind1(total, mul(t, is_extreme)), bind1(total, is_extreme))]


class PMax(_AllReduceExtreme, name="pmax"):
    """Maximum over all examples."""

    hlo = "stablehlo.maximum"

    def reduce_mapped(self, x: Any, axis: int) -> Any:
        return bind1(reductions.ReduceMax((axis,)), x)


class PMin(_AllReduceExtreme, name="pmin"):
    """Minimum over all examples."""

    hlo = "stablehlo.minimum"

    def reduce_mapped(self, x: Any, axis: int) -> Any:
        return bind1(reductions.ReduceMin((axis,)), x)
