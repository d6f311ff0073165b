"""What a part is given to work with."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...xla.devices.backend import devices


@dataclass(frozen=True)
class Context:
    """A part's device and the folder of its files. The device is started when it is asked for.

    ``size`` is that of programs, ``"small"`` or ``"large"``; ``crashed`` are items that took an earlier process of this
    part down; ``remaining`` gives the seconds that are left.
    """

    folder: Path
    platform: str | None = None
    size: str = "small"
    crashed: frozenset[str] = frozenset()
    remaining: Callable[[], float] = field(default=lambda: 60.0)

    @functools.cached_property
    def device(self) -> Any:
        return devices(self.platform)[0]

    @functools.cached_property
    def host(self) -> Any:
        return devices("cpu")[0]

    def save(self, name: str, data: bytes | str) -> None:
        """Write a file that goes into the archive."""
        path = self.path(name)
        path.write_bytes(data.encode() if isinstance(data, str) else data)

    def path(self, name: str) -> Path:
        """Return where a file of the archive is written."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path
