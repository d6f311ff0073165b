"""Sharding of values over the devices that share a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.avals import ShapedArray, with_explicit_sharding
from ..ir.explicit_sharding import parts_of
from ..ir.markers import NOT_MAPPED
from ..trace.bind import bind1
from ..trace.values import aval_of
from ..xla.sharding.meshes import PartitionSpec
from ..xla.sharding.named_shardings import NamedSharding, aval_with_sharding
from . import sharding_rules
from .linear_operation import Linear


class ShardingConstraint(Linear, name="sharding_constraint"):
    """Identity whose result has the sharding ``sharding``."""

    sharding: NamedSharding

    @property
    def mesh(self) -> Any:
        return self.sharding.mesh

    def requested_shardings(self) -> Sequence[Any]:
        return [self.sharding]

    def inferred_shardings(self) -> Sequence[Any]:
        return [self.sharding]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        self.sharding.check_shape("with_sharding_constraint", x.shape)
        return [aval_with_sharding(x, self.sharding)]

    def sharding_rule(self, parts: Any, operands: Any, results: Any) -> Any:
        return [parts_of(aval) for aval in results]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,) = operands
        return [builder.constrain_sharding(x, self.sharding)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,) = cotangents
        # Along explicit axes the cotangent gets the operand's sharding.
        return [ct if self.sharding.mesh.all_explicit else bind1(self, ct)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        # The sharding of the batch axis is unspecified.
        spec = insert_spec_part(self.sharding.spec, axis, parts_of(aval_of(x))[axis] or PartitionSpec.UNCONSTRAINED)
        return [bind1(ShardingConstraint(self.sharding.with_spec(spec)), x)], [axis]


class MeshCast(Linear, name="mesh_cast"):
    """Identity whose result has no explicit sharding: XLA determines its sharding from here on."""

    accepts_keys = True
    sharding_rule = sharding_rules.replicate

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return [with_explicit_sharding(x, None) for x in operands]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return list(operands)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        return list(cotangents)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *operands)], list(axes)


def drop_explicit_sharding(x: Any) -> Any:
    """Return ``x`` with a type without explicit sharding."""
    return x if aval_of(x).explicit is None else bind1(MeshCast.instance, x)


def match_sharding(aval: ShapedArray, x: Any) -> Any:
    """Return ``x`` with the explicit sharding of the type ``aval``.

    If that type has none, the result is replicated over the mesh of ``x``.
    """
    sharding = aval_of(x).explicit
    if sharding == aval.explicit:
        return x
    target = aval.explicit or sharding.with_spec(())
    return apply_sharding(x, target)


def apply_sharding(x: Any, sharding: NamedSharding) -> Any:
    """Return ``x`` with the given sharding."""
    return bind1(ShardingConstraint(sharding), x)


def insert_spec_part(spec: PartitionSpec, axis: Any, part: Any) -> PartitionSpec:
    """Return the partition spec of an array with one more axis.

    ``axis`` is its position and ``part`` the mesh axes it is cut along; for NOT_MAPPED the spec is unchanged.
    """
    if axis is NOT_MAPPED:
        return spec
    parts = [*spec, *[None] * (axis - len(spec))]
    return PartitionSpec(*parts[:axis], part, *parts[axis:])
