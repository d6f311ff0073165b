"""Shardings on a single device. jaxlib's C++ reads Python attributes of its sharding class, which are set here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib import _jax, xla_client

from ...ir.user_frames import user_line, where_text
from ...runtime import jax_coexistence

SingleDeviceSharding = _jax.SingleDeviceSharding

_REPLICATED_HLO = xla_client.HloSharding.replicate()
_shardings: dict[Any, Any] = {}


def _is_equal(self: Any, other: object) -> bool:
    return isinstance(other, SingleDeviceSharding) and self._device == other._device


def _is_addressable(self: Any) -> bool:
    return bool(self._device.process_index == self._device.client.process_index())


def _indices_map(self: Any, global_shape: Sequence[int]) -> dict[Any, tuple[slice, ...]]:
    """Return the slices of the array's only shard for the device."""
    return {self._device: (slice(None),) * len(global_shape)}


def _is_equivalent(self: Any, other: Any, ndim: int) -> bool:
    """Return whether arrays lie on the same one device under both shardings."""
    return getattr(other, "device_set", None) == {self._device}


_SHARDING_MEMBERS = {
    "_to_xla_hlo_sharding": lambda self, ndim: _REPLICATED_HLO,
    "memory_kind": property(lambda self: self._memory_kind),
    "device_set": property(lambda self: {self._device}),
    "num_devices": property(lambda self: 1),
    "is_fully_replicated": property(lambda self: True),
    "is_fully_addressable": property(_is_addressable),
    "addressable_devices": property(lambda self: {self._device} if _is_addressable(self) else set()),
    "devices_indices_map": _indices_map,
    "addressable_devices_indices_map": lambda self, shape: _indices_map(self, shape) if _is_addressable(self) else {},
    "shard_shape": lambda self, global_shape: tuple(global_shape),
    "is_equivalent_to": _is_equivalent,
    "__eq__": _is_equal,
    "__hash__": lambda self: hash(self._device),
    "__repr__": lambda self: f"SingleDeviceSharding(device={self._device!r})",
}
for _name, _member in _SHARDING_MEMBERS.items():
    if not jax_coexistence.is_present():  # jax sets the same members, and more
        setattr(SingleDeviceSharding, _name, _member)


def resolve_device(device: Any) -> Any:
    """Return the device of an argument ``device``: the device itself, or that of a single-device sharding.

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


def single_device_sharding(device: Any) -> Any:
    """Return the sharding of arrays on one device: always the same object for a device."""
    sharding = _shardings.get(device)
    if sharding is None:
        sharding = _shardings[device] = SingleDeviceSharding(device)
    return sharding
