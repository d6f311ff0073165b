"""with_sharding_constraint: shardings of values within programs."""

from __future__ import annotations

from typing import Any

from ... import tree
from ...operations.sharding_constraints import ShardingConstraint
from ...trace.bind import bind1
from ...trace.operand_coercion import unwrap_operand
from ...trace.source import here
from ...trace.state import STATE
from ...trace.values import aval_of
from ...xla.arrays.transfers import put_on_device
from ...xla.execution.eager import execute_single
from ...xla.sharding.meshes import PartitionSpec
from ...xla.sharding.named_shardings import MultiDeviceSharding, NamedSharding
from ...xla.system.hooks import HOOKS
from ..jit.shardings import resolve_sharding
from ..programs.tree_prefixes import broadcast_prefix_leaves


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Return a tree of arrays with the given shardings: NamedShardings, or PartitionSpecs over the current mesh.

    ``shardings`` is a prefix of the tree. Inside jit XLA arranges the program accordingly; outside, the arrays are
    moved. An axis that is ``PartitionSpec.UNCONSTRAINED`` is left to XLA. Raises ValueError for a shape that cannot
    be sharded so.
    """
    sharding_leaves = broadcast_prefix_leaves("with_sharding_constraint", "shardings", shardings, x, _is_leaf, here)
    leaves, structure = tree.flatten(x)
    return structure.unflatten(
        [_constrain(leaf, sharding) for leaf, sharding in zip(leaves, sharding_leaves, strict=True)]
    )


def _is_leaf(x: Any) -> bool:
    return isinstance(x, PartitionSpec | MultiDeviceSharding)


def _constrain(x: Any, sharding_or_spec: Any) -> Any:
    sharding = resolve_sharding("with_sharding_constraint", sharding_or_spec)
    if STATE.trace is None:
        return put_on_device(
            unwrap_operand(x), aval_of(x), sharding if isinstance(sharding, MultiDeviceSharding) else sharding._device
        )
    return bind1(ShardingConstraint(sharding), x) if isinstance(sharding, NamedSharding) else x


def _reshard(x: Any, sharding: NamedSharding) -> Any:
    """Return an array of several processes with another sharding, by a program that all of them run."""
    return execute_single(ShardingConstraint(sharding), [x])


HOOKS.reshard = _reshard
