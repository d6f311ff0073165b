"""Detection of hardware by a few system files, so that no plugin is loaded without need."""

from __future__ import annotations

import os
from pathlib import Path

#: PCI vendor and device ids of TPU chips (v2 and v3, v4, v5p, v5e, v6e, v7).
_TPU_PCI_IDS = {("0x1ae0", kind) for kind in ("0x0027", "0x005e", "0x0062", "0x0063", "0x006f", "0x0076")}
_PCI_DEVICES = Path("/sys/bus/pci/devices")
#: Files of NVIDIA's driver: on Linux, in containers with access to a GPU, and in WSL.
_NVIDIA_DRIVER_FILES = (Path("/proc/driver/nvidia/version"), Path("/dev/nvidiactl"), Path("/dev/dxg"))


def is_hardware_present(platform: str) -> bool:
    """Return whether the machine has a TPU (``"tpu"``) or a GPU (``"gpu"``) that this process may use; else False."""
    if platform == "tpu":
        return count_tpu_chips() > 0
    return (
        platform == "gpu" and nvidia_driver() is not None and os.environ.get("CUDA_VISIBLE_DEVICES") not in ("", "-1")
    )


def nvidia_driver(files: tuple[Path, ...] = _NVIDIA_DRIVER_FILES) -> str | None:
    """Return the version text of NVIDIA's driver, ``""`` if it gives none; None without a driver.

    ``files`` are files of the driver, of which the first one that exists is read.
    """
    for file in files:
        if file.exists():
            return _read_text(file) if file.parts[1] == "proc" else ""
    return None


def count_tpu_chips(buses: Path = _PCI_DEVICES) -> int:
    """Return how many TPU chips Linux lists in the folder of PCI devices."""
    try:
        pci_devices = list(buses.iterdir())
    except OSError:
        return 0
    return sum((_read_text(device / "vendor"), _read_text(device / "device")) in _TPU_PCI_IDS for device in pci_devices)


def read_boot_id() -> str:
    """Return the id of this boot of the machine: what is known of a driver may not hold after another boot."""
    return _read_text(Path("/proc/sys/kernel/random/boot_id"))


def _read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
