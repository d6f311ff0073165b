"""Clients and devices: made at the first need of a device, so that environment settings still count."""

from __future__ import annotations

import functools
import os
import re
import threading
from typing import Any

from jaxlib import _jax, xla_client

from ..recent import Recent
from ..runtime import boot

ArrayImpl = _jax.ArrayImpl
Device = _jax.Device

#: Threads for several devices: collectives on a small machine starve with as many threads as cores, and jaxlib then
#: aborts the process. One device needs none, and they cost it: a training step took 1.4 times as long.
_THREADS = "16"

_lock = threading.Lock()
_clients: dict[str, Any] = {}
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


def _make_cpu_client() -> Any:
    count = boot.num_cpu_devices.value
    if count < 1:
        count = _devices_in_flags()
    if count > 1:
        os.environ.setdefault("NPROC", _THREADS)
    return xla_client.make_cpu_client(num_devices=count, asynchronous=True)


def _devices_in_flags() -> int:
    """How many devices the CPU is by ``XLA_FLAGS``, as many programs have it."""
    found = re.findall(r"--xla_force_host_platform_device_count=(\d+)", os.environ.get("XLA_FLAGS", ""))
    return max(int(found[-1]), 1) if found else 1


_MAKERS = {"cpu": _make_cpu_client}


def client(platform: str | None = None) -> Any:
    """The client of a platform (the default one for None); raises RuntimeError for a platform that is not there."""
    name = platform or default_platform()
    found = _clients.get(name)
    if found is not None:
        return found
    if name not in _MAKERS:
        raise RuntimeError(f"there is no backend named {name!r}; those here are {', '.join(sorted(_MAKERS))}")
    with _lock:
        if name not in _clients:
            _clients[name] = _MAKERS[name]()
        return _clients[name]


def default_platform() -> str:
    """The platform that computations run on when nothing else is said: the setting ``platforms``, or the CPU."""
    chosen: str = boot.platforms.value or "cpu"
    return chosen.split(",")[0] or "cpu"


def get_backend(platform: str | None = None) -> Backend:
    """The backend of a platform, with ``.platform`` and ``.devices()``."""
    return Backend(client(platform))


def default_device() -> Any:
    """The device that uncommitted values live on: the setting ``default_device``, or the platform's first."""
    chosen = boot.default_device.value
    return _first_device(chosen) if chosen is None or isinstance(chosen, str) else chosen


@functools.cache
def _first_device(platform: str | None) -> Any:
    return client(platform).local_devices()[0]


def devices(backend: str | None = None) -> list[Any]:
    """All devices of a platform."""
    return list(client(backend).devices())


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


def device_name(device: Any) -> str:
    """A device's name as the eyes show it, ``cpu:0``."""
    return f"{device.platform}:{device.id}"


def default_backend() -> str:
    """The name of the platform that computations run on when nothing else is said."""
    return str(client().platform)
