"""Transfers of values to devices."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxlib import _jax, xla_client

from ...ir.avals import ShapedArray, in_words, laid
from ...ir.requested_dtypes import HOW_TO_ENABLE_X64
from ...ir.sources import compose_message
from ..devices.backend import default_device
from ..devices.faces import is_ours
from ..sharding.named_shardings import OnSeveral, Tiles, held_sharding, typed
from ..sharding.shardings import device_meant, sharding_of
from ..sharding.spread import is_spread, lies, spread
from ..system.hooks import HOOKS
from .key_array import KeyArray

_COPY = xla_client.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL


def put(x: Any, aval: ShapedArray, device: Any = None) -> Any:
    """Return an array of type ``aval`` with the current value of ``x``; NumPy's memory is copied.

    An array of jax lives on the devices of another client, and is copied through the host. Raises OverflowError for a
    Python integer that is too wide for the type.
    """
    if x.__class__ is KeyArray:
        return x.with_words(put(x.words, in_words(aval), device))
    if isinstance(device, OnSeveral):
        return _put_on_several(x, aval, device)
    aval = laid(aval, None)
    target = default_device() if device is None else device_meant(device)
    if is_ours(x):
        if x._sharding == sharding_of(target):
            return x
        if x.dtype == aval.dtype and not is_spread(x) and x.device.client is target.client:
            # from device to device, and guarded as such; to another platform we go through the host
            return _jax.batched_device_put(aval, sharding_of(target), [x], [target], committed=device is not None)
    value = integer_array(x, aval.dtype) if isinstance(x, int) else np.asarray(x)
    if value.dtype != aval.dtype:
        value = value.astype(aval.dtype)
    return _jax.batched_device_put(
        aval,
        sharding_of(target),
        [value],
        [target],
        committed=device is not None,
        host_buffer_semantics=_COPY,
        enable_x64=True,  # the value has its final dtype; otherwise jaxlib may narrow it
    )


def _put_on_several(x: Any, aval: ShapedArray, sharding: OnSeveral) -> Any:
    """Return an array of type ``aval`` with that sharding; one that has it already is returned itself."""
    rank = len(aval.shape)
    if is_ours(x) and is_spread(x) and x.dtype == aval.dtype:
        if x._sharding is held_sharding(sharding, rank):
            return x
        if lies(x).is_equivalent_to(sharding, rank):
            return x._rewrap_with_aval_and_sharding(typed(aval, sharding), held_sharding(sharding, rank))
    value = integer_array(x, aval.dtype) if isinstance(x, int) else np.asarray(x)
    return spread(value.astype(aval.dtype, copy=False), aval, sharding)


def integer_array(x: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return a Python integer as a scalar array; raises OverflowError if it is too wide for the dtype."""
    try:
        return np.array(x, dtype)
    except OverflowError:
        said = f"the integer {x} does not fit {dtype.name}."
        raise OverflowError(compose_message(said, f"Write it as a float, or {HOW_TO_ENABLE_X64}")) from None


def commit(x: Any, device: Any) -> Any:
    """Return the array committed to its device, sharing its memory, so that computations with it run there."""
    if x._committed:
        return x
    if x.__class__ is KeyArray:
        return x.with_words(commit(x.words, device))
    if isinstance(device, OnSeveral):
        return put(x, x.aval, device)
    device = device_meant(device)
    return _jax.batched_device_put(x.aval, sharding_of(device), [x], [device], committed=True)


def shard_arg_fallback(x: Any, sharding: Any, layout: Any) -> Any:
    """Convert an argument that is not where the program wants it, and every NumPy array; jaxlib calls this.

    In a call that jaxlib repeats by itself it would share a NumPy array's memory, even if that is written to while
    the program runs, and ignore byte order and mask.
    """
    if layout is not NUMPY:
        # A Python number has no fixed type: a buffer wider than the program's operand would abort the process.
        return put(x, getattr(x, "aval", None) or HOOKS.operand_aval(x), _meant(sharding))
    aval = HOOKS.operand_aval(x)
    if isinstance(sharding, Tiles):
        return put(x, aval, _meant(sharding))
    value = x if x.dtype == aval.dtype else x.astype(aval.dtype)
    return _jax.batched_device_put(aval, sharding, [value], [sharding._device], False, False, _COPY, True)


def _meant(sharding: Any) -> Any:
    """Return the device of an array's sharding, or the named sharding over several devices."""
    return sharding.named if isinstance(sharding, Tiles) else sharding._device


#: Stands for a layout: jaxlib hands operands with it to :func:`shard_arg_fallback`. A cache entry of jaxlib is either
#: for arrays or for other operands, so no array of xlascope is handed over this way.
NUMPY = "a NumPy array"
