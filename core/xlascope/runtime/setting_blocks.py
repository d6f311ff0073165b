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


class SettingBlock:
    """Values of settings in a ``with`` block: ``values`` has them by state.

    For messages, ``text`` is the call that makes the block and ``location`` where it was opened. ``task`` is
    the asyncio task that opened it, or None.
    """

    __slots__ = ("is_open", "location", "number", "task", "text", "thread", "values")

    def __init__(self, values: dict[Any, Any], text: str) -> None:
        self.number = next(_numbers)
        self.is_open = True
        self.location = ""
        self.task: Any = None
        self.text = text
        self.thread = threading.get_ident()
        self.values = values

    def belongs_to_other_task(self, task: Any) -> bool:
        """Return whether the block was opened by an asyncio task that has not ended and is not ``task``."""
        return self.task is not None and self.task is not task and not self.task.done()


class _ThreadBlocks(threading.local):
    """Open blocks of this thread, and the jaxlib states that they have set."""

    #: The blocks whose values are set.
    blocks: tuple[SettingBlock, ...] = ()
    #: Open blocks of asyncio tasks, whether or not their values are set.
    task_blocks: frozenset[SettingBlock] = frozenset()
    #: The states that blocks have set, to unset those that no open block sets.
    touched_states: tuple[Any, ...] = ()


_THREAD = _ThreadBlocks()
#: The blocks of a context. Each asyncio task has its own context, a copy of its creator's.
_context_blocks: ContextVar[tuple[SettingBlock, ...]] = ContextVar("xlascope_blocks", default=())


def enter(block: SettingBlock) -> None:
    """Open a block on this thread and, in a running event loop, for the current asyncio task."""
    block.task = _current_task()
    if _loop_is_running():
        block.location = _format_user_location()
        _THREAD.task_blocks |= {block}
    _apply((*_active_blocks(), block))


def leave(block: SettingBlock) -> None:
    """Close a block; blocks that are still open keep their values. May be repeated after an interrupt."""
    block.is_open = False
    if block.thread != threading.get_ident():  # a discarded generator: the thread updates at its next block
        return
    _THREAD.task_blocks -= {block}
    _apply(_active_blocks())
    block.task = None


def check(*_: Any) -> None:
    """Raise RuntimeError if this thread's settings are those of another asyncio task; arguments are ignored."""
    if _context_blocks.get() is not _THREAD.blocks:
        _raise_if_settings_differ(_active_blocks())


def value_of(state: Any) -> Any:
    """Return the value of a state in the current asyncio task, or else on this thread."""
    if _THREAD.task_blocks and _context_blocks.get() is not _THREAD.blocks:
        values = _merge_values(_active_blocks())
        return values[state] if state in values else state.get_global()
    return state.value


def _active_blocks() -> tuple[SettingBlock, ...]:
    """Return the open blocks that apply to the current task, the innermost last.

    These are its own, those it inherited from its creator, and those that no running task opened.
    """
    context_blocks, thread_blocks = _context_blocks.get(), _THREAD.blocks
    if not _loop_is_running():
        return tuple([block for block in thread_blocks if block.is_open])
    task, thread = _current_task(), threading.get_ident()
    active = {block for block in context_blocks if block.is_open and block.thread == thread}
    active |= {block for block in thread_blocks if block.is_open and not block.belongs_to_other_task(task)}
    return tuple(sorted(active, key=lambda block: block.number))


def _merge_values(blocks: Iterable[SettingBlock]) -> dict[Any, Any]:
    """Return the values of blocks, the innermost last, by state; the innermost block that sets a state wins."""
    return {state: value for block in blocks for state, value in block.values.items()}


def _apply(blocks: tuple[SettingBlock, ...]) -> None:
    """Set this thread's states to the combined values of blocks; states that none of them sets are unset.

    Idempotent, so that it can be repeated after an interrupt.
    """
    values = _merge_values(blocks)
    _THREAD.touched_states = tuple({*_THREAD.touched_states, *values})
    _THREAD.blocks = blocks
    _context_blocks.set(blocks)
    for state in _THREAD.touched_states:
        state.set_local(values.get(state, boot.UNSET))
    watched = bool(_THREAD.task_blocks)
    boot.note_blocks(watched)
    boot.post_hook.set_local(_check_after_call if watched else boot.UNSET)


def _check_after_call(*call: Any) -> None:
    """Check the settings after a jitted call, and then call the hook of the process with the same arguments.

    This is the post-call hook of threads on which an asyncio task has opened a block.
    """
    if _context_blocks.get() is not _THREAD.blocks:
        _raise_if_settings_differ(_active_blocks())
    hook = boot.post_hook.get_global()
    if hook is not None:
        hook(*call)


def _raise_if_settings_differ(blocks: tuple[SettingBlock, ...]) -> None:
    """Raise RuntimeError if this thread's states differ from the values of ``blocks``; set them to these first."""
    expected, current = _merge_values(blocks), _merge_values(_THREAD.blocks)
    differing = [state for state in {**expected, **current} if _has_different_value(state, expected, current)]
    if not differing:
        return
    _apply(blocks)
    alien = [block for block in _THREAD.task_blocks if block.belongs_to_other_task(_current_task())]
    raise RuntimeError(
        f"this call ran with another task's {' and '.join(state.name for state in differing)}, and its result is "
        f"dropped: {_format_blocks(alien or _THREAD.task_blocks)} was left open across an await, and the tasks "
        "of asyncio share "
        "a thread, which has one value of each setting. Leave the block before the await, or set the value for the "
        "process with config.update. (From here on the settings are this task's own.)"
    )


def _has_different_value(state: Any, expected: dict[Any, Any], current: dict[Any, Any]) -> bool:
    """Return whether a state has different values in ``expected`` and ``current``; missing: the process's value."""
    if (state in expected) != (state in current):
        local = expected[state] if state in expected else current[state]
        return bool(local != state.get_global())
    return bool(expected[state] != current[state])


def _format_blocks(blocks: Iterable[SettingBlock]) -> str:
    texts = [f"{block.text}{block.location}" for block in sorted(blocks, key=lambda block: block.number)]
    return " and ".join(texts) or "a block"  # all were closed meanwhile


def _loop_is_running() -> bool:
    running = getattr(sys.modules.get("asyncio.events"), "_get_running_loop", None)  # None during its import
    return running is not None and running() is not None


def _current_task() -> Any:
    return sys.modules["asyncio"].current_task() if _loop_is_running() else None


def _format_user_location() -> str:
    """Return `` at file.py:12``, the line that opens a block, for messages."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("xlascope", "contextlib"):
        frame = frame.f_back
    return "" if frame is None else f" at {frame.f_code.co_filename}:{frame.f_lineno}"
