"""Watching programs run: exact calls from a counter, times from short profiler windows, as ``Executed`` records.

Nothing runs for a :class:`Sampler` until the first call; then one thread wakes a few times a second, and now and then
opens a window, for less than a hundredth of the time (:mod:`xlascope.xla.profile`), and only while calls are made.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from .. import records
from ..ir.jaxpr import ClosedJaxpr
from ..control.jit import TracedCall
from ..records.profiles import ModuleProfile, read_profile
from ..xla.profile import SHORTEST, ProfilerInUseError, Window, next_pause, next_window
from .calls import CallCounter
from .programs import executables_of, jitted_of, known_records, traces_of
from .quiet import inspecting
from .tally import Tally

_log = logging.getLogger(__name__)

#: Seconds between two looks at the counts, and before the first.
TICK, FIRST_TICK = 0.2, 0.03
#: The first window, in seconds: long enough for a step of a small model.
FIRST_WINDOW = 4 * SHORTEST
#: How long `stop` waits for a window to close.
PATIENCE = 0.1

Recall = Callable[[TracedCall], Iterable[records.Record]]
Emit = Callable[[records.Record], None]
