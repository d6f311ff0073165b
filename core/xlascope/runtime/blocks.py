"""Settings for a stretch of a program: which ``with`` blocks are open, and what they say together.

A block ends when it is left, in whatever order blocks are left: what counts is the innermost of those that are open.
jaxlib keeps the values that threads have of their own, and reads them in C++ at each call. So a block counts on the
thread that opened it, and nowhere else.

Tasks of asyncio share a thread, and jaxlib cannot be told which of them is running. A block that a task leaves open
across an ``await`` belongs to that task, and to tasks that are made within it. When another one runs a program
meanwhile, and its settings would be others, the program's result is not handed out: :func:`check` raises RuntimeError,
and gives the thread the settings of the task that asks. It is asked after every call while a block is open that was
opened in a task, and never otherwise.
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
    """What a ``with`` block sets: values by state. ``text`` is how its user would write it, ``place`` where."""

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
        """Whether a task opened it that has not ended, and that is not this one."""
        return self.task is not None and self.task is not task and not self.task.done()


class _Thread(threading.local):
    """What this thread's states in jaxlib are made from."""

    #: The blocks whose values the states have.
    blocks: tuple[Block, ...] = ()
    #: Blocks that tasks have opened and not left, whether or not the states have their values.
    of_tasks: frozenset[Block] = frozenset()
    #: The states that blocks have set: those that no block sets any more are unset.
    touched: tuple[Any, ...] = ()


_THREAD = _Thread()
#: The blocks of a context. asyncio has one for each task, which begins as that of the task that made it.
_of_context: ContextVar[tuple[Block, ...]] = ContextVar("xlascope_blocks", default=())


def enter(block: Block) -> None:
    """Let a block count from now on."""
    block.task = _current_task()
    if _loop_is_running():
        block.place = _user_place()
        _THREAD.of_tasks |= {block}
    _apply((*_those_that_count(), block))


def leave(block: Block) -> None:
    """Let a block count no more; what the others say remains. May be called again when it was interrupted."""
    block.opened = False
    if block.thread != threading.get_ident():  # a generator that was dropped: the thread notices at its next block
        return
    _THREAD.of_tasks -= {block}
    _apply(_those_that_count())
    block.task = None


def check(*_: Any) -> None:
    """Raise RuntimeError when this thread's settings are those of another task."""
    if _of_context.get() is not _THREAD.blocks:
        _check(_those_that_count())


def value_of(state: Any) -> Any:
    """The value of a state for the task that asks."""
    if _THREAD.of_tasks and _of_context.get() is not _THREAD.blocks:
        found = _together(_those_that_count())
        return found[state] if state in found else state.get_global()
    return state.value


def _those_that_count() -> tuple[Block, ...]:
    """The open blocks of what runs now: its own, those it was made in, and those that no living task owns."""
    here, mine = _of_context.get(), _THREAD.blocks
    if not _loop_is_running():
        return tuple([block for block in mine if block.opened])
    task, thread = _current_task(), threading.get_ident()
    found = {block for block in here if block.opened and block.thread == thread}
    found |= {block for block in mine if block.opened and not block.belongs_elsewhere(task)}
    return tuple(sorted(found, key=lambda block: block.number))


def _together(blocks: Iterable[Block]) -> dict[Any, Any]:
    """What blocks say together: of each state the innermost."""
    return {state: value for block in blocks for state, value in block.values.items()}


def _apply(blocks: tuple[Block, ...]) -> None:
    """Give this thread's states the values that blocks say. Interrupted, it can be done again."""
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
    """The hook of a thread with such blocks, which jaxlib calls after every jitted call; then comes the process's."""
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
    others = [block for block in _THREAD.of_tasks if block.belongs_elsewhere(_current_task())]
    raise RuntimeError(
        f"this call ran with another task's {' and '.join(state.name for state in differing)}, and its result is "
        f"dropped: {_listed(others or _THREAD.of_tasks)} was left open across an await, and the tasks of asyncio share "
        "a thread, which has one value of each setting. Leave the block before the await, or set the value for the "
        "process with config.update. (From here on the settings are this task's own.)"
    )


def _differs(state: Any, wanted: dict[Any, Any], present: dict[Any, Any]) -> bool:
    if (state in wanted) != (state in present):
        own = wanted[state] if state in wanted else present[state]
        return bool(own != state.get_global())
    return bool(wanted[state] != present[state])


def _listed(blocks: Iterable[Block]) -> str:
    told = [f"{block.text}{block.place}" for block in sorted(blocks, key=lambda block: block.number)]
    return " and ".join(told) or "a block"  # that was left meanwhile


def _loop_is_running() -> bool:
    running = getattr(sys.modules.get("asyncio.events"), "_get_running_loop", None)  # None: another thread imports it
    return running is not None and running() is not None


def _current_task() -> Any:
    return sys.modules["asyncio"].current_task() if _loop_is_running() else None


def _user_place() -> str:
    """`` at file.py:12``: the line that opens a block, for messages."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("xlascope", "contextlib"):
        frame = frame.f_back
    return "" if frame is None else f" at {frame.f_code.co_filename}:{frame.f_lineno}"
