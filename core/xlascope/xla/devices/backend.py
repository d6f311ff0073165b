"""Clients and devices, created when a device is first needed, so that environment settings still take effect."""

from __future__ import annotations

from typing import Any

from jaxlib import _jax

from ... import bootstrap
from ...lru_cache import FastLRUCache
from ...runtime import boot
from ..platforms import fork_safety  # noqa: F401  what it registers
from ..platforms.platform_selection import client, default_platform, first_device, register_backend_factory

__all__ = [
    "ArrayImpl",
    "Backend",
    "Device",
    "client",
    "default_backend",
    "default_device",
    "default_platform",
    "device_count",
    "devices",
    "devices_list",
    "get_backend",
    "local_device_count",
    "local_devices",
    "process_count",
    "process_index",
    "process_indices",
    "register_backend_factory",
]

ArrayImpl = _jax.ArrayImpl
Device = _jax.Device

_device_lists: FastLRUCache[tuple[Any, ...], Any] = FastLRUCache(64)


class Backend:
    """Client of a platform with the names that JAX gives it."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.platform: str = client.platform

    def devices(self) -> list[Any]:
        """Return all devices of the platform."""
        return list(self.client.devices())

    def device_count(self) -> int:
        """Return how many devices the platform has."""
        return int(self.client.device_count())

    def __repr__(self) -> str:
        return f"<backend {self.platform}, {self.device_count()} devices>"


@bootstrap.api_boundary
def get_backend(platform: str | None = None) -> Backend:
    """Return the backend of a platform (None: the default one), with ``.platform`` and ``.devices()``."""
    return Backend(client(platform))


def default_device() -> Any:
    """Return the device of uncommitted values: the setting ``default_device``, or the platform's first."""
    setting = boot.default_device.value
    return first_device(setting) if setting is None or isinstance(setting, str) else setting


@bootstrap.api_boundary
def devices(backend: str | None = None) -> list[Any]:
    """Return all devices of a platform (None: the default one)."""
    return list(client(backend).devices())


@bootstrap.api_boundary
def local_devices(process_index: int | None = None, backend: str | None = None) -> list[Any]:
    """Return the devices of a process on a platform (``backend`` None: the default one).

    ``process_index`` is the number of the process, None for this one. Raises ValueError if there is no such process.
    """
    if process_index is None:
        return list(client(backend).local_devices())
    of_process = [device for device in devices(backend) if device.process_index == process_index]
    if not of_process:
        raise ValueError(f"local_devices: there is no process {process_index}; there are {process_indices(backend)}")
    return of_process


def devices_list(devices: tuple[Any, ...]) -> Any:
    """Return jaxlib's ``DeviceList`` of these devices; for devices used recently it is the same object."""
    device_list = _device_lists.get(devices) or _device_lists.promote(devices)
    return _device_lists.insert(devices, _jax.DeviceList(devices)) if device_list is None else device_list


def device_count(backend: str | None = None) -> int:
    """Return how many devices the platform has, over all processes."""
    return int(client(backend).device_count())


def local_device_count(backend: str | None = None) -> int:
    """Return how many devices of the platform this process has."""
    return len(local_devices(backend=backend))


def process_index(backend: str | None = None) -> int:
    """Return the number of this process among those that share the platform."""
    return int(client(backend).process_index())


def process_count(backend: str | None = None) -> int:
    """Return how many processes share the platform."""
    return 1 + max(int(device.process_index) for device in devices(backend))


def process_indices(backend: str | None = None) -> list[int]:
    """Return the numbers of all processes that share the platform."""
    return sorted({int(device.process_index) for device in devices(backend)})


def default_backend() -> str:
    """Return the name of the default platform of computations."""
    return str(client().platform)
