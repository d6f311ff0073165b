"""NumPy arrays as arguments of calls that jaxlib repeats without Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxlib import _jax

from ...ir.avals import ShapedArray
from ..sharding.named_shardings import RankedSharding
from ..system.hooks import HOOKS
from .transfers import HOST_BUFFER_SEMANTICS, put_on_device

#: Larger arrays are transferred at each call: to compare them takes nearly as long as to copy them.
_MAX_CACHED_BYTES = 1 << 16
#: After so many arguments in a row that differed from the one before, an operand's arguments are no longer cached.
_MAX_CHANGES_IN_A_ROW = 4

_NDARRAY = np.ndarray
_guards_of_thread, _guards_of_process = _jax.guard_lib.thread_local_state, _jax.guard_lib.global_state

#: Dtype of a cached argument, the comparison with its bytes, and its array on the device.
_CachedArgument = tuple[Any, Callable[[Any], Any], Any]


def _equals_nothing(x: object) -> bool:
    return False


_NOTHING: _CachedArgument = (None, _equals_nothing, None)


class HostOperand:
    """Operand of a compiled program whose arguments are NumPy arrays; it stands for a layout of jaxlib.

    jaxlib gives arguments for operands with a layout to :func:`shard_arg_fallback`. A cache entry of jaxlib is either
    for arrays or for other arguments, so no array of xlascope gets there this way.

    A small argument stays on the device: a grid, a mask or a small data set is often passed unchanged to each call,
    and is then not transferred again. ``aval`` is the type of the operand, ``sharding`` jaxlib's sharding of it;
    ``can_cache`` is False for one that the program may overwrite.
    """

    __slots__ = ("aval", "cached", "changes_in_a_row", "devices", "dtype", "sharding")

    def __init__(self, aval: ShapedArray, sharding: Any, can_cache: bool) -> None:
        self.aval = aval
        self.dtype = aval.dtype
        self.sharding = sharding
        #: For a single device, a tuple of it.
        self.devices = None if isinstance(sharding, RankedSharding) else (sharding._device,)
        self.cached = _NOTHING
        self.changes_in_a_row = 0 if can_cache else _MAX_CHANGES_IN_A_ROW

    def transfer(self, x: Any) -> Any:
        """Return an argument as an array with the operand's sharding; NumPy's memory is copied.

        Raises ValueError for a masked array.
        """
        aval = self.aval if x.__class__ is _NDARRAY else HOOKS.operand_aval(x)
        if self.devices is None:
            return put_on_device(x, aval, self.sharding.named)
        value = x if x.dtype is self.dtype else x.astype(self.dtype)
        return _jax.batched_device_put(  # looked up at each call: watching replaces it
            aval, self.sharding, (value,), self.devices, False, False, HOST_BUFFER_SEMANTICS, True
        )

    def transfer_and_cache(self, x: np.ndarray[Any, Any]) -> Any:
        """Return an argument as :meth:`transfer` does, and cache it if it is small.

        Its bytes are read once, since another thread may write to them.
        """
        self.cached = _NOTHING
        self.changes_in_a_row += 1
        is_small = 0 < x.nbytes <= _MAX_CACHED_BYTES and x.flags.c_contiguous
        if not is_small or self.changes_in_a_row >= _MAX_CHANGES_IN_A_ROW:
            return self.transfer(x)
        contents = bytearray(x.tobytes())
        array = self.transfer(np.frombuffer(contents, x.dtype).reshape(x.shape))
        array.is_cached_argument = True
        self.cached = x.dtype, contents.__eq__, array
        return array


def shard_arg_fallback(x: Any, sharding: Any, layout: Any) -> Any:
    """Return an argument of a call as an array with the sharding that the program takes; called by jaxlib.

    It does so for arguments that are elsewhere and, by ``layout``, for every NumPy array (:class:`HostOperand`). In a
    call that jaxlib repeats by itself it would share a NumPy array's memory, even if that is written to while the
    program runs, and ignore byte order and mask.
    """
    if layout.__class__ is not HostOperand:
        # A Python number has no fixed type: a buffer wider than the program's operand would abort the process.
        return put_on_device(x, getattr(x, "aval", None) or HOOKS.operand_aval(x), _device_or_sharding(sharding))
    if layout.changes_in_a_row >= _MAX_CHANGES_IN_A_ROW or x.__class__ is not _NDARRAY:
        return layout.transfer(x)
    dtype, equals, array = layout.cached
    if (
        x.dtype is dtype
        and equals(x) is True  # NotImplemented: the array is not contiguous
        and not array.is_deleted()
        and _guards_of_thread().host_to_device is None  # a guard has to see each transfer
        and _guards_of_process().host_to_device is None
    ):
        layout.changes_in_a_row = 0
        return array
    return layout.transfer_and_cache(x)


def is_cached_argument(x: Any) -> bool:
    """Return whether an array is a copy of an argument that a compiled program caches, which no user has."""
    return getattr(x, "is_cached_argument", False)


def _device_or_sharding(sharding: Any) -> Any:
    """Return the device of an array's sharding; for one over several devices, the sharding that users see."""
    return sharding.named if isinstance(sharding, RankedSharding) else sharding._device
