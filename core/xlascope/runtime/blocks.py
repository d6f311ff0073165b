"""Settings in ``with`` blocks: which blocks are open, and their combined values.

A block ends when it is left, in whatever order blocks are left: the innermost of those that are open wins.
jaxlib stores thread-local values, and reads them in C++ at each call. So a block applies to the thread that
opened it, and nowhere else.

Tasks of asyncio share a thread, and jaxlib does not know which of them is running. A block that a task leaves
open across an ``await`` belongs to that task, and to tasks that are created within it. When another one runs
a program meanwhile, and its settings would be others, the program's result is discarded: :func:`check` raises
RuntimeError, and sets the settings of the current task on the thread. It runs after every call while a block
is open that was opened in a task, and never otherwise.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

from . import boot

_numbers = itertools.count()


class Block:
    """Values of settings in a ``with`` block, by state.

    ``text`` is how its user would write it, ``location`` where.
    """

    __slots__ = ("number", "opened", "place", "task", "text", "thread", "values")

    def __init__(self, values: dict[Any, Any], text: str) -> None:
        self.number = next(_numbers)
        self.opened = True
        self.place = ""
        self.task: Any = None
        self.text = text
        self.thread = threading.get_ident()
        self.values = values

    def belongs_elsewhere(self, task: Any) -> bool:
        """Return whether it was opened by a task that has not ended, and that is not ``task``."""
        return self.task is not None and self.task is not task and not self.task.done()


class _Thread(threading.local):
    """Blocks that determine the values of this thread's states in jaxlib."""

    #: The blocks whose values are set.
    blocks: tuple[Block, ...] = ()
    #: Open blocks of asyncio tasks, whether or not their values are set.
    of_tasks: frozenset[Block] = frozenset()
    #: The states that blocks have set, to unset those that no open block sets.
    touched: tuple[Any, ...] = ()


_THREAD = _Thread()
#: The blocks of a context. Each asyncio task has its own context, a copy of its creator's.
_of_context: ContextVar[tuple[Block, ...]] = ContextVar("xlascope_blocks", default=())


def enter(block: Block) -> None:
    """Open a block."""
    block.task = _current_task()
    if _loop_is_running():
        block.place = _user_place()
        _THREAD.of_tasks |= {block}
    _apply((*_those_that_count(), block))


def leave(block: Block) -> None:
    """Close a block; the values of others remain. May be called again when it was interrupted."""
    block.opened = False
    if block.thread != threading.get_ident():  # a discarded generator: the thread updates at its next block
        return
    _THREAD.of_tasks -= {block}
    _apply(_those_that_count())
    block.task = None


def check(*_: Any) -> None:
    """Raise RuntimeError if this thread's settings are those of another task."""
    if _of_context.get() is not _THREAD.blocks:
        _check(_those_that_count())


def value_of(state: Any) -> Any:
    """Return the value of a state for the current task."""
    if _THREAD.of_tasks and _of_context.get() is not _THREAD.blocks:
        values = _together(_those_that_count())
        return values[state] if state in values else state.get_global()
    return state.value


def _those_that_count() -> tuple[Block, ...]:
    """Return the open blocks of the current task: its own, those it inherited, and those of no running task."""
    context_blocks, thread_blocks = _of_context.get(), _THREAD.blocks
    if not _loop_is_running():
        return tuple([block for block in thread_blocks if block.opened])
    task, thread = _current_task(), threading.get_ident()
    active = {block for block in context_blocks if block.opened and block.thread == thread}
    active |= {block for block in thread_blocks if block.opened and not block.belongs_elsewhere(task)}
    return tuple(sorted(active, key=lambda block: block.number))


def _together(blocks: Iterable[Block]) -> dict[Any, Any]:
    """Return the combined values of blocks: for each state the innermost."""
    return {state: value for block in blocks for state, value in block.values.items()}


def _apply(blocks: tuple[Block, ...]) -> None:
    """Set this thread's states to the values of blocks. Idempotent, so that it can be repeated after an interrupt."""
    values = _together(blocks)
    _THREAD.touched = tuple({*_THREAD.touched, *values})
    _THREAD.blocks = blocks
    _of_context.set(blocks)
    for state in _THREAD.touched:
        state.set_local(values.get(state, boot.UNSET))
    watched = bool(_THREAD.of_tasks)
    boot.note_blocks(watched)
    boot.post_hook.set_local(_after_call if watched else boot.UNSET)


def _after_call(*call: Any) -> None:
    """Check the settings after a jitted call, then call the process's hook; the hook of a thread with such blocks."""
    if _of_context.get() is not _THREAD.blocks:
        _check(_those_that_count())
    hook = boot.post_hook.get_global()
    if hook is not None:
        hook(*call)


def _check(blocks: tuple[Block, ...]) -> None:
    wanted, present = _together(blocks), _together(_THREAD.blocks)
    differing = [state for state in {**wanted, **present} if _differs(state, wanted, present)]
    if not differing:
        return
    _apply(blocks)
    alien = [block for block in _THREAD.of_tasks if block.belongs_elsewhere(_current_task())]
    raise RuntimeError(
        f"this call ran with another task's {' and '.join(state.name for state in differing)}, and its result is "
        f"dropped: {_listed(alien or _THREAD.of_tasks)} was left open across an await, and the tasks of asyncio share "
        "a thread, which has one value of each setting. Leave the block before the await, or set the value for the "
        "process with config.update. (From here on the settings are this task's own.)"
    )


def _differs(state: Any, wanted: dict[Any, Any], present: dict[Any, Any]) -> bool:
    if (state in wanted) != (state in present):
        local = wanted[state] if state in wanted else present[state]
        return bool(local != state.get_global())
    return bool(wanted[state] != present[state])


def _listed(blocks: Iterable[Block]) -> str:
    texts = [f"{block.text}{block.place}" for block in sorted(blocks, key=lambda block: block.number)]
    return " and ".join(texts) or "a block"  # all were closed meanwhile


def _loop_is_running() -> bool:
    running = getattr(sys.modules.get("asyncio.events"), "_get_running_loop", None)  # None during its import
    return running is not None and running() is not None


def _current_task() -> Any:
    return sys.modules["asyncio"].current_task() if _loop_is_running() else None


def _user_place() -> str:
    """Return `` at file.py:12``, the line that opens a block, for messages."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("xlascope", "contextlib"):
        frame = frame.f_back
    return "" if frame is None else f" at {frame.f_code.co_filename}:{frame.f_lineno}"
