"""Spans of the stages of programs, announced on the thread that runs them, for accounts of that thread's time.

Records say what a stage made; some are published later, or on another thread. A span says when its thread entered the
stage and when it left, whatever happened in between.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType

#: Listeners, called as ``(stage, program, True)`` where a stage begins and with False where it ends. ``program`` is
#: the program's number and name.
span_listeners: list[Callable[[str, tuple[int, str], bool], None]] = []
_NO_SPAN: AbstractContextManager[None] = nullcontext()


class _StageSpan:
    """Context manager that announces a stage to the listeners."""

    __slots__ = ("_listeners", "_program", "_stage")

    def __init__(self, stage: str, program: tuple[int, str]) -> None:
        self._stage, self._program = stage, program
        self._listeners = tuple(span_listeners)

    def __enter__(self) -> None:
        for listener in self._listeners:
            listener(self._stage, self._program, True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for listener in self._listeners:
            listener(self._stage, self._program, False)


def stage_span(stage: str, program: int, name: str) -> AbstractContextManager[None]:
    """Announce the ``with`` block as a stage of the calling thread: ``trace``, ``lower``, ``compile``, ``run``, ….

    ``program`` is the program's number (0: a single operation) and ``name`` its name. Nothing happens while there are
    no listeners.

    >>> with stage_span("trace", 1, "update"):
    ...     pass
    """
    return _StageSpan(stage, (program, name)) if span_listeners else _NO_SPAN
