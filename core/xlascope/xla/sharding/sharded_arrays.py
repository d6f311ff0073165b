"""Arrays on several devices: sharding, gathering, and access to the shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxlib import _jax

from ...ir.avals import ShapedArray, make_aval
from ...ir.user_frames import compose_message
from ...lru_cache import FastLRUCache
from ..devices.jaxlib_types import call_without_importing_jax, with_aval
from .named_shardings import Index, MultiDeviceSharding, RankedSharding, aval_with_sharding, ranked_sharding


def is_multi_device(x: Any) -> bool:
    """Return whether an array of xlascope has a sharding over several devices."""
    return isinstance(x._sharding, RankedSharding)


def array_sharding(x: Any) -> MultiDeviceSharding:
    """Return the sharding, as users see it, of an array for which :func:`is_multi_device` is True."""
    return x._sharding.named


def shard_array(value: np.ndarray[Any, Any], aval: ShapedArray, sharding: MultiDeviceSharding) -> Any:
    """Return an array of type ``aval`` whose shards, cut from ``value``, are on the devices of a sharding.

    Only devices of this process get theirs. Raises ValueError if it cannot be cut evenly.
    """
    key = (sharding, aval.shape)
    plan = _recent_plans.get(key) or _recent_plans.promote(key) or _recent_plans.insert(key, _plan_shards(*key))
    # Each shard is a fresh copy, so jaxlib may share its memory; asked to copy shards itself it fails
    # ("bad_function_call") where they are views of one array.
    shards = [np.array(value[index], order="C") for index in plan.indices]
    return _jax.batched_device_put(
        aval_with_sharding(aval, sharding), plan.ranked, shards, plan.devices, committed=True, enable_x64=True
    )


class _ShardPlan(NamedTuple):
    """Sharding of arrays of one shape as jaxlib takes it, and the slices of the shards of this process's devices."""

    ranked: Any
    indices: list[Index]
    devices: list[Any]


_recent_plans: FastLRUCache[tuple[MultiDeviceSharding, tuple[int, ...]], _ShardPlan] = FastLRUCache(256)


def _plan_shards(sharding: MultiDeviceSharding, shape: tuple[int, ...]) -> _ShardPlan:
    """Return how an array of a shape is cut; raise ValueError if it cannot be cut evenly."""
    sharding.check_shape("an array on several devices", shape)
    local_devices = sharding.addressable_devices
    pairs = zip(sharding.indices(shape), sharding.devices, strict=True)
    local = [(index, device) for index, device in pairs if device in local_devices]
    return _ShardPlan(
        ranked_sharding(sharding, len(shape)), [index for index, _ in local], [device for _, device in local]
    )


def gather_shards(x: Any, on_host: Callable[[Any], np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Return the elements of an array on several devices as one NumPy array.

    ``on_host(shard)`` returns the elements of a shard, an array on one device. Raises RuntimeError when a shard is on
    a device of another process.
    """
    sharding = array_sharding(x)
    if sharding.is_fully_replicated and sharding.addressable_devices:
        return on_host(local_shard_arrays(x)[0])
    if not sharding.is_fully_addressable:
        raise far_array_error(x)
    array = np.empty(x.aval.shape, x.aval.dtype)
    for part, index in zip(local_shard_arrays(x), sharding.indices(x.aval.shape), strict=True):
        array[index] = on_host(part)
    return array


def far_array_error(x: Any) -> RuntimeError:
    """Return the error for an array whose elements are needed, and of which some are in other processes."""
    problem = (
        f"the elements of an array of type {x.aval.str_short()} are needed, and some lie on devices of other processes."
    )
    fix = (
        "The part of this process is in x.addressable_shards. For the whole array in all processes call "
        "xlascope.experimental.multihost_utils.process_allgather(x, tiled=True) in all of them, or let the jitted "
        "function that computes it return it replicated (out_shardings=NamedSharding(mesh, P()))."
    )
    return RuntimeError(compose_message(problem, fix))


def is_local(device: Any) -> bool:
    """Return whether a device belongs to this process."""
    return bool(device.process_index == device.client.process_index())


def local_shard_arrays(x: Any) -> list[Any]:
    """Return the shards of an array on several devices that are in this process, each as an array on its device."""
    sharding = array_sharding(x)
    aval = make_aval(sharding.shard_shape(x.aval.shape), x.aval.dtype, x.aval.weak_type)
    return [with_aval(shard, aval) for shard in call_without_importing_jax(lambda: x._arrays)]


def array_from_shards(
    aval: ShapedArray, sharding: MultiDeviceSharding, shards: Sequence[Any], devices: Sequence[Any]
) -> Any:
    """Return the array of type ``aval`` whose shards are the given arrays; it shares their memory.

    ``shards[i]`` is on ``devices[i]``.
    """
    ranked = ranked_sharding(sharding, len(aval.shape))
    return _jax.batched_device_put(
        aval_with_sharding(aval, sharding), ranked, list(shards), list(devices), committed=True
    )


@dataclass(frozen=True)
class Shard:
    """Shard of an array: its device, its slices of the array, its number among equal shards, and its data.

    ``data`` is an array on the device, None for a device of another process.
    """

    device: Any
    index: Index
    replica_id: int
    data: Any


def addressable_shards(x: Any) -> list[Shard]:
    """Return the shards of an array that lie on devices of this process."""
    if not is_multi_device(x):
        device = x._sharding._device
        return [Shard(device, (slice(None),) * x.ndim, 0, x)] if is_local(device) else []
    sharding = array_sharding(x)
    local_devices = sharding.addressable_devices
    copies: dict[str, int] = {}
    shards, parts = [], iter(local_shard_arrays(x))
    for device, index in zip(sharding.devices, sharding.indices(x.aval.shape), strict=True):
        copy = copies[str(index)] = copies.get(str(index), -1) + 1
        if device in local_devices:
            shards.append(Shard(device, index, copy, next(parts)))
    return shards
