"""Operations across the examples of a named axis: reductions over all of them, exchanges between them.

A collective names the axes that it crosses. The trace that maps over such an axis carries it out (``carry_out``); to
any other trace it is an ordinary operation. Derivatives are those of the function of all examples together: the
cotangent of one example's operand is the sum of the contributions of all examples.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

from ..ir.avals import ShapedArray
from ..ir.jaxpr import ClosedJaxpr
from ..ir.markers import NOT_MAPPED, ZERO
from ..records.traits import KERNEL
from ..trace.bind import bind, bind1
from ..xla.lowering import collectives as across
from . import reductions
from .arithmetic import div, mul
from .comparisons import eq
from .conversion import convert_element_type
from .linear import Linear
from .requirements import require_kind
from .shapes import reduce_sum
from .values import dtype_of


class Collective(Linear):
    """Operation that crosses the named ``axes``; linear in its operand, unless a subclass says otherwise."""

    traits = KERNEL
    axes: tuple[Hashable, ...]

    surrounded = True

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        manual = builder.manual
        if manual is None or not set(self.axes) <= set(manual.names):
            listed = ", ".join(map(repr, self.axes))
            raise NameError(
                f"{self.name} crosses the axis {listed}, which is not bound by a pmap or shard_map where it is "
                "compiled. Call it inside the function that is mapped over that axis, such as "
                f"vmap(f, axis_name={self.axes[0]!r})."
            )
        return [self.across_devices(builder, *operands)]

    def across_devices(self, builder: Any, *operands: Any) -> Any:
        """Emit the operation where the axes are those of a mesh; return the MLIR value of the result."""
        raise NotImplementedError

    def simpler(self, operands: Sequence[Any]) -> list[Any] | None:
        """Rewrite as collectives that cross one axis each, in their plainest form; return None if this is one."""
        return None

    def carry_out(
        self, operands: Sequence[Any], axes: Sequence[Any], name: Hashable, size: int
    ) -> tuple[list[Any], list[Any]]:
        """Return results and their mapped axes, for operands mapped over ``axes``, of that name and size."""
        raise NotImplementedError


def axis_names_of(program: ClosedJaxpr) -> frozenset[Hashable]:
    """Return the names of the axes that a program crosses, those in nested programs included."""
    axis_names = program.derived.get("axis names")
    if axis_names is None:
        names: set[Hashable] = set()
        for raw in program.jaxpr.raw:
            operation = raw[0]
            if isinstance(operation, Collective):
                names.update(operation.axes)
            for body in operation.bodies():
                names |= axis_names_of(body) - operation.binds_axes
        axis_names = program.derived["axis names"] = frozenset(names)
    return axis_names


class _Reduction(Collective):
    """Collective that reduces over all examples."""

    kinds: ClassVar[str]
    #: The StableHLO operation that combines the operands of devices.
    hlo: ClassVar[str]

    def across_devices(self, builder: Any, *operands: Any) -> Any:
        (x,) = operands
        return across.reduced(builder, x, builder.out_avals[0], self.axes, self.hlo)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        require_kind(self.name, x.dtype, self.kinds)
        return [x]

    def carry_out(
        self, operands: Sequence[Any], axes: Sequence[Any], name: Hashable, size: int
    ) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        combined = self.shared(x, size) if axis is NOT_MAPPED else self.combined(x, axis)
        remaining = tuple(axis_name for axis_name in self.axes if axis_name != name)
        return [bind1(type(self)(remaining), combined) if remaining else combined], [NOT_MAPPED]

    def combined(self, x: Any, axis: int) -> Any:
        """Reduce the examples along an axis."""
        raise NotImplementedError

    def shared(self, x: Any, size: int) -> Any:
        """Reduce ``size`` copies of the same value."""
        return x

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *operands), list(axes)


class PSum(_Reduction, name="psum"):
    """The sum over all examples."""

    kinds = "ifc"
    hlo = "stablehlo.add"

    def combined(self, x: Any, axis: int) -> Any:
        return reduce_sum(x, (axis,))

    def shared(self, x: Any, size: int) -> Any:
        return mul(x, size)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        # Each example's operand contributes to every example's sum: its cotangent is the sum of all cotangents.
        return [bind1(self, *cotangents)]


class _Extreme(_Reduction):
    """The largest or smallest value over all examples; equal extremes share the derivative."""

    kinds = "bifc"

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (t,) = primals, tangents
        y = bind1(self, x)
        if t is ZERO:
            return [y], [ZERO]
        chosen = convert_element_type(eq(x, y), dtype_of(x))
        total = PSum(self.axes)
        return [y], [div(bind1(total, mul(t, chosen)), bind1(total, chosen))]


class PMax(_Extreme, name="pmax"):
    """The largest over all examples."""

    hlo = "stablehlo.maximum"

    def combined(self, x: Any, axis: int) -> Any:
        return bind1(reductions.ReduceMax((axis,)), x)


class PMin(_Extreme, name="pmin"):
    """The smallest over all examples."""

    hlo = "stablehlo.minimum"

    def combined(self, x: Any, axis: int) -> Any:
        return bind1(reductions.ReduceMin((axis,)), x)
