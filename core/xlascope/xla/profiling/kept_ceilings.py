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
from ..system.own_files import ForeignFileError, own_folder, user_folder

#: A machine is idle up to this load average of one minute per processor.
IDLE = 0.5
#: The version of the files' format.
_VERSION = 1


class Kept(NamedTuple):
    """Peak floating-point operations and bytes per second, the programs that measured them, and the time."""

    flops: float
    bytes_per_second: float
    source: str
    time: float


def is_idle() -> bool:
    """Return whether the machine is idle; True where the system does not report its load."""
    try:
        busy = os.getloadavg()[0]
    except (AttributeError, OSError):
        return True
    return busy <= IDLE * (os.cpu_count() or 1)


def read(device: Any) -> Kept | None:
    """Return the stored ceilings of a device; None if there are none or they cannot be read."""
    folder = _folder()
    if folder is None:
        return None
    try:
        with own_folder(folder, make=False) as open_folder:
            facts = json.loads(open_folder.read(_name(device)))
        flops, bytes_per_second, source, time = (facts[name] for name in Kept._fields)
        peaks = Kept(float(flops), float(bytes_per_second), str(source), float(time))
    except (OSError, ForeignFileError, ValueError, KeyError, TypeError):
        return None
    return peaks if facts.get("version") == _VERSION and peaks.flops > 0 and peaks.bytes_per_second > 0 else None


def keep(device: Any, ceilings: Kept) -> None:
    """Store measured ceilings, if the machine is idle and there is a folder that only this user writes."""
    folder = _folder()
    if folder is None or not is_idle():
        return
    content = json.dumps({"version": _VERSION, **ceilings._asdict()}).encode()
    try:
        with own_folder(folder, make=True) as open_folder:
            open_folder.write(_name(device), content, ".part")
    except (OSError, ForeignFileError):
        return  # the next process measures again, in a fraction of a second


def _folder() -> str | None:
    """Return the folder beside the compilation cache's; None without a home folder or if that cache is off."""
    executables = None if settings.enable_compilation_cache.value is False else user_folder()
    return None if executables is None else os.path.join(os.path.dirname(executables), "ceilings")


def _name(device: Any) -> str:
    """Return the file name for a kind of device, a machine and a version of the compiler."""
    parts = (device.platform, device.device_kind, device.client.platform_version, platform.processor())
    facts = "\n".join((*parts, platform.machine(), platform.node(), str(os.cpu_count())))
    return f"{device.platform}-{hashlib.sha256(facts.encode()).hexdigest()[:16]}.json"
