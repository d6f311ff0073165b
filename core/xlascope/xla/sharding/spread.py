"""Arrays on several devices: sharding, gathering, and access to the shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxlib import _jax

from ...ir.avals import ShapedArray, shaped
from ..devices.made_by_jaxlib import made, ours
from .named_shardings import Index, OnSeveral, Tiles, held_sharding, typed


def is_spread(x: Any) -> bool:
    """Return whether an array of xlascope lies on several devices."""
    return isinstance(x._sharding, Tiles)


def lies(x: Any) -> OnSeveral:
    """Return the sharding of an array that is on several devices."""
    return x._sharding.named


def spread(value: np.ndarray[Any, Any], aval: ShapedArray, sharding: OnSeveral) -> Any:
    """Shard an array over the devices; raises ValueError if it cannot be partitioned evenly."""
    sharding.check_shape("an array on several devices", aval.shape)
    ranked = held_sharding(sharding, len(aval.shape))
    local_devices = sharding.addressable_devices
    # Each shard is a fresh copy, so jaxlib may share its memory; asked to copy shards itself it fails
    # ("bad_function_call") where they are views of one array.
    parts = [
        (np.array(value[index], order="C"), device)
        for index, device in zip(sharding.indices(aval.shape), sharding.devices, strict=True)
        if device in local_devices
    ]
    shards, devices = [part for part, _ in parts], [device for _, device in parts]
    return _jax.batched_device_put(typed(aval, sharding), ranked, shards, devices, committed=True, enable_x64=True)


def gathered(x: Any, on_host: Callable[[Any], np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Gather the elements of an array on several devices; ``on_host`` returns those of one shard.

    Raises RuntimeError when a shard is on a device of another process.
    """
    sharding = lies(x)
    if sharding.is_fully_replicated:
        return on_host(parts_of(x)[0])
    if not sharding.is_fully_addressable:
        raise RuntimeError(
            f"an array of shape {x.aval.shape} lies on devices of other processes as well: its own parts are in "
            "x.addressable_shards"
        )
    array = np.empty(x.aval.shape, x.aval.dtype)
    for part, index in zip(parts_of(x), sharding.indices(x.aval.shape), strict=True):
        array[index] = on_host(part)
    return array


def parts_of(x: Any) -> list[Any]:
    """Return the shards on the devices of this process, as arrays."""
    sharding = lies(x)
    aval = shaped(sharding.shard_shape(x.aval.shape), x.aval.dtype, x.aval.weak_type)
    return [ours(shard, aval) for shard in made(lambda: x._arrays)]


def joined(aval: ShapedArray, sharding: OnSeveral, shards: Sequence[Any], devices: Sequence[Any]) -> Any:
    """Return the array whose shards are those arrays, each on its device; shares their memory."""
    ranked = held_sharding(sharding, len(aval.shape))
    return _jax.batched_device_put(typed(aval, sharding), ranked, list(shards), list(devices), committed=True)


@dataclass(frozen=True)
class Shard:
    """Shard of an array on one device: its slices, and which of the replicas it is."""

    device: Any
    index: Index
    replica_id: int
    data: Any


def shards_of(x: Any) -> list[Shard]:
    """Return the shards of an array that lie on devices of this process."""
    if not is_spread(x):
        return [Shard(x._sharding._device, (slice(None),) * x.ndim, 0, x)]
    sharding = lies(x)
    local_devices = sharding.addressable_devices
    copies: dict[str, int] = {}
    shards, parts = [], iter(parts_of(x))
    for device, index in zip(sharding.devices, sharding.indices(x.aval.shape), strict=True):
        copy = copies[str(index)] = copies.get(str(index), -1) + 1
        if device in local_devices:
            shards.append(Shard(device, index, copy, next(parts)))
    return shards
