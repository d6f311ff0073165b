"""``xla_bridge.get_backend().platform``: which platform programs run on."""

from ..xla.backend import (
    default_backend,
    device_count,
    devices,
    get_backend,
    local_device_count,
    local_devices,
    process_count,
    process_index,
)

__all__ = [
    "default_backend",
    "device_count",
    "devices",
    "get_backend",
    "local_device_count",
    "local_devices",
    "process_count",
    "process_index",
]
