"""Checks in a shard_map: each device has an outcome of its own, and all of them together are one check outside."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...control.parallel.shard_map_call import ShardMap
from ...ir.avals import make_aval
from ...transforms.staging import stage_with_consts
from ...xla.sharding.meshes import PartitionSpec
from .control_flow import CheckedProgram, CheckFailure
from .errors import CheckSite, ShardedCheckSite


def sites_of(operation: ShardMap, body: CheckedProgram) -> list[CheckSite]:
    """Return the checks of a shard_map: one that has the outcomes of all devices, or none if ``body`` has no checks."""
    if not body.sites:
        return []
    count = math.prod(operation.on.shape[name] for name in operation.axes)
    number = make_aval((count,), np.dtype(np.int32))
    values = [make_aval((count, *aval.shape), aval.dtype) for site in body.sites for aval in site.avals]
    return [ShardedCheckSite("", None, (number, *values), None, inner_sites=body.sites)]


def checked_shard_map(
    operation: ShardMap, body: CheckedProgram, arguments: Sequence[Any]
) -> tuple[list[Any], CheckFailure]:
    """Return the results of a shard_map, and the failure of the devices, in row-major order of the manual mesh axes.

    ``body`` is the checked program, ``arguments`` are the operation's operands. The number and the message values of
    each device are arrays with one more axis, along which they are sharded.
    """

    def run_on_shard(*shards: Any) -> list[Any]:
        results, failure = body.run(shards)
        return [*results, *(jnp.expand_dims(x, 0) for x in (failure.number, *failure.values))]

    with operation.bind_mesh_axes():
        program = stage_with_consts(run_on_shard, operation.jaxpr.in_avals, operation.jaxpr.name)
    count = len(operation.out_specs)
    per_device = [PartitionSpec(operation.axes)] * (len(program.out_avals) - count)
    results = operation.call(program, arguments, operation.in_specs, [*operation.out_specs, *per_device])
    numbers, *values = results[count:]
    return results[:count], CheckFailure(jnp.where(jnp.any(numbers > 0), np.int32(1), np.int32(0)), [numbers, *values])
