"""Information about the machine for bug reports."""

from __future__ import annotations

import importlib.metadata
import platform
import sys

from ..xla.devices import backend

_PACKAGES = ("xlascope", "jaxlib", "numpy", "jax", "ipykernel", "anywidget")


def print_environment_info(return_string: bool = False) -> str | None:
    """Print the versions, the devices and the system; with ``return_string`` return the text instead.

    >>> import xlascope as xs
    >>> xs.print_environment_info(return_string=True).startswith("xlascope: ")
    True
    """
    devices = backend.local_devices()
    kinds = sorted({str(device.device_kind) for device in devices})
    lines = [f"{name}: {version}" for name in _PACKAGES if (version := _version(name))]
    lines += [
        f"python: {sys.version}",
        f"devices: {', '.join(kinds)}: {len(devices)} of this process, of {backend.device_count()}",
        f"process_count: {backend.process_count()}",
        f"platform: {platform.platform()}",
    ]
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None


def _version(package: str) -> str:
    """Return the version of a package, or ``""`` if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
