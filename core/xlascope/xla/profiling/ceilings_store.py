"""Store of device ceilings on disk, with the date and the load of the machine when they were measured.

A measured ceiling is a lower bound: a busy machine does not reach its peak, and a ceiling that is too low makes every
program look better than it is. So of several measurements the best of each rate counts, for as long as device, machine
and compiler are the same.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import time
from typing import Any, NamedTuple

from ..system.private_files import ForeignFileError, default_cache_folder, open_private_folder

#: A machine is idle up to this load average of one minute per processor.
MAX_IDLE_LOAD_PER_CPU = 0.5
#: Ceilings are measured again after so many seconds, when the machine is idle.
MAX_AGE_SECONDS = 30 * 86400.0
#: The version of the files' format.
_FORMAT_VERSION = 2


class DeviceCeilings(NamedTuple):
    """Peak floating-point operations and bytes per second of a device, as measured.

    ``programs`` describes what measured them, in ``processes`` fresh processes (0: in the process that asked);
    ``time`` is in seconds since the epoch, ``load`` the load average per processor when measuring began (NaN where
    the system does not report it).
    """

    flops: float
    bytes_per_second: float
    programs: str
    time: float
    load: float = math.nan
    processes: int = 0

    @property
    def source(self) -> str:
        """Return how, when and under which load they were measured.

        >>> DeviceCeilings(1e11, 2e10, "a product", 0.0, 0.25, 3).source
        'a product; best of 3 processes on 1970-01-01, load 0.25 per processor'
        """
        where = f"best of {self.processes} processes" if self.processes else "in this process"
        load = "" if math.isnan(self.load) else f", load {self.load:.2g} per processor"
        busy = ", a busy machine: perhaps too low" if self.load > MAX_IDLE_LOAD_PER_CPU else ""
        return f"{self.programs}; {where} on {time.strftime('%Y-%m-%d', time.gmtime(self.time))}{load}{busy}"

    def is_current(self) -> bool:
        """Return whether another measurement would hardly be better now: the machine is busy, or was idle recently."""
        was_idle = not self.load > MAX_IDLE_LOAD_PER_CPU
        return not is_machine_idle() or (was_idle and time.time() - self.time < MAX_AGE_SECONDS)


def load_per_cpu() -> float:
    """Return the load average of one minute per processor; NaN where the system does not report it."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):
        return math.nan


def is_machine_idle() -> bool:
    """Return whether the machine is idle by its load average; True where the system does not report that."""
    return not load_per_cpu() > MAX_IDLE_LOAD_PER_CPU


def join_ceilings(first: DeviceCeilings | None, second: DeviceCeilings) -> DeviceCeilings:
    """Return the best of two measurements of a device, with the words of the second: it was made last.

    The load is the smaller of both, since the better rates are likely those of the idler machine.

    >>> join_ceilings(DeviceCeilings(3.0, 1.0, "p", 0.0, 0.1, 3), DeviceCeilings(2.0, 2.0, "p", 9.0, 0.9, 3))
    DeviceCeilings(flops=3.0, bytes_per_second=2.0, programs='p', time=9.0, load=0.1, processes=6)
    """
    if first is None or first.programs != second.programs:
        return second
    rates = max(first.flops, second.flops), max(first.bytes_per_second, second.bytes_per_second)
    load = min(first.load, second.load)
    return DeviceCeilings(*rates, second.programs, second.time, load, first.processes + second.processes)


def read_ceilings(device: Any) -> DeviceCeilings | None:
    """Return the stored ceilings of a device; None if there are none or they cannot be read."""
    folder = _ceilings_folder()
    if folder is None:
        return None
    try:
        with open_private_folder(folder, make=False) as open_folder:
            facts = json.loads(open_folder.read(_file_name(device)))
        flops, bytes_per_second, programs, measured, load, processes = (facts[name] for name in DeviceCeilings._fields)
        load = math.nan if load is None else float(load)
        peaks = DeviceCeilings(
            float(flops), float(bytes_per_second), str(programs), float(measured), load, int(processes)
        )
    except (OSError, ForeignFileError, ValueError, KeyError, TypeError):
        return None
    return peaks if facts.get("version") == _FORMAT_VERSION and peaks.flops > 0 and peaks.bytes_per_second > 0 else None


def store_ceilings(device: Any, ceilings: DeviceCeilings) -> None:
    """Store measured ceilings, if there is a folder that only this user writes."""
    folder = _ceilings_folder()
    if folder is None:
        return
    load = None if math.isnan(ceilings.load) else ceilings.load
    facts = {"version": _FORMAT_VERSION, **ceilings._asdict(), "load": load}
    try:
        with open_private_folder(folder, make=True) as open_folder:
            open_folder.write(_file_name(device), json.dumps(facts).encode(), ".part")
    except (OSError, ForeignFileError):
        return  # the next process measures again, in a few seconds


def _ceilings_folder() -> str | None:
    """Return the path of the folder for ceilings, beside that of the compilation cache; None without a home folder."""
    executables = default_cache_folder()
    return None if executables is None else os.path.join(os.path.dirname(executables), "ceilings")


def _file_name(device: Any) -> str:
    """Return the file name of a device's ceilings, by kind of device, machine and version of the compiler."""
    parts = (device.platform, device.device_kind, device.client.platform_version, platform.processor())
    facts = "\n".join((*parts, platform.machine(), platform.node(), str(os.cpu_count())))
    return f"{device.platform}-{hashlib.sha256(facts.encode()).hexdigest()[:16]}.json"
