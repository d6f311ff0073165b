"""Store of device ceilings on disk: measured once, while the machine is idle.

A busy machine does not reach its peak, and a ceiling that is too low makes every program look better than it is.
So a measurement on a busy machine serves the process that made it, and is not stored.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from typing import Any, NamedTuple

from ...runtime import cache_settings as settings
from ..system.private_files import ForeignFileError, default_cache_folder, open_private_folder

#: A machine is idle up to this load average of one minute per processor.
MAX_IDLE_LOAD_PER_CPU = 0.5
#: The version of the files' format.
_FORMAT_VERSION = 1


class DeviceCeilings(NamedTuple):
    """Peak floating-point operations and bytes per second of a device, as measured.

    ``source`` describes the programs that measured them; ``time`` is in seconds since the epoch.
    """

    flops: float
    bytes_per_second: float
    source: str
    time: float


def is_machine_idle() -> bool:
    """Return whether the machine is idle by its load average; True where the system does not report that."""
    try:
        busy = os.getloadavg()[0]
    except (AttributeError, OSError):
        return True
    return busy <= MAX_IDLE_LOAD_PER_CPU * (os.cpu_count() or 1)


def read_ceilings(device: Any) -> DeviceCeilings | None:
    """Return the stored ceilings of a device; None if there are none or they cannot be read."""
    folder = _ceilings_folder()
    if folder is None:
        return None
    try:
        with open_private_folder(folder, make=False) as open_folder:
            facts = json.loads(open_folder.read(_file_name(device)))
        flops, bytes_per_second, source, time = (facts[name] for name in DeviceCeilings._fields)
        peaks = DeviceCeilings(float(flops), float(bytes_per_second), str(source), float(time))
    except (OSError, ForeignFileError, ValueError, KeyError, TypeError):
        return None
    return peaks if facts.get("version") == _FORMAT_VERSION and peaks.flops > 0 and peaks.bytes_per_second > 0 else None


def store_ceilings(device: Any, ceilings: DeviceCeilings) -> None:
    """Store measured ceilings, if the machine is idle and there is a folder that only this user writes."""
    folder = _ceilings_folder()
    if folder is None or not is_machine_idle():
        return
    content = json.dumps({"version": _FORMAT_VERSION, **ceilings._asdict()}).encode()
    try:
        with open_private_folder(folder, make=True) as open_folder:
            open_folder.write(_file_name(device), content, ".part")
    except (OSError, ForeignFileError):
        return  # the next process measures again, in a fraction of a second


def _ceilings_folder() -> str | None:
    """Return the path of the folder for ceilings, beside that of the compilation cache.

    None without a home folder, or if that cache is off.
    """
    executables = None if settings.enable_compilation_cache.value is False else default_cache_folder()
    return None if executables is None else os.path.join(os.path.dirname(executables), "ceilings")


def _file_name(device: Any) -> str:
    """Return the file name of a device's ceilings, by kind of device, machine and version of the compiler."""
    parts = (device.platform, device.device_kind, device.client.platform_version, platform.processor())
    facts = "\n".join((*parts, platform.machine(), platform.node(), str(os.cpu_count())))
    return f"{device.platform}-{hashlib.sha256(facts.encode()).hexdigest()[:16]}.json"
