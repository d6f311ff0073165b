"""Profiles that a user asks for: written where TensorBoard, XProf and Perfetto look for them; and names in them."""

from __future__ import annotations

import functools
import gzip
import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from jaxlib import _profiler

from .backend import client
from .profile import ProfilerInUseError, one_at_a_time

P = ParamSpec("P")
R = TypeVar("R")

ProfileOptions = _profiler.ProfileOptions

#: How long a trace waits for a live view's window, which is short, to close.
_PATIENCE = 5.0


class _Running:
    """The trace that is running, if one is; and the server."""

    session: Any = None
    folder: str = ""
    perfetto: bool = False
    server: Any = None


_RUNNING = _Running()


class TraceAnnotation(_profiler.TraceMe):
    """A name for what the host does in a ``with`` block, seen in profiles; keywords become facts of the event.

    >>> with TraceAnnotation("load the data", epoch=3):
    ...     pass
    """


class StepTraceAnnotation(TraceAnnotation):
    """A name for one step of a training loop: ``with StepTraceAnnotation("train", step_num=step): ...``.

    Tools that read profiles give times by step.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, _r=1, **kwargs)


def annotate_function(func: Callable[P, R], name: str | None = None, **decorator_kwargs: Any) -> Callable[P, R]:
    """A function like ``func`` whose calls are seen in profiles, by ``name`` or by its own.

    >>> @annotate_function
    ... def load(n):
    ...     return list(range(n))
    >>> load(3)
    [0, 1, 2]
    """
    shown = name or getattr(func, "__qualname__", None) or getattr(func, "__name__", None) or type(func).__name__

    @functools.wraps(func)
    def annotated(*args: P.args, **kwargs: P.kwargs) -> R:
        with TraceAnnotation(shown, **decorator_kwargs):
            return func(*args, **kwargs)

    return annotated


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
    if create_perfetto_link:
        raise ValueError(
            "create_perfetto_link would serve the profile to a website; "
            "pass create_perfetto_trace=True and open the file at https://ui.perfetto.dev instead"
        )
    if _RUNNING.session is not None:
        raise ProfilerInUseError("a trace is running already in this process; call stop_trace() first")
    if not one_at_a_time.acquire(timeout=_PATIENCE):
        raise ProfilerInUseError("a profiler window of xlascope is open in this process; try again when it is closed")
    try:
        client()  # a device's own profiler is there only once the device is
        _RUNNING.session = _profiler.ProfilerSession(profiler_options or ProfileOptions())
    except BaseException:
        one_at_a_time.release()
        raise
    _RUNNING.folder, _RUNNING.perfetto = os.fspath(log_dir), create_perfetto_trace


def stop_trace() -> None:
    """End the trace and write it. Raises RuntimeError when none is running, or another profiler was there before."""
    session, _RUNNING.session = _RUNNING.session, None
    if session is None:
        raise RuntimeError("no trace is running in this process; start one with start_trace(log_dir)")
    try:
        session.stop_and_export(_RUNNING.folder)
    finally:
        del session
        one_at_a_time.release()
    if _RUNNING.perfetto:
        _write_perfetto(Path(_RUNNING.folder))


@contextmanager
def trace(
    log_dir: str | os.PathLike[str],
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Iterator[None]:
    """Record what host and devices do in a ``with`` block; the same as :func:`start_trace` and :func:`stop_trace`."""
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


def _write_perfetto(folder: Path) -> None:
    """XLA writes the trace as Perfetto reads it, under a name that Perfetto does not ask for."""
    runs = sorted((folder / "plugins/profile").iterdir(), key=lambda run: run.stat().st_mtime)
    for written in runs[-1].glob("*.trace.json.gz"):
        shutil.copyfile(written, runs[-1] / "perfetto_trace.json.gz")


def device_memory_profile(backend: str | None = None) -> bytes:
    """The arrays on a backend's devices right now and where they were made, as a compressed profile for ``pprof``."""
    return gzip.compress(client(backend).heap_profile())


def save_device_memory_profile(filename: str | os.PathLike[str], backend: str | None = None) -> None:
    """Write :func:`device_memory_profile` to a file: ``pprof --web FILE`` shows it."""
    Path(filename).write_bytes(device_memory_profile(backend))


def start_server(port: int, requires_backend: bool = True) -> Any:
    """Let TensorBoard or XProf take profiles of this process through a port; lives until :func:`stop_server`.

    jaxlib lets it listen at every address of the machine, to anyone who can reach the port: close the port to others.
    Raises ValueError when one is running.
    """
    if _RUNNING.server is not None:
        raise ValueError("a profiler server is running already in this process; call stop_server() first")
    if requires_backend:
        client()
    warnings.warn(
        f"the profiler server listens at port {port} of every address of this machine, and asks nobody for a password",
        stacklevel=2,
    )
    _RUNNING.server = _profiler.start_server(port)
    return _RUNNING.server


def stop_server() -> None:
    """End the server. Raises ValueError when none is running."""
    if _RUNNING.server is None:
        raise ValueError("no profiler server is running in this process; start one with start_server(port)")
    _RUNNING.server = None
