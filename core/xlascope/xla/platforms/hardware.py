"""Detection of hardware by a few system files, so that no plugin is loaded without need."""

from __future__ import annotations

import os
from pathlib import Path

#: PCI vendor and device ids of TPU chips (v2 and v3, v4, v5p, v5e, v6e, v7).
_TPU_CHIPS = {("0x1ae0", kind) for kind in ("0x0027", "0x005e", "0x0062", "0x0063", "0x006f", "0x0076")}
_BUSES = Path("/sys/bus/pci/devices")
#: Files of NVIDIA's driver: on Linux, in containers with access to a GPU, and in WSL.
_OF_NVIDIA = (Path("/proc/driver/nvidia/version"), Path("/dev/nvidiactl"), Path("/dev/dxg"))


def is_present(platform: str) -> bool:
    """Return whether the machine has hardware of ``"tpu"`` or ``"gpu"`` that this process may use."""
    if platform == "tpu":
        return tpu_chips() > 0
    return (
        platform == "gpu" and nvidia_driver() is not None and os.environ.get("CUDA_VISIBLE_DEVICES") not in ("", "-1")
    )


def nvidia_driver(files: tuple[Path, ...] = _OF_NVIDIA) -> str | None:
    """Return the version text of NVIDIA's driver, ``""`` if it gives none; None without a driver."""
    for file in files:
        if file.exists():
            return _read(file) if file.parts[1] == "proc" else ""
    return None


def tpu_chips(buses: Path = _BUSES) -> int:
    """Return how many TPU chips Linux lists on the PCI buses."""
    try:
        pci_devices = list(buses.iterdir())
    except OSError:
        return 0
    return sum((_read(device / "vendor"), _read(device / "device")) in _TPU_CHIPS for device in pci_devices)


def boot() -> str:
    """Return the id of this boot of the machine: a probe of a driver before it is out of date."""
    return _read(Path("/proc/sys/kernel/random/boot_id"))


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
