"""Where arrays live. jaxlib's C++ asks its sharding classes for Python attributes, which are given here."""

from __future__ import annotations

from typing import Any

from jaxlib import _jax, xla_client

SingleDeviceSharding = _jax.SingleDeviceSharding

_whole = xla_client.HloSharding.replicate()
_shardings: dict[Any, Any] = {}


def _equal(self: Any, other: object) -> bool:
    return isinstance(other, SingleDeviceSharding) and self._device == other._device


SingleDeviceSharding._to_xla_hlo_sharding = lambda self, ndim: _whole
SingleDeviceSharding.memory_kind = property(lambda self: self._memory_kind)
SingleDeviceSharding.device_set = property(lambda self: {self._device})
SingleDeviceSharding.num_devices = property(lambda self: 1)
SingleDeviceSharding.is_fully_replicated = property(lambda self: True)
SingleDeviceSharding.is_fully_addressable = property(lambda self: True)
SingleDeviceSharding.__eq__ = _equal
SingleDeviceSharding.__hash__ = lambda self: hash(self._device)
SingleDeviceSharding.__repr__ = lambda self: f"SingleDeviceSharding(device={self._device!r})"


def sharding_of(device: Any) -> Any:
    """The sharding "whole, on this device"."""
    found = _shardings.get(device)
    if found is None:
        found = _shardings[device] = SingleDeviceSharding(device)
    return found
