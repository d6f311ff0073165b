"""User-requested profiles for TensorBoard, XProf and Perfetto, and annotations in them."""

from __future__ import annotations

import functools
import gzip
import os
import shutil
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from jaxlib import _profiler

from ..devices.backend import client
from .profiler_windows import ProfilerInUseError, claim_profiler, current_holder, release_profiler

P = ParamSpec("P")
R = TypeVar("R")

ProfileOptions = _profiler.ProfileOptions

#: How long a trace waits for the short window of a live view to close.
_CLAIM_TIMEOUT_SECONDS = 5.0


class _Trace:
    """Profile that a user requested, and the folder ``log_dir`` that it is written to.

    ``perfetto`` adds a copy for Perfetto; ``link`` is not supported (ValueError). ``options`` are jaxlib's
    ``ProfileOptions`` or None.
    """

    def __init__(self, log_dir: str | os.PathLike[str], link: bool, perfetto: bool, options: Any) -> None:
        if link:
            raise ValueError(
                "create_perfetto_link would serve the profile to a website; "
                "pass create_perfetto_trace=True and open the file at https://ui.perfetto.dev instead"
            )
        self._folder = os.fspath(log_dir)
        self._perfetto = perfetto
        self._options = options
        self._session: Any = None

    def start(self) -> None:
        """Claim the profiler and start it; raises ProfilerInUseError if it is not free within some seconds."""
        if isinstance(current_holder(), _Trace):
            raise ProfilerInUseError("a trace is running already in this process; call stop_trace() first")
        try:
            self._claim()
            client()  # a device's profiler exists only after the device was initialized
            self._session = _profiler.ProfilerSession(self._options or ProfileOptions())
        except BaseException:
            self._end()
            raise

    def stop(self) -> None:
        try:
            self._session.stop_and_export(self._folder)
        finally:
            self._end()
        if self._perfetto:
            _write_perfetto(Path(self._folder))

    def _claim(self) -> None:
        until = time.monotonic() + _CLAIM_TIMEOUT_SECONDS
        while not claim_profiler(self):
            if time.monotonic() > until:
                raise ProfilerInUseError(
                    "a profiler window of xlascope is open in this process; try again when it is closed"
                )
            time.sleep(0.001)

    def _end(self) -> None:
        self._session = None
        release_profiler(self)


class _ActiveProfilers:
    """Profilers that run until they are stopped: the trace of :func:`start_trace`, and the server."""

    trace: _Trace | None = None
    server: Any = None


_ACTIVE = _ActiveProfilers()


class TraceAnnotation(_profiler.TraceMe):
    """Named span of host work in a ``with`` block, shown in profiles; keywords become the event's arguments.

    >>> with TraceAnnotation("load the data", epoch=3):
    ...     pass
    """


class StepTraceAnnotation(TraceAnnotation):
    """Named span of one training step: ``with StepTraceAnnotation("train", step_num=step): ...``.

    Profile viewers aggregate times by step.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, _r=1, **kwargs)


def annotate_function(func: Callable[P, R], name: str | None = None, **decorator_kwargs: Any) -> Callable[P, R]:
    """Return a function like ``func`` whose calls appear in profiles under ``name``, or its own name.

    >>> @annotate_function
    ... def load(n):
    ...     return list(range(n))
    >>> load(3)
    [0, 1, 2]
    """
    label = name or getattr(func, "__qualname__", None) or getattr(func, "__name__", None) or type(func).__name__

    @functools.wraps(func)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with TraceAnnotation(label, **decorator_kwargs):
            return func(*args, **kwargs)

    return call


def start_trace(
    log_dir: str | os.PathLike[str],
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> None:
    """Record what host and devices do until :func:`stop_trace`, which writes it into a folder of ``log_dir``.

    The file is ``plugins/profile/<time>/<host>.xplane.pb``, as TensorBoard and XProf read it, with a
    ``perfetto_trace.json.gz`` beside it on demand. Raises RuntimeError when a trace is running already, and ValueError
    for ``create_perfetto_link``.
    """
    new_trace = _Trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    new_trace.start()
    _ACTIVE.trace = new_trace


def stop_trace() -> None:
    """End the trace and write it.

    Raises RuntimeError if none is running, or if another profiler was active before it.
    """
    running = current_holder()
    if not isinstance(running, _Trace):
        raise RuntimeError("no trace is running in this process; start one with start_trace(log_dir)")
    _ACTIVE.trace = None
    running.stop()


@contextmanager
def trace(
    log_dir: str | os.PathLike[str],
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Iterator[None]:
    """Record what host and devices do in a ``with`` block, from :func:`start_trace` to :func:`stop_trace`.

    The parameters are those of :func:`start_trace`.
    """
    new_trace = _Trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        new_trace.start()
        yield
    finally:
        if current_holder() is new_trace:
            new_trace.stop()


def _write_perfetto(folder: Path) -> None:
    """Copy the latest trace in a folder to the file name that Perfetto expects."""
    runs = sorted((folder / "plugins/profile").iterdir(), key=lambda run: run.stat().st_mtime)
    for trace_file in runs[-1].glob("*.trace.json.gz"):
        shutil.copyfile(trace_file, runs[-1] / "perfetto_trace.json.gz")


def device_memory_profile(backend: str | None = None) -> bytes:
    """Return a compressed ``pprof`` profile of a backend's live arrays and where they were created."""
    return gzip.compress(client(backend).heap_profile())


def save_device_memory_profile(filename: str | os.PathLike[str], backend: str | None = None) -> None:
    """Write :func:`device_memory_profile` to a file, which ``pprof --web FILE`` shows."""
    Path(filename).write_bytes(device_memory_profile(backend))


def start_server(port: int, requires_backend: bool = True) -> Any:
    """Let TensorBoard or XProf take profiles of this process through a port; lives until :func:`stop_server`.

    jaxlib lets it listen at every address of the machine, to anyone who can reach the port: close the port to others.
    ``requires_backend`` starts the default platform first. Raises ValueError when a server is running.
    """
    if _ACTIVE.server is not None:
        raise ValueError("a profiler server is running already in this process; call stop_server() first")
    if requires_backend:
        client()
    warnings.warn(
        f"the profiler server listens at port {port} of every address of this machine, and asks nobody for a password",
        stacklevel=2,
    )
    _ACTIVE.server = _profiler.start_server(port)
    return _ACTIVE.server


def stop_server() -> None:
    """Stop the server; raises ValueError when none is running."""
    if _ACTIVE.server is None:
        raise ValueError("no profiler server is running in this process; start one with start_server(port)")
    _ACTIVE.server = None
