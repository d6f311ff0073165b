"""Arrays of one process as parts of arrays of all processes, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import tree
from ..control.programs.tree_prefixes import broadcast_prefix_leaves
from ..ir.avals import make_aval
from ..trace.source import here
from ..trace.traceback_filtering import api_boundary
from ..xla.arrays.key_array import KeyArray
from ..xla.devices.array_patching import is_xlascope_array
from ..xla.devices.backend import ArrayImpl
from ..xla.sharding.meshes import Mesh, PartitionSpec
from ..xla.sharding.named_shardings import NamedSharding
from ..xla.sharding.process_blocks import find_axis_blocks
from ..xla.sharding.sharded_arrays import (
    array_from_shards,
    array_sharding,
    far_array_error,
    is_local,
    is_multi_device,
    local_shard_arrays,
)
from .distribution import make_array_from_process_local_data
from .placement import device_put


def spans_processes(mesh: Mesh) -> bool:
    """Return whether a mesh has devices of other processes."""
    return not all(map(is_local, mesh.flat))


def local_mesh_of(mesh: Mesh) -> Mesh:
    """Return the mesh of the devices of this process in ``mesh``; raises ValueError if they form no box in it."""
    mine = np.vectorize(is_local, otypes=[bool])(mesh.devices)
    box = tuple(np.unique(positions) for positions in np.nonzero(mine))
    if mine.sum() != np.prod([len(positions) for positions in box]):
        raise ValueError(f"the devices of this process form no box in {mesh}{here()}")
    return Mesh(mesh.devices[np.ix_(*box)], mesh.axis_names, mesh.axis_types)


def to_global_array(x: Any, mesh: Mesh, spec: PartitionSpec) -> Any:
    """Return the array of all processes on ``mesh`` of which this process gives ``x``, partitioned as ``spec`` says.

    An array with that sharding on the devices of this process shares its memory with the result.
    """
    if x.__class__ is KeyArray:
        return x.with_words(to_global_array(x.words, mesh, spec))
    sharding = NamedSharding(mesh, spec)
    if isinstance(x, ArrayImpl) and is_xlascope_array(x) and is_multi_device(x):
        if array_sharding(x) == sharding:
            return x
        if array_sharding(x) == NamedSharding(local_mesh_of(mesh), spec):
            shape = _global_shape(sharding, x.shape)
            aval = make_aval(shape, x.dtype, x.aval.weak_type)
            devices = [device for device in sharding.devices if is_local(device)]
            return array_from_shards(aval, sharding, local_shard_arrays(x), devices)
    value = np.asarray(x)
    return make_array_from_process_local_data(sharding, value, _global_shape(sharding, value.shape))


def _global_shape(sharding: NamedSharding, local_shape: Sequence[int]) -> tuple[int, ...]:
    blocks = find_axis_blocks(sharding, len(local_shape))
    return tuple(
        size * axis.block_count // len(axis.local_blocks) for size, axis in zip(local_shape, blocks, strict=True)
    )


def to_local_array(x: Any) -> Any:
    """Return the part of this process of an array of all processes, as an array on this process's devices.

    It shares the memory. Arrays that lie on devices of this process alone are returned as they are.
    """
    if x.__class__ is KeyArray:
        return x.with_words(to_local_array(x.words))
    if not is_multi_device(x) or array_sharding(x).is_fully_addressable:
        return x
    sharding = array_sharding(x)
    if not isinstance(sharding, NamedSharding):
        raise far_array_error(x)
    mesh = local_mesh_of(sharding.mesh)
    blocks = find_axis_blocks(sharding, x.ndim)
    shape = tuple(size * len(axis.local_blocks) // axis.block_count for size, axis in zip(x.shape, blocks, strict=True))
    aval = make_aval(shape, x.dtype, x.aval.weak_type)
    return array_from_shards(aval, NamedSharding(mesh, sharding.spec), local_shard_arrays(x), mesh.flat)


@api_boundary
def host_local_array_to_global_array(local_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """Return a tree of arrays of all processes on a mesh, of which each process gives its parts.

    ``pspecs`` is a tree of PartitionSpecs, a prefix of ``local_inputs``. Raises ValueError if the devices of this
    process form no box in the mesh.
    """
    leaves, structure = tree.flatten(local_inputs)
    specs = broadcast_prefix_leaves("host_local_array_to_global_array", "pspecs", pspecs, local_inputs, _is_spec, here)
    return structure.unflatten(
        [to_global_array(x, global_mesh, spec or PartitionSpec()) for x, spec in zip(leaves, specs, strict=True)]
    )


@api_boundary
def global_array_to_host_local_array(global_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """Return the parts of this process of a tree of arrays of all processes, as arrays on this process's devices.

    ``global_mesh`` and ``pspecs`` say how the parts are cut, as in ``host_local_array_to_global_array``.
    """
    leaves, structure = tree.flatten(global_inputs)
    specs = broadcast_prefix_leaves("global_array_to_host_local_array", "pspecs", pspecs, global_inputs, _is_spec, here)
    parts = []
    for x, spec in zip(leaves, specs, strict=True):
        sharding = NamedSharding(global_mesh, spec or PartitionSpec())
        parts.append(to_local_array(device_put(x, sharding)))
    return structure.unflatten(parts)


def _is_spec(x: Any) -> bool:
    return x is None or isinstance(x, PartitionSpec)
