"""Several compilations side by side, each in a process of its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ...xla.targets import Watch

R = TypeVar("R")


def all_finished(parts: Sequence[Callable[[Watch], R]], watch: Watch | None) -> list[R]:
    """All of them, some at a time; when one fails, or somebody interrupts, the others are stopped."""
    stops: list[Callable[[], None]] = []
    over = threading.Event()

    def started(stop: Callable[[], None]) -> None:
        stops.append(stop)
        if watch is not None:
            watch.started(stop)
        if over.is_set():
            stop()

    own = Watch(watch.tell if watch is not None else lambda message: None, started)
    with ThreadPoolExecutor(max_workers=min(len(parts), os.cpu_count() or 1)) as pool:
        asked = [pool.submit(part, own) for part in parts]
        try:
            return [each.result() for each in asked]
        except BaseException:
            over.set()
            for each in asked:
                each.cancel()
            for stop in list(stops):
                stop()
            raise
