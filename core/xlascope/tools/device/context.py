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
    """The device of a part and the folder of its files. The device is initialized on first use.

    ``size`` is the size of programs, ``"small"`` or ``"large"``; ``crashed`` are items that crashed an
    earlier process of this part; ``seconds_left`` returns the remaining time.
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
        """Return the path of a file of the archive."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path
