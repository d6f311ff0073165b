"""Start of engines on this machine, in a profile of their own, which end with the process that started them."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

import ipyparallel
import psutil
from ipyparallel.cluster.launcher import LocalEngineLauncher, LocalEngineSetLauncher

from xlascope.records.plain import plain

from . import guard

_QUIET = logging.CRITICAL
#: Lines of ipyparallel's log, such as "2026-11-27 18:30:38.157 [IPEngine.1] …", and of jaxlib's.
_LOG_LINE = re.compile(r"\d{4}-\d\d-\d\d [\d:.]+ \[|[IWEF]\d{4} ")
#: Colors of a terminal, in tracebacks.
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
MAX_LAST_LINES, MAX_LINE_CHARS = 6, 300
#: How long the guard may take to end what is left.
MAX_GUARD_SECONDS = 15.0


class NumberedEngineLauncher(LocalEngineLauncher):  # type: ignore[misc]
    """Launcher of an engine that asks for the number that it has in its set, also when the set is started again."""

    def find_args(self) -> list[str]:
        return [*super().find_args(), f"--IPEngine.id={self.identifier}"]


class NumberedEngineSetLauncher(LocalEngineSetLauncher):  # type: ignore[misc]
    """Launcher of engines on this machine with numbers from 0."""

    launcher_class = NumberedEngineLauncher


class LocalEngines:
    """Cluster of ``count`` engines on this machine, which ends by :meth:`stop` and when this process ends."""

    def __init__(self, count: int) -> None:
        self._mark = secrets.token_hex(16)
        self._folder = tempfile.mkdtemp(prefix="xlascope-cluster-")
        command = [sys.executable, "-P", str(Path(guard.__file__)), self._mark, self._folder]
        self._launchers: dict[int, Any] = {}
        # In a session of its own, which no signal to the kernel's reaches.
        self._guard = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
        self.cluster = ipyparallel.Cluster(
            n=count,
            profile_dir=self._folder,
            engines=NumberedEngineSetLauncher,
            delay=0,
            shutdown_atexit=False,
            log_level=_QUIET,
        )

    def start(self) -> None:
        """Start the controller and the engines."""
        with _marked_environment(self._mark):
            self.cluster.start_cluster_sync()
        self._note_launchers()

    def start_engines(self, count: int) -> None:
        """Start engines, after the former ones have ended."""
        with _marked_environment(self._mark):
            self.cluster.start_engines_sync(count)
        self._note_launchers()

    def _note_launchers(self) -> None:
        """Note the launchers of the engines: the cluster forgets those of engines that have ended."""
        self._launchers = {launcher.pid: launcher for launcher in self.cluster.engine_set.launchers.values()}

    def stop(self) -> None:
        """End all processes of the cluster, and wait until they have ended."""
        with contextlib.suppress(Exception):  # the guard ends what this leaves
            self.cluster.stop_cluster_sync()
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._guard.wait(MAX_GUARD_SECONDS)

    def explain_end(self, pid: int) -> str:
        """Return how an engine has ended, and what it said last: ``" by SIGKILL"``; "" if nothing is known."""
        launcher = self._launchers.get(pid)
        return "" if launcher is None else f"{_read_status(launcher.process)}{_read_last_words(launcher.output_file)}"


def _read_status(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        status = process.wait(0)
        if status is not None and status < 0:
            return f" by {signal.Signals(-status).name}"
        return "" if status is None else f" with status {status}"
    return ""


def _read_last_words(file: str) -> str:
    """Return the last lines that a process wrote itself to its log, indented, each on a line of its own."""
    with contextlib.suppress(OSError):
        lines = _ESCAPE.sub("", Path(file).read_text(encoding="utf-8", errors="replace")).splitlines()
        words = [line for line in lines if line.strip() and not _LOG_LINE.match(line)]
        return "".join(f"\n  {plain(line, MAX_LINE_CHARS)}" for line in words[-MAX_LAST_LINES:])
    return ""


class _marked_environment:  # noqa: N801 -- it is called like a function
    """Context in which processes that are started carry the mark."""

    def __init__(self, mark: str) -> None:
        self._mark = mark

    def __enter__(self) -> None:
        os.environ[guard.MARK_VARIABLE] = self._mark

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        os.environ.pop(guard.MARK_VARIABLE, None)
