"""Transfers of arrays to devices and back, and waiting for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tree
from ..control.jit.caches import clear_all
from ..control.parallel.sharding_constraints import with_sharding_constraint
from ..control.programs.tree_prefixes import broadcast_prefix_leaves
from ..runtime.guards import explicit_transfers
from ..trace.operand_coercion import unwrap_operand
from ..trace.source import here
from ..trace.traceback_filtering import api_boundary
from ..trace.tracer import TracerBase
from ..trace.values import aval_of
from ..xla.arrays.host_operands import is_cached_argument
from ..xla.arrays.key_array import KeyArray, to_physical
from ..xla.arrays.transfers import commit_to_device, put_on_device, wait_for_arrays
from ..xla.devices.array_patching import is_xlascope_array
from ..xla.devices.backend import ArrayImpl, client
from ..xla.sharding.meshes import PartitionSpec, require_mesh
from ..xla.sharding.named_shardings import NamedSharding


@api_boundary
def device_put(x: Any, device: Any = None) -> Any:
    """Put a tree of arrays on a device, or on several as a sharding says, and commit them to it.

    ``device`` is a device, a NamedSharding, a PartitionSpec (over the current mesh), or a tree of these that
    is a prefix of ``x``. With None, arrays stay where they are, and other values are put on the default
    device. Raises ValueError for a shape that cannot be cut like this.
    """

    def put_leaf(leaf: Any, leaf_target: Any) -> Any:
        if isinstance(leaf, TracerBase):
            return with_sharding_constraint(leaf, leaf_target) if isinstance(leaf_target, NamedSharding) else leaf
        if leaf_target is None and is_xlascope_array(to_physical(leaf)):
            return leaf
        array = put_on_device(unwrap_operand(leaf), aval_of(leaf), leaf_target)
        return array if leaf_target is None else commit_to_device(array, leaf_target)

    with explicit_transfers:
        if device is None or _is_single_target(device):
            target = _to_sharding(device)
            return tree.map(lambda leaf: put_leaf(leaf, target), x)
        targets = broadcast_prefix_leaves("device_put", "the tree of devices", device, x, _is_target_or_none, here)
        leaves, structure = tree.flatten(x)
        return structure.unflatten([put_leaf(leaf, _to_sharding(w)) for leaf, w in zip(leaves, targets, strict=True)])


def _is_single_target(x: Any) -> bool:
    return not isinstance(x, dict | list | tuple) and tree.structure(x) == tree.structure(0)


def _is_target_or_none(x: Any) -> bool:
    return x is None or _is_single_target(x)


def _to_sharding(device: Any) -> Any:
    return NamedSharding(require_mesh("device_put"), device) if isinstance(device, PartitionSpec) else device


def device_get(x: Any) -> Any:
    """Return a tree of NumPy arrays with the values of a tree of arrays; random keys stay arrays."""
    with explicit_transfers:
        return tree.map(lambda leaf: leaf if leaf.__class__ is KeyArray else np.asarray(leaf), x)


def copy_to_host_async(x: Any) -> Any:
    """Start to copy the arrays of a tree to the host, if that takes time, and return the tree without waiting."""
    for leaf in tree.leaves(x):
        if hasattr(leaf, "copy_to_host_async"):
            leaf.copy_to_host_async()
    return x


def block_until_ready(x: Any) -> Any:
    """Wait until all arrays of a tree have been computed, and return the tree."""
    leaves = tree.leaves(x)
    arrays = [leaf for leaf in leaves if leaf.__class__ is ArrayImpl]
    wait_for_arrays(arrays)
    for leaf in leaves if len(arrays) < len(leaves) else ():
        if leaf.__class__ is not ArrayImpl and hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    return x


def clear_caches() -> None:
    """Clear all traces and compiled programs of all functions and operations."""
    clear_all()


def live_arrays(platform: str | None = None) -> list[Any]:
    """Return the arrays of this process that have not been deleted, on a platform (None: the default one).

    Raises RuntimeError for a platform that is not available.
    """
    arrays = client(platform).live_arrays()  # among them are shards of sharded arrays
    return [x for x in arrays if is_xlascope_array(x) and not is_cached_argument(x)]
