"""The argument ``device`` of functions that create arrays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..control.parallel.sharding_constraints import with_sharding_constraint
from ..dtypes import cast_on_host
from ..ir.avals import make_aval
from ..operations.conversion import to_dtype
from ..operations.shapes import broadcast_in_dim
from ..runtime.guards import explicit_transfers
from ..trace.state import STATE
from ..trace.tracer import TracerBase
from ..trace.values import aval_of
from ..xla.arrays.transfers import commit_to_device, put_on_device
from ..xla.devices.backend import ArrayImpl
from ..xla.sharding.named_shardings import MultiDeviceSharding, NamedSharding


def with_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """Implement the keyword argument ``device`` that a function declares: where its result is.

    It is a device, or a sharding over one or several devices. The function is called without it. In a jitted function
    a NamedSharding is a constraint, and a device is ignored: the call runs on one.
    """

    @functools.wraps(function)
    def on_device(*args: Any, device: Any = None, **kwargs: Any) -> Any:
        if device is None:
            return function(*args, **kwargs)
        result = function(*args, **kwargs)
        if isinstance(result, tuple):  # of linspace: the values, and the step
            return (place_on_device(result[0], device), *result[1:])
        return place_on_device(result, device)

    on_device.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return on_device


def place_on_device(x: Any, device: Any) -> Any:
    """Return an array committed to a device or a sharding; None returns it as it is."""
    if device is None:
        return x
    if isinstance(x, TracerBase):
        return with_sharding_constraint(x, device) if isinstance(device, NamedSharding) else x
    with explicit_transfers:
        return commit_to_device(put_on_device(x, x.aval, device), device)


def strengthen_if_placed(value: Any, device: Any) -> Any:
    """Return the value of an array to create without weak type if a device or sharding is given, as in JAX.

    Inside a trace, and for the device None, it is returned as it is.
    """
    aval = aval_of(value)
    if device is None or not aval.weak_type or STATE.trace is not None or isinstance(value, TracerBase):
        return value
    return to_dtype(value, aval.dtype)


def sharding_like(x: Any, shape: tuple[int, ...]) -> Any:
    """Return where an array of that shape lies that is made like ``x``; None for the default device.

    It is where ``x`` lies, if ``x`` is committed: to one device, or with the same shape to several. Inside a trace it
    is None: there the compiler decides.
    """
    if x.__class__ is not ArrayImpl or STATE.trace is not None or not x._committed:
        return None
    return x.sharding if x.shape == shape or len(x.sharding.device_set) == 1 else None


def fill_on_device(value: Any, shape: tuple[int, ...], device: Any) -> Any:
    """Return an array of that shape filled with a scalar, on a device or a sharding; None for the default device.

    Of an array that several devices share each one gets its part alone, so that it may be larger than a device.
    """
    is_spread = isinstance(device, MultiDeviceSharding) and STATE.trace is None and not isinstance(value, TracerBase)
    if not is_spread:
        return place_on_device(broadcast_in_dim(value, shape, ()), device)
    aval = aval_of(value)
    number = cast_on_host(value, aval.dtype)
    with explicit_transfers:
        return put_on_device(np.broadcast_to(number, shape), make_aval(shape, aval.dtype, aval.weak_type), device)
