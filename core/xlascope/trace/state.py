"""What is current on this thread: the trace that operations go to, and the origin that new equations get."""

from __future__ import annotations

import threading
from typing import Any

from ..ir.jaxpr import Origin


class _State(threading.local):
    trace: Any = None
    origin: Origin | None = None


STATE = _State()
