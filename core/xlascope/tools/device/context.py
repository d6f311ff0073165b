"""The context in which a part of the report runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...xla.devices.backend import devices


@dataclass(frozen=True)
class Context:
    """What the checks in one process of the report need: the device, the folder of their files, and the remaining time.

    The report consists of parts, groups of checks such as ``operations``, each of which runs in a process of its own;
    an item is one check with a name. ``platform`` selects the device (None: the default one), which is initialized on
    first use. ``size`` is the size of benchmark programs, ``"small"`` or ``"large"``. ``crashed`` are the names of
    items that crashed an earlier process of the same part; ``seconds_left()`` is the time left for this part.
    """

    folder: Path
    platform: str | None = None
    size: str = "small"
    crashed: frozenset[str] = frozenset()
    seconds_left: Callable[[], float] = field(default=lambda: 60.0)

    @functools.cached_property
    def device(self) -> Any:
        return devices(self.platform)[0]

    @functools.cached_property
    def host(self) -> Any:
        return devices("cpu")[0]

    def save(self, name: str, data: bytes | str) -> None:
        """Write a file that goes into the report's archive; ``name`` includes its folder there."""
        path = self.path(name)
        path.write_bytes(data.encode() if isinstance(data, str) else data)

    def path(self, name: str) -> Path:
        """Return where to write a file of the report's archive; its folder is created."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path
