"""Compilations that outlive an interrupt: the call ends, XLA goes on, and the next call takes up what it makes.

What nobody waits for any more is kept here, few of them: while so many are under way the next compilation waits for
one, and of those that have ended the oldest are forgotten.
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

#: Compilations left behind: as many may be under way, and have ended.
_MOST_RUNNING, _MOST_ENDED = 2, 4


class Source(NamedTuple):
    """What XLA compiles, and for whom.

    ``content()`` is the program's bytecode, or a module in a context of its own; ``module`` its name. ``identity()`` is
    what programs have in common of which XLA would make the same. ``number`` and ``name`` are the program's.
    """

    content: Callable[[], Any]
    module: str
    identity: Callable[[], Hashable]
    number: int
    name: str


class Made(NamedTuple):
    """An executable, the name of its module, when it was compiled (seconds since the epoch) and for how many seconds;
    ``taken_up`` says that a call which was interrupted had asked for it.
    """

    executable: Any
    module: str
    began: float
    seconds: float
    taken_up: bool


class _Compilation:
    """One compilation, under way or ended."""

    def __init__(
        self, source: Source, devices: tuple[Any, ...], options: Any, callbacks: Sequence[Callable[..., Any]]
    ) -> None:
        backend, content = devices[0].client, source.content()
        more = (list(callbacks),) if callbacks else ()
        self.module, self.number, self.name = source.module, source.number, source.name
        listed = devices_list(devices)
        self.work = Work(lambda: backend.compile_and_load(content, listed, options, *more), self._ended)
        self.left = self.taken_up = self.told = False
        self._find_identity: Callable[[], Hashable] | None = source.identity
        self._identity: Hashable = None

    @property
    def identity(self) -> Hashable:
        """What it is found by, computed when somebody looks."""
        find = self._find_identity
        if find is not None:
            self._identity = find()
            self._find_identity = None
        return self._identity

    def wait(self) -> Made:
        """What it made; raises XLA's error. Interrupted, it is left to the next who wants it."""
        try:
            self.work.wait()
        except BaseException:
            self._leave()
            raise
        if self.told:
            self._tell_end()
        return Made(self.work.result(), self.module, self.work.began, self.work.seconds, self.taken_up)

    def tell(self) -> None:
        """Say that it goes on."""
        if watchers:
            self.told = True
            records.publish(records.Continued(self.number, self.name, self.work.began))

    def _leave(self) -> None:
        self.left = True
        _left.append(self)
        if not self.work.ended:
            self.tell()
            if self.work.wait_at_most(0):  # it may have said so before we said that it goes on
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
    """What XLA makes of a program for devices that share it; raises jaxlib's error when XLA refuses it.

    An interrupt comes out at once, XLA goes on, and the next call of the same program takes up what it makes.
    """
    found = _take_up(source.identity) if _left else None
    if found is None:
        _wait_for_room()
        found = _Compilation(source, devices, options, callbacks)
        found.work.start()
    return found.wait()


def _take_up(identity: Callable[[], Hashable]) -> _Compilation | None:
    """The compilation of the same program that was left behind, which belongs to the caller from now on."""
    wanted = identity()
    for each in tuple(_left):
        if each.identity == wanted:
            with contextlib.suppress(ValueError):  # another thread was faster
                _left.remove(each)
                each.left, each.taken_up = False, True
                return each
    return None


def _wait_for_room() -> None:
    """Wait until few enough are under way; whoever watches is told what goes on."""
    running = [each for each in _left if not each.work.ended]
    for each in running:
        each.tell()
    while len(running) >= _MOST_RUNNING:
        running.pop(0).work.wait()
        running = [each for each in running if not each.work.ended]
    ended = [each for each in _left if each.work.ended]
    for each in ended[:-_MOST_ENDED]:
        with contextlib.suppress(ValueError):
            _left.remove(each)


def forget_left() -> None:
    """Forget what was made for calls that did not wait for it."""
    for each in tuple(_left):
        if each.work.ended:
            with contextlib.suppress(ValueError):
                _left.remove(each)


os.register_at_fork(after_in_child=_left.clear)
