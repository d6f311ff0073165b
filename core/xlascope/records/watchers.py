"""List of record callbacks, in a module of its own so that the engine can test it without loading the records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: The callbacks, in order of subscription, each called with every record. The engine's only test on its slow path is
#: `if watchers:`.
watchers: list[Callable[[Any], None]] = []
