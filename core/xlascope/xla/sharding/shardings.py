"""Where arrays live. jaxlib's C++ asks its sharding classes for Python attributes, which are given here."""

from __future__ import annotations

from typing import Any

from jaxlib import _jax, xla_client

from ...ir.sources import user_line, where_text
from ...runtime import beside

SingleDeviceSharding = _jax.SingleDeviceSharding

_whole = xla_client.HloSharding.replicate()
_shardings: dict[Any, Any] = {}


def _equal(self: Any, other: object) -> bool:
    return isinstance(other, SingleDeviceSharding) and self._device == other._device


_FACE = {
    "_to_xla_hlo_sharding": lambda self, ndim: _whole,
    "memory_kind": property(lambda self: self._memory_kind),
    "device_set": property(lambda self: {self._device}),
    "num_devices": property(lambda self: 1),
    "is_fully_replicated": property(lambda self: True),
    "is_fully_addressable": property(lambda self: True),
    "__eq__": _equal,
    "__hash__": lambda self: hash(self._device),
    "__repr__": lambda self: f"SingleDeviceSharding(device={self._device!r})",
}
for _name, _member in _FACE.items():
    if not beside.here():  # jax's face says the same, and more
        setattr(SingleDeviceSharding, _name, _member)


def device_meant(device: Any) -> Any:
    """The device that an argument ``device`` names: a device, or the sharding of an array, which is on one.

    Raises ValueError for anything else.
    """
    if isinstance(device, _jax.Device):
        return device
    if isinstance(device, SingleDeviceSharding):
        return device._device
    raise ValueError(
        f"device is a device (one of xlascope.devices()) or the sharding of an array on one, got {device!r} of type "
        f"{type(device).__name__}{where_text(user_line())}"
    )


def sharding_of(device: Any) -> Any:
    """The sharding "whole, on this device"."""
    found = _shardings.get(device)
    if found is None:
        found = _shardings[device] = SingleDeviceSharding(device)
    return found
