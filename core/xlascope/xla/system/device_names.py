"""What devices are called: apart from clients, as programs of jax are described where our engine is not started."""

from __future__ import annotations

from typing import Any


def device_name(device: Any) -> str:
    """A device's name as the eyes show it, ``cpu:0``."""
    return f"{device.platform}:{device.id}"
