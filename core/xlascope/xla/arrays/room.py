"""Whether there is room for what a program gives back: asked before it is compiled, since filling memory that the
system promised and does not have ends the process, or the machine.
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

#: Results that are smaller are never asked about.
_SMALL = 1 << 30
_LIMITS_OF_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def bytes_of(avals: Sequence[ShapedArray]) -> int:
    """The memory that arrays of those types take."""
    return sum(aval.size * aval.dtype.itemsize for aval in avals)


def lacks_room(results: Sequence[ShapedArray], given: Sequence[ShapedArray], device: Any) -> bool:
    """Whether results of those types are more than the device has room for, that of the arguments ``given`` away
    included.
    """
    needed = bytes_of(results) - bytes_of(given)
    if needed < _SMALL:
        return False
    room = room_on(device)
    return room is not None and needed > room


def room_on(device: Any) -> int | None:
    """The bytes that a device has left, as far as somebody knows: of a CPU what the system can still give."""
    if device.platform != "cpu":
        stats = device.memory_stats() or {}
        return stats["bytes_limit"] - stats.get("bytes_in_use", 0) if "bytes_limit" in stats else None
    found = [each for each in (_free(), _limit_of_group(), _limit_of_process()) if each is not None]
    return min(found, default=None)


def _free() -> int | None:
    """Memory that the system can give without ending somebody."""
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
    """What the process may still ask for, where it was given a limit (``ulimit -v``)."""
    if sys.platform == "win32":
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        taken = 0
    return limit - taken
