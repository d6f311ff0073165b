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
from ..system.uninterrupted import Work

#: At most this many abandoned compilations may be running, and be held after they finished.
_MOST_RUNNING, _MOST_ENDED = 2, 4


class Source(NamedTuple):
    """Program for XLA to compile, with its identity for deduplication and for reports.

    ``content()`` is the program's bytecode, or a module in a context of its own; ``module`` is its name.
    ``identity()`` is equal for programs that XLA compiles to the same executable. ``number`` and ``name`` are the
    program's.
    """

    content: Callable[[], Any]
    module: str
    identity: Callable[[], Hashable]
    number: int
    name: str


class Made(NamedTuple):
    """Executable with its module's name, the start of its compilation (seconds since the epoch) and its duration.

    ``resumed`` is True if an interrupted call had started the compilation.
    """

    executable: Any
    module: str
    began: float
    seconds: float
    taken_up: bool


class _Compilation:
    """One compilation, running or finished."""

    def __init__(
        self, source: Source, devices: tuple[Any, ...], options: Any, callbacks: Sequence[Callable[..., Any]]
    ) -> None:
        backend, content = devices[0].client, source.content()
        extra = (list(callbacks),) if callbacks else ()
        self.module, self.number, self.name = source.module, source.number, source.name
        device_list = devices_list(devices)
        self.work = Work(lambda: backend.compile_and_load(content, device_list, options, *extra), self._ended)
        self.left = self.taken_up = self.told = False
        self._find_identity: Callable[[], Hashable] | None = source.identity
        self._identity: Hashable = None

    @property
    def identity(self) -> Hashable:
        """Return the key that equal programs share; it is computed on first use."""
        find = self._find_identity
        if find is not None:
            self._identity = find()
            self._find_identity = None
        return self._identity

    def wait(self) -> Made:
        """Return the compiled executable; raises XLA's error. An interrupt abandons it to the next call."""
        try:
            self.work.wait()
        except BaseException:
            self._leave()
            raise
        if self.told:
            self._tell_end()
        return Made(self.work.result(), self.module, self.work.began, self.work.seconds, self.taken_up)

    def tell(self) -> None:
        """Publish a record saying that the compilation goes on."""
        if watchers:
            self.told = True
            records.publish(records.Continued(self.number, self.name, self.work.began))

    def _leave(self) -> None:
        self.left = True
        _left.append(self)
        if not self.work.ended:
            self.tell()
            if self.work.wait_at_most(0):  # it may have finished before we reported that it goes on
                self._tell_end()

    def _ended(self) -> None:
        if self.left:
            self._tell_end()

    def _tell_end(self) -> None:
        if watchers:
            records.publish(records.Continued(self.number, self.name, self.work.began, self.work.seconds))


_left: list[_Compilation] = []


def compile_source(
    source: Source, devices: tuple[Any, ...], options: Any, callbacks: Sequence[Callable[..., Any]] = ()
) -> Made:
    """Compile a program for the devices that share it; raises jaxlib's error when XLA refuses it.

    An interrupt is raised at once while XLA goes on, and the next call of the same program resumes the compilation.
    """
    compilation = _take_up(source.identity) if _left else None
    if compilation is None:
        _wait_for_room()
        compilation = _Compilation(source, devices, options, callbacks)
        compilation.work.start()
    return compilation.wait()


def _take_up(identity: Callable[[], Hashable]) -> _Compilation | None:
    """Return the abandoned compilation of the same program, which belongs to the caller from then on."""
    wanted = identity()
    for compilation in tuple(_left):
        if compilation.identity == wanted:
            with contextlib.suppress(ValueError):  # another thread resumed it first
                _left.remove(compilation)
                compilation.left, compilation.taken_up = False, True
                return compilation
    return None


def _wait_for_room() -> None:
    """Wait until few enough compilations are running, and report those that go on."""
    running = [compilation for compilation in _left if not compilation.work.ended]
    for compilation in running:
        compilation.tell()
    while len(running) >= _MOST_RUNNING:
        running.pop(0).work.wait()
        running = [compilation for compilation in running if not compilation.work.ended]
    ended = [compilation for compilation in _left if compilation.work.ended]
    for compilation in ended[:-_MOST_ENDED]:
        with contextlib.suppress(ValueError):
            _left.remove(compilation)


def forget_left() -> None:
    """Drop the finished compilations that no call waited for."""
    for compilation in tuple(_left):
        if compilation.work.ended:
            with contextlib.suppress(ValueError):
                _left.remove(compilation)


os.register_at_fork(after_in_child=_left.clear)
