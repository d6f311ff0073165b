"""Concurrent compilations, each in a subprocess."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ...xla.targets import Watch

R = TypeVar("R")


def all_finished(parts: Sequence[Callable[[Watch], R]], watch: Watch | None) -> list[R]:
    """Run all parts, some at a time; when one fails or is interrupted, stop the others."""
    stops: list[Callable[[], None]] = []
    stopped = threading.Event()

    def register_stop(stop: Callable[[], None]) -> None:
        stops.append(stop)
        if watch is not None:
            watch.started(stop)
        if stopped.is_set():
            stop()

    shared_watch = Watch(watch.tell if watch is not None else lambda message: None, register_stop)
    with ThreadPoolExecutor(max_workers=min(len(parts), os.cpu_count() or 1)) as pool:
        futures = [pool.submit(part, shared_watch) for part in parts]
        try:
            return [future.result() for future in futures]
        except BaseException:
            stopped.set()
            for future in futures:
                future.cancel()
            for stop in list(stops):
                stop()
            raise
