"""Compilations that outlive an interrupt: XLA goes on, and the next call of the same program resumes.

Abandoned compilations, which no call waits for, are held here in small number: while too many are running, the
next compilation waits for one of them, and the oldest finished ones are dropped.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from ... import records
from ...records.watchers import watchers
from ..devices.backend import devices_list
from ..system.worker_thread import UninterruptibleTask

#: At most this many abandoned compilations may be running, and be held after they finished.
_MAX_RUNNING_COMPILATIONS, _MAX_FINISHED_COMPILATIONS = 2, 4


class CompilationSource(NamedTuple):
    """Program for XLA to compile, with its identity for deduplication and for reports.

    ``content()`` returns the program's bytecode, or a module in a context of its own; ``module`` is the module's name.
    ``identity()`` returns a value that is equal for programs that XLA compiles to the same executable. ``number`` and
    ``name`` are those of the program in records.
    """

    content: Callable[[], Any]
    module: str
    identity: Callable[[], Hashable]
    number: int
    name: str


class CompiledExecutable(NamedTuple):
    """Executable with its module's name, the start of its compilation (seconds since the epoch) and its duration.

    ``resumed`` is True if an interrupted call had started the compilation.
    """

    executable: Any
    module: str
    began: float
    seconds: float
    resumed: bool


class _BackgroundCompilation:
    """Compilation by XLA, running or finished, which goes on if the call that waits for it is interrupted.

    ``callbacks`` are the Python functions that the program calls. It is abandoned while no call waits for it.
    """

    def __init__(
        self, source: CompilationSource, devices: tuple[Any, ...], options: Any, callbacks: Sequence[Callable[..., Any]]
    ) -> None:
        backend, content = devices[0].client, source.content()
        extra = (list(callbacks),) if callbacks else ()
        self.module, self.number, self.name = source.module, source.number, source.name
        device_list = devices_list(devices)
        self.work = UninterruptibleTask(
            lambda: backend.compile_and_load(content, device_list, options, *extra), self._on_finished
        )
        self.is_abandoned = self.is_resumed = self.is_reported = False
        self._find_identity: Callable[[], Hashable] | None = source.identity
        self._identity: Hashable = None

    @property
    def identity(self) -> Hashable:
        """Return the value that is equal for equal programs; it is computed on first use."""
        find = self._find_identity
        if find is not None:
            self._identity = find()
            self._find_identity = None
        return self._identity

    def wait(self) -> CompiledExecutable:
        """Wait for the executable and return it; raises XLA's error.

        An interrupt is raised at once; the compilation goes on, abandoned until a call of the same program resumes it.
        """
        try:
            self.work.wait()
        except BaseException:
            self._abandon()
            raise
        if self.is_reported:
            self._report_finished()
        return CompiledExecutable(self.work.result(), self.module, self.work.began, self.work.seconds, self.is_resumed)

    def report_running(self) -> None:
        """Publish a record that says that the compilation goes on."""
        if watchers:
            self.is_reported = True
            records.publish(records.Continued(self.number, self.name, self.work.began))

    def _abandon(self) -> None:
        self.is_abandoned = True
        _abandoned.append(self)
        if not self.work.is_done:
            self.report_running()
            if self.work.wait_for(0):  # it may have finished before we reported that it goes on
                self._report_finished()

    def _on_finished(self) -> None:
        if self.is_abandoned:
            self._report_finished()

    def _report_finished(self) -> None:
        if watchers:
            records.publish(records.Continued(self.number, self.name, self.work.began, self.work.seconds))


_abandoned: list[_BackgroundCompilation] = []


def compile_source(
    source: CompilationSource, devices: tuple[Any, ...], options: Any, callbacks: Sequence[Callable[..., Any]] = ()
) -> CompiledExecutable:
    """Compile a program for the devices that share it; raises jaxlib's error when XLA refuses it.

    ``options`` are XLA's compile options, ``callbacks`` the Python functions that the program calls. An interrupt is
    raised at once while XLA goes on, and the next call of the same program resumes the compilation.
    """
    compilation = _resume_abandoned(source.identity) if _abandoned else None
    if compilation is None:
        _wait_for_slot()
        compilation = _BackgroundCompilation(source, devices, options, callbacks)
        compilation.work.start()
    return compilation.wait()


def _resume_abandoned(identity: Callable[[], Hashable]) -> _BackgroundCompilation | None:
    """Return the abandoned compilation of the program with that identity, None if there is none.

    It belongs to the caller from then on.
    """
    key = identity()
    for compilation in tuple(_abandoned):
        if compilation.identity == key:
            with contextlib.suppress(ValueError):  # another thread resumed it first
                _abandoned.remove(compilation)
                compilation.is_abandoned, compilation.is_resumed = False, True
                return compilation
    return None


def _wait_for_slot() -> None:
    """Wait until few abandoned compilations are running (``_MAX_RUNNING_COMPILATIONS``), and drop old finished ones.

    A record says of each running one that it goes on.
    """
    running = [compilation for compilation in _abandoned if not compilation.work.is_done]
    for compilation in running:
        compilation.report_running()
    while len(running) >= _MAX_RUNNING_COMPILATIONS:
        running.pop(0).work.wait()
        running = [compilation for compilation in running if not compilation.work.is_done]
    finished = [compilation for compilation in _abandoned if compilation.work.is_done]
    for compilation in finished[:-_MAX_FINISHED_COMPILATIONS]:
        with contextlib.suppress(ValueError):
            _abandoned.remove(compilation)


def drop_finished() -> None:
    """Drop the finished compilations that were abandoned."""
    for compilation in tuple(_abandoned):
        if compilation.work.is_done:
            with contextlib.suppress(ValueError):
                _abandoned.remove(compilation)


os.register_at_fork(after_in_child=_abandoned.clear)
