"""Names of devices, without a dependency on clients, since programs of jax are described without our engine."""

from __future__ import annotations

from typing import Any


def device_name(device: Any) -> str:
    """Return a device's name as views show it, ``cpu:0``."""
    return f"{device.platform}:{device.id}"
