"""Who wants to know: the list alone, so that the engine learns that it is empty without loading what records are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: The callbacks, in order of subscription, each called with every record. The engine's only test on its slow path is
#: `if watchers:`.
watchers: list[Callable[[Any], None]] = []
