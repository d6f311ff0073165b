"""Gate that holds calls while the profiler detaches from a GPU.

CUPTI, NVIDIA's profiling library, is detached at the end of each window (XLA calls ``cuptiFinalize``). If
another thread launches kernels meanwhile, the process ends with signal 11
(https://github.com/jax-ml/jax/issues/40260; observed on an H100 with jaxlib 0.11.2). So the next call of a
program waits for its results, and then until the window is closed.
"""

from __future__ import annotations

import threading
from typing import Any

from .result_paths import Leaves

#: Maximum seconds that a call is held: closing a window must have failed by then.
MAX_HOLD_SECONDS = 5.0


class CallGate:
    """Gate that calls pass on their threads, and that one other thread closes and opens."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()
        self._call_waiting = threading.Event()

    def close(self, seconds: float) -> bool:
        """Close the gate and wait for a call to arrive; return whether one did, within so many seconds.

        >>> CallGate().close(0.0)
        False
        """
        self._call_waiting.clear()
        self._open.clear()
        return self._call_waiting.wait(seconds)

    def open(self) -> None:
        """Open the gate."""
        self._open.set()

    def enter(self, results: Any, leaves: Leaves) -> None:
        """Wait, if the gate is closed, until the results of a call are ready and the gate is open again.

        ``leaves(results)`` returns the arrays among them.
        """
        if self._open.is_set():
            return
        for array in leaves(results):
            if hasattr(array, "block_until_ready") and not array.is_deleted():
                array.block_until_ready()
        self._call_waiting.set()
        self._open.wait(MAX_HOLD_SECONDS)
