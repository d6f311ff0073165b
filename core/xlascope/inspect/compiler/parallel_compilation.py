"""Concurrent compilations, each in a subprocess."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ...xla.targets import CompileProgress

R = TypeVar("R")


def run_all(parts: Sequence[Callable[[CompileProgress], R]], watch: CompileProgress | None) -> list[R]:
    """Call all functions concurrently and return their results in order; when one fails, stop the others.

    Each of ``parts`` compiles one program, and as many run at a time as there are cores. ``watch`` receives the
    progress of all and can stop them (None: nobody watches).
    """
    stops: list[Callable[[], None]] = []
    stopped = threading.Event()

    def register_stop(stop: Callable[[], None]) -> None:
        stops.append(stop)
        if watch is not None:
            watch.on_start(stop)
        if stopped.is_set():
            stop()

    shared_watch = CompileProgress(watch.report if watch is not None else lambda message: None, register_stop)
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
