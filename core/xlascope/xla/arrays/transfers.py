"""Transfers of values to devices."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxlib import _jax, xla_client

from ...dtypes import cast_on_host
from ...ir.avals import ShapedArray, physical_aval, with_explicit_sharding
from ...ir.requested_dtypes import HOW_TO_ENABLE_X64
from ...ir.user_frames import compose_message
from ..devices.array_patching import is_xlascope_array
from ..devices.backend import default_device
from ..sharding.named_shardings import MultiDeviceSharding, aval_with_sharding, ranked_sharding
from ..sharding.sharded_arrays import array_sharding, is_multi_device, shard_array
from ..sharding.single_device import resolve_device, single_device_sharding
from ..system.hooks import HOOKS
from .key_array import KeyArray

#: NumPy's memory is copied before a transfer returns.
HOST_BUFFER_SEMANTICS = xla_client.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL


def wait_for_arrays(arrays: list[Any]) -> None:
    """Wait until jaxlib's arrays have been computed, all in one call; raise the error of one that could not be."""
    if len(arrays) == 1:
        arrays[0].block_until_ready()
    elif arrays:
        _jax.batched_block_until_ready(arrays)


def put_on_device(x: Any, aval: ShapedArray, device: Any = None) -> Any:
    """Return an array of type ``aval`` with the current value of ``x``; NumPy's memory is copied.

    ``device`` is a device, a sharding over one or several devices, or None for the default device; a copy is committed
    to it unless it is None, and an array that is there already is returned as it is. An array of jax lives on the
    devices of another client, and is copied through the host. Raises OverflowError for a Python integer that is too
    wide for the type.
    """
    if x.__class__ is KeyArray:
        return x.with_words(put_on_device(x.words, physical_aval(aval), device))
    if isinstance(device, MultiDeviceSharding):
        return _put_on_several_devices(x, aval, device)
    aval = with_explicit_sharding(aval, None)
    target = default_device() if device is None else resolve_device(device)
    if is_xlascope_array(x):
        if x._sharding == single_device_sharding(target):
            return x
        if x.dtype == aval.dtype and not is_multi_device(x) and x.device.client is target.client:
            # from device to device, and guarded as such; to another platform we go through the host
            return _jax.batched_device_put(
                aval, single_device_sharding(target), [x], [target], committed=device is not None
            )
    value = integer_array(x, aval.dtype) if isinstance(x, int) else np.asarray(x)
    if value.dtype != aval.dtype:
        value = cast_on_host(value, aval.dtype)
    return _jax.batched_device_put(
        aval,
        single_device_sharding(target),
        [value],
        [target],
        committed=device is not None,
        host_buffer_semantics=HOST_BUFFER_SEMANTICS,
        enable_x64=True,  # the value has its final dtype; otherwise jaxlib may narrow it
    )


def _put_on_several_devices(x: Any, aval: ShapedArray, sharding: MultiDeviceSharding) -> Any:
    """Return ``x`` as an array of type ``aval`` with that sharding; one that has it already is returned itself."""
    rank = len(aval.shape)
    if is_xlascope_array(x) and is_multi_device(x) and x.dtype == aval.dtype:
        if x._sharding is ranked_sharding(sharding, rank):
            return x
        if array_sharding(x).is_equivalent_to(sharding, rank):
            return x._rewrap_with_aval_and_sharding(aval_with_sharding(aval, sharding), ranked_sharding(sharding, rank))
        if not array_sharding(x).is_fully_addressable and HOOKS.reshard is not None:
            return HOOKS.reshard(x, sharding)
    value = integer_array(x, aval.dtype) if isinstance(x, int) else np.asarray(x)
    return shard_array(value if value.dtype == aval.dtype else cast_on_host(value, aval.dtype), aval, sharding)


def integer_array(x: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return a Python integer as a NumPy array without axes; raises OverflowError if it is too wide for the dtype."""
    try:
        return np.array(x, dtype)
    except OverflowError:
        problem = f"the integer {x} does not fit {dtype.name}."
        raise OverflowError(compose_message(problem, f"Write it as a float, or {HOW_TO_ENABLE_X64}")) from None


def commit_to_device(x: Any, device: Any) -> Any:
    """Return the array ``x`` committed to ``device``, where it is, so that computations with it run there.

    It shares the memory of ``x``. ``device`` is a device or a sharding over one or several devices.
    """
    if x._committed:
        return x
    if x.__class__ is KeyArray:
        return x.with_words(commit_to_device(x.words, device))
    if isinstance(device, MultiDeviceSharding):
        return put_on_device(x, x.aval, device)
    device = resolve_device(device)
    return _jax.batched_device_put(x.aval, single_device_sharding(device), [x], [device], committed=True)
