"""with_sharding_constraint: shardings of values within programs."""

from __future__ import annotations

from typing import Any

from ... import tree
from ...operations.sharding_constraints import ShardingConstraint
from ...trace.bind import bind1
from ...trace.gate import opened
from ...trace.source import here
from ...trace.state import STATE
from ...trace.values import aval_of
from ...xla.arrays.transfers import put
from ...xla.sharding.meshes import PartitionSpec
from ...xla.sharding.named_shardings import NamedSharding, OnSeveral
from ..jit.placing import meant
from ..programs.prefixes import leaves_of_prefix


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Return a tree of arrays with the given shardings: NamedShardings, or PartitionSpecs over the current mesh.

    ``shardings`` is a prefix of the tree. Within jit XLA arranges the program around it; outside the arrays are
    moved. An axis that is ``PartitionSpec.UNCONSTRAINED`` is left to XLA. Raises ValueError for a shape that
    cannot be cut so.
    """
    sharding_leaves = leaves_of_prefix("with_sharding_constraint", "shardings", shardings, x, _is_leaf, here)
    leaves, structure = tree.flatten(x)
    return structure.unflatten(
        [_constrained(leaf, sharding) for leaf, sharding in zip(leaves, sharding_leaves, strict=True)]
    )


def _is_leaf(x: Any) -> bool:
    return isinstance(x, PartitionSpec | OnSeveral)


def _constrained(x: Any, sharding_or_spec: Any) -> Any:
    sharding = meant("with_sharding_constraint", sharding_or_spec)
    if STATE.trace is None:
        return put(opened(x), aval_of(x), sharding if isinstance(sharding, OnSeveral) else sharding._device)
    return bind1(ShardingConstraint(sharding), x) if isinstance(sharding, NamedSharding) else x
