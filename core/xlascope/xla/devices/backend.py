"""Clients and devices: made at the first need of a device, so that environment settings still count."""

from __future__ import annotations

from typing import Any

from jaxlib import _jax

from ... import starting
from ...recent import Recent
from ...runtime import boot
from ..platforms import forks  # noqa: F401  what it registers
from ..platforms.choosing import client, default_platform, first_device, register_backend_factory

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

_lists: Recent[tuple[Any, ...], Any] = Recent(64)


class Backend:
    """A platform's client with the names that JAX gives it."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.platform: str = client.platform

    def devices(self) -> list[Any]:
        """All devices of the platform."""
        return list(self.client.devices())

    def device_count(self) -> int:
        """How many devices the platform has."""
        return int(self.client.device_count())

    def __repr__(self) -> str:
        return f"<backend {self.platform}, {self.device_count()} devices>"


@starting.boundary
def get_backend(platform: str | None = None) -> Backend:
    """The backend of a platform, with ``.platform`` and ``.devices()``."""
    return Backend(client(platform))


def default_device() -> Any:
    """The device that uncommitted values live on: the setting ``default_device``, or the platform's first."""
    chosen = boot.default_device.value
    return first_device(chosen) if chosen is None or isinstance(chosen, str) else chosen


@starting.boundary
def devices(backend: str | None = None) -> list[Any]:
    """All devices of a platform."""
    return list(client(backend).devices())


@starting.boundary
def local_devices(process_index: int | None = None, backend: str | None = None) -> list[Any]:
    """The devices of this process."""
    return list(client(backend).local_devices())


def devices_list(devices: tuple[Any, ...]) -> Any:
    """Devices as jaxlib takes them."""
    found = _lists.get(devices) or _lists.again(devices)
    return _lists.keep(devices, _jax.DeviceList(devices)) if found is None else found


def device_count(backend: str | None = None) -> int:
    """How many devices the platform has, over all processes."""
    return int(client(backend).device_count())


def local_device_count(backend: str | None = None) -> int:
    """How many devices this process has."""
    return len(local_devices(backend=backend))


def process_index(backend: str | None = None) -> int:
    """The number of this process."""
    return int(client(backend).process_index())


def process_count(backend: str | None = None) -> int:
    """How many processes share the platform."""
    return 1 + max(int(device.process_index) for device in devices(backend))


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of all processes that share the platform."""
    return sorted({int(device.process_index) for device in devices(backend)})


def default_backend() -> str:
    """The name of the platform that computations run on when nothing else is said."""
    return str(client().platform)
