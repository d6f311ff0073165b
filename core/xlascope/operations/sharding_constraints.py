"""How a value is to lie over the devices that share a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.avals import ShapedArray
from ..ir.markers import NOT_MAPPED
from ..trace.bind import bind1
from ..xla.meshes import PartitionSpec
from ..xla.named_shardings import NamedSharding
from .linear import Linear


class ShardingConstraint(Linear, name="sharding_constraint"):
    """The operand, which lies as the sharding says."""

    sharding: NamedSharding

    @property
    def mesh(self) -> Any:
        return self.sharding.mesh

    def wishes(self) -> Sequence[Any]:
        return [self.sharding]

    def gives(self) -> Sequence[Any]:
        return [self.sharding]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        self.sharding.check_shape("with_sharding_constraint", x.shape)
        return [x]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,) = operands
        return [builder.constrained(x, self.sharding)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        return [bind1(self, *cotangents)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        # Nobody said how the examples lie.
        spec = with_part(self.sharding.spec, axis, PartitionSpec.UNCONSTRAINED)
        return [bind1(ShardingConstraint(self.sharding.with_spec(spec)), x)], [axis]


def with_part(spec: PartitionSpec, axis: Any, part: Any) -> PartitionSpec:
    """A spec for arrays with one axis more, which is cut like ``part``; the same spec where nothing is mapped."""
    if axis is NOT_MAPPED:
        return spec
    parts = [*spec, *[None] * (axis - len(spec))]
    return PartitionSpec(*parts[:axis], part, *parts[axis:])
