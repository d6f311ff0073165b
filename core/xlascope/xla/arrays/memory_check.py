"""Check that a program's results fit into memory, before it is compiled.

Filling memory that the system promised and does not have kills the process or stalls the machine.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # who looks into jax's arrays reads the free memory and has no engine
    from ...ir.avals import ShapedArray

if sys.platform != "win32":
    import resource

#: Smaller results are not checked.
_MIN_CHECKED_BYTES = 1 << 30
_FREE_MEMORY = re.compile(r"^(MemAvailable|SwapFree): *(\d+) kB$", re.MULTILINE)
_CGROUP_LIMIT_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def total_bytes(avals: Sequence[ShapedArray]) -> int:
    """Return the number of bytes that arrays of those types take."""
    return sum(aval.size * aval.dtype.itemsize for aval in avals)


def exceeds_available_memory(results: Sequence[ShapedArray], donated: Sequence[ShapedArray], device: Any) -> bool:
    """Return whether a program's results exceed the free memory of a device, with donated memory counted as free.

    ``results`` and ``donated`` are the types of its results and of its donated operands. False where less than a GiB
    is needed, which is not checked, and where the free memory is unknown.
    """
    needed = total_bytes(results) - total_bytes(donated)
    if needed < _MIN_CHECKED_BYTES:
        return False
    available = available_bytes(device)
    return available is not None and needed > available


def available_bytes(device: Any) -> int | None:
    """Return the free bytes in a device's memory, None if unknown; for a CPU what the system can still give."""
    if device.platform != "cpu":
        stats = device.memory_stats() or {}
        return stats["bytes_limit"] - stats.get("bytes_in_use", 0) if "bytes_limit" in stats else None
    limits = [
        limit
        for limit in (_system_available_bytes(), _cgroup_limit_bytes(), _process_limit_bytes())
        if limit is not None
    ]
    return min(limits, default=None)


def _system_available_bytes() -> int | None:
    """Return the number of bytes that the system can give without killing a process; None if unknown."""
    try:
        numbers = dict(_FREE_MEMORY.findall(Path("/proc/meminfo").read_text()))
        return int(numbers["MemAvailable"]) + int(numbers["SwapFree"]) << 10
    except (OSError, KeyError, ValueError):
        return _physical_memory_bytes()


def _physical_memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _cgroup_limit_bytes() -> int | None:
    for path in _find_cgroup_limit_files():
        try:
            return int(path.read_text())
        except (OSError, ValueError):  # no limit
            continue
    return None


@functools.cache
def _find_cgroup_limit_files() -> tuple[Path, ...]:
    """Return the files that have the limit of this process's group; the system has no others while it runs."""
    return tuple(path for path in map(Path, _CGROUP_LIMIT_FILES) if os.access(path, os.R_OK))


def _process_limit_bytes() -> int | None:
    """Return the number of bytes that the process may still request by its limit (``ulimit -v``); None without one."""
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
