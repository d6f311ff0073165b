"""Sharding of values over the devices that share a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.avals import ShapedArray, laid
from ..ir.explicit import parts_of
from ..ir.markers import NOT_MAPPED
from ..trace.bind import bind1
from ..trace.values import aval_of
from ..xla.sharding.meshes import PartitionSpec
from ..xla.sharding.named_shardings import NamedSharding, typed
from . import sharding_rules
from .linear import Linear


class ShardingConstraint(Linear, name="sharding_constraint"):
    """The operand, with the given sharding."""

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
        return [typed(x, self.sharding)]

    def sharding_rule(self, parts: Any, operands: Any, results: Any) -> Any:
        return [parts_of(aval) for aval in results]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,) = operands
        return [builder.constrained(x, self.sharding)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,) = cotangents
        # Along explicit axes the cotangent gets the operand's sharding.
        return [ct if self.sharding.mesh.all_explicit else bind1(self, ct)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        # The sharding of the batch axis is unspecified.
        spec = with_part(self.sharding.spec, axis, parts_of(aval_of(x))[axis] or PartitionSpec.UNCONSTRAINED)
        return [bind1(ShardingConstraint(self.sharding.with_spec(spec)), x)], [axis]


class MeshCast(Linear, name="mesh_cast"):
    """The operand, whose sharding along explicit axes is left to XLA from here on."""

    takes_keys = True
    sharding_rule = sharding_rules.whole

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return [laid(x, None) for x in operands]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return list(operands)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        return list(cotangents)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *operands)], list(axes)


def left_to_xla(x: Any) -> Any:
    """Return a value whose type has no explicit sharding."""
    return x if aval_of(x).explicit is None else bind1(MeshCast.instance, x)


def lying_as(aval: ShapedArray, x: Any) -> Any:
    """Return a value with the explicit sharding of the type ``aval``."""
    sharding = aval_of(x).explicit
    if sharding == aval.explicit:
        return x
    wanted = aval.explicit or sharding.with_spec(())
    return resharded(x, wanted)


def resharded(x: Any, sharding: NamedSharding) -> Any:
    """Return a value with the given sharding."""
    return bind1(ShardingConstraint(sharding), x)


def with_part(spec: PartitionSpec, axis: Any, part: Any) -> PartitionSpec:
    """Return the spec for arrays with one more axis, partitioned like ``part``; unchanged for an unmapped axis."""
    if axis is NOT_MAPPED:
        return spec
    parts = [*spec, *[None] * (axis - len(spec))]
    return PartitionSpec(*parts[:axis], part, *parts[axis:])
