"""Arrays that lie on several devices: cut and put there, put together again, and looked at device by device."""

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
    """Whether an array of ours lies on several devices."""
    return isinstance(x._sharding, Tiles)


def lies(x: Any) -> OnSeveral:
    """How an array lies that is on several devices."""
    return x._sharding.named


def spread(value: np.ndarray[Any, Any], aval: ShapedArray, sharding: OnSeveral) -> Any:
    """An array of that type cut and put on the devices; raises ValueError where it cannot be cut so."""
    sharding.check_shape("an array on several devices", aval.shape)
    held = held_sharding(sharding, len(aval.shape))
    own = sharding.addressable_devices
    # Each part is a copy that nobody else has, so jaxlib may share its memory; asked to copy parts itself it fails
    # ("bad_function_call") where they are views of one array.
    parts = [
        (np.array(value[index], order="C"), device)
        for index, device in zip(sharding.indices(aval.shape), sharding.devices, strict=True)
        if device in own
    ]
    shards, devices = [part for part, _ in parts], [device for _, device in parts]
    return _jax.batched_device_put(typed(aval, sharding), held, shards, devices, committed=True, enable_x64=True)


def gathered(x: Any, on_host: Callable[[Any], np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """The elements of an array that lies on several devices; ``on_host`` has those of one part.

    Raises RuntimeError when a part is on a device of another process.
    """
    sharding = lies(x)
    if sharding.is_fully_replicated:
        return on_host(parts_of(x)[0])
    if not sharding.is_fully_addressable:
        raise RuntimeError(
            f"an array of shape {x.aval.shape} lies on devices of other processes as well: its own parts are in "
            "x.addressable_shards"
        )
    found = np.empty(x.aval.shape, x.aval.dtype)
    for part, index in zip(parts_of(x), sharding.indices(x.aval.shape), strict=True):
        found[index] = on_host(part)
    return found


def parts_of(x: Any) -> list[Any]:
    """What each device of this process has, as arrays."""
    sharding = lies(x)
    aval = shaped(sharding.shard_shape(x.aval.shape), x.aval.dtype, x.aval.weak_type)
    return [ours(each, aval) for each in made(lambda: x._arrays)]


def joined(aval: ShapedArray, sharding: OnSeveral, parts: Sequence[Any], devices: Sequence[Any]) -> Any:
    """The array whose parts are those arrays, each on its device; shares their memory."""
    held = held_sharding(sharding, len(aval.shape))
    return _jax.batched_device_put(typed(aval, sharding), held, list(parts), list(devices), committed=True)


@dataclass(frozen=True)
class Shard:
    """The part of an array that one device has: which elements, and whether another device has the same ones."""

    device: Any
    index: Index
    replica_id: int
    data: Any


def shards_of(x: Any) -> list[Shard]:
    """The parts of an array that lie on devices of this process."""
    if not is_spread(x):
        return [Shard(x._sharding._device, (slice(None),) * x.ndim, 0, x)]
    sharding = lies(x)
    own = sharding.addressable_devices
    seen: dict[str, int] = {}
    found, parts = [], iter(parts_of(x))
    for device, index in zip(sharding.devices, sharding.indices(x.aval.shape), strict=True):
        copy = seen[str(index)] = seen.get(str(index), -1) + 1
        if device in own:
            found.append(Shard(device, index, copy, next(parts)))
    return found
