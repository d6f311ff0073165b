"""The ceilings of a machine's devices on disk: measured once, while the machine is idle, and kept.

A busy machine reaches less than it can, and a ceiling that is too low makes good programs look better than they are and
bad ones, too. What was measured while others worked is good for the process that measured it, and not kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from typing import Any, NamedTuple

from ...runtime import cache_settings as settings
from ..system.own_files import ForeignFileError, own_folder, user_folder

#: The part of its processors that a machine uses, on the average of a minute, up to which it is idle.
IDLE = 0.5
#: The form of the files.
_VERSION = 1


class Kept(NamedTuple):
    """Floating-point operations and bytes per second, by which programs they were measured, and when."""

    flops: float
    bytes_per_second: float
    source: str
    time: float


def is_idle() -> bool:
    """Whether others leave the machine alone; True where the system does not tell."""
    try:
        busy = os.getloadavg()[0]
    except (AttributeError, OSError):
        return True
    return busy <= IDLE * (os.cpu_count() or 1)


def read(device: Any) -> Kept | None:
    """What is kept of a device; None where nothing is, or nothing that can be read."""
    folder = _folder()
    if folder is None:
        return None
    try:
        with own_folder(folder, make=False) as opened:
            found = json.loads(opened.read(_name(device)))
        flops, moved, source, time = (found[name] for name in Kept._fields)
        kept = Kept(float(flops), float(moved), str(source), float(time))
    except (OSError, ForeignFileError, ValueError, KeyError, TypeError):
        return None
    return kept if found.get("version") == _VERSION and kept.flops > 0 and kept.bytes_per_second > 0 else None


def keep(device: Any, found: Kept) -> None:
    """Keep what was measured, if the machine is idle and there is a folder that only this user writes."""
    folder = _folder()
    if folder is None or not is_idle():
        return
    content = json.dumps({"version": _VERSION, **found._asdict()}).encode()
    try:
        with own_folder(folder, make=True) as opened:
            opened.write(_name(device), content, ".part")
    except (OSError, ForeignFileError):
        return  # it is measured again: a fraction of a second


def _folder() -> str | None:
    """Beside the programs of the compilation cache; None without a home, and where that cache is switched off."""
    executables = None if settings.enable_compilation_cache.value is False else user_folder()
    return None if executables is None else os.path.join(os.path.dirname(executables), "ceilings")


def _name(device: Any) -> str:
    """A file for each kind of device, machine and version of the compiler."""
    parts = (device.platform, device.device_kind, device.client.platform_version, platform.processor())
    facts = "\n".join((*parts, platform.machine(), platform.node(), str(os.cpu_count())))
    return f"{device.platform}-{hashlib.sha256(facts.encode()).hexdigest()[:16]}.json"
