"""Check that a program's results fit into memory, before it is compiled.

Filling memory that the system promised and does not have kills the process or stalls the machine.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...ir.avals import ShapedArray

if sys.platform != "win32":
    import resource

#: Smaller results are not checked.
_SMALL = 1 << 30
_LIMITS_OF_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def bytes_of(avals: Sequence[ShapedArray]) -> int:
    """Return the memory that arrays of those types take."""
    return sum(aval.size * aval.dtype.itemsize for aval in avals)


def lacks_room(results: Sequence[ShapedArray], donated: Sequence[ShapedArray], device: Any) -> bool:
    """Return whether results exceed the available memory of a device, counting what is donated as available."""
    needed = bytes_of(results) - bytes_of(donated)
    if needed < _SMALL:
        return False
    available = room_on(device)
    return available is not None and needed > available


def room_on(device: Any) -> int | None:
    """Return the free memory of a device if known: of a CPU what the system can still give."""
    if device.platform != "cpu":
        stats = device.memory_stats() or {}
        return stats["bytes_limit"] - stats.get("bytes_in_use", 0) if "bytes_limit" in stats else None
    limits = [limit for limit in (_free(), _limit_of_group(), _limit_of_process()) if limit is not None]
    return min(limits, default=None)


def _free() -> int | None:
    """Return the memory that the system can give without killing a process."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        numbers = {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines}
        return numbers["MemAvailable"] + numbers["SwapFree"]
    except (OSError, KeyError, ValueError, IndexError):
        return _installed()


def _installed() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _limit_of_group() -> int | None:
    for path in _LIMITS_OF_GROUPS:
        try:
            return int(Path(path).read_text())
        except (OSError, ValueError):  # no such group, or no limit
            continue
    return None


def _limit_of_process() -> int | None:
    """Return the memory that the process may still request, if it has a limit (``ulimit -v``)."""
    if sys.platform == "win32":
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        used = 0
    return limit - used
