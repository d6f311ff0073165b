"""Backend access: ``xla_bridge.get_backend().platform`` is the platform that programs run on."""

from ..xla.devices.backend import (
    default_backend,
    device_count,
    devices,
    get_backend,
    local_device_count,
    local_devices,
    process_count,
    process_index,
    register_backend_factory,
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
    "register_backend_factory",
]
