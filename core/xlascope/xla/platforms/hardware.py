"""What hardware this machine has, as its system tells: a few looks at files, so that nothing is loaded in vain."""

from __future__ import annotations

import os
from pathlib import Path

#: What TPU chips are on a bus (v2 and v3, v4, v5p, v5e, v6e, v7): maker and kind.
_TPU_CHIPS = {("0x1ae0", kind) for kind in ("0x0027", "0x005e", "0x0062", "0x0063", "0x006f", "0x0076")}
_BUSES = Path("/sys/bus/pci/devices")
#: What the driver of NVIDIA's GPUs makes: on Linux, in containers that were given a GPU, and on Windows' Linux.
_OF_NVIDIA = (Path("/proc/driver/nvidia/version"), Path("/dev/nvidiactl"), Path("/dev/dxg"))


def is_present(platform: str) -> bool:
    """Whether this machine has hardware of a platform, ``"tpu"`` or ``"gpu"``, that this process may see."""
    if platform == "tpu":
        return tpu_chips() > 0
    return (
        platform == "gpu" and nvidia_driver() is not None and os.environ.get("CUDA_VISIBLE_DEVICES") not in ("", "-1")
    )


def nvidia_driver(files: tuple[Path, ...] = _OF_NVIDIA) -> str | None:
    """What the driver of NVIDIA's GPUs says of itself, ``""`` where it is there and says nothing; None without one."""
    for file in files:
        if file.exists():
            return _read(file) if file.parts[1] == "proc" else ""
    return None


def tpu_chips(buses: Path = _BUSES) -> int:
    """How many TPU chips Linux knows of on its buses."""
    try:
        found = list(buses.iterdir())
    except OSError:
        return 0
    return sum((_read(device / "vendor"), _read(device / "device")) in _TPU_CHIPS for device in found)


def boot() -> str:
    """Which start of the machine this is: what a driver said before the last one need not hold any more."""
    return _read(Path("/proc/sys/kernel/random/boot_id"))


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
