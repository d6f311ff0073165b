"""What is current on this thread: the trace that operations go to, the origin of new equations, the named axes."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Any

from ..ir.jaxpr import Origin
from ..runtime.boot import in_trace

#: Named axes and their sizes, innermost last. A name that is bound again hides the one outside.
Axes = tuple[tuple[Hashable, int], ...]


class _State(threading.local):
    trace: Any = None
    origin: Origin | None = None
    #: The named axes that a function may use where it is running.
    axes: Axes = ()
    #: The trace with a named axis that applies the rule of a composite operation; see ``transforms/batch.py``.
    batch: Any = None


STATE = _State()


class under:  # noqa: N801  (reads as a word: with under(trace))
    """Context manager: operations go to a trace, None for none; the one before comes back at the end.

    An object is entered once. Only this class and :class:`afresh` assign the current trace. Python looks for interrupts
    after calls and at jumps back: there are none between the assignment and the block.
    """

    __slots__ = ("_before", "_trace")

    def __init__(self, trace: Any) -> None:
        self._trace = trace

    def __enter__(self) -> None:
        self._before = STATE.trace
        STATE.trace = self._trace

    def __exit__(self, *_: object) -> None:
        STATE.trace = self._before


class afresh(under):  # noqa: N801
    """The same, without the origin of the program outside: for a program of its own (``is_program``, which the setting
    ``in_trace`` says inside), or for what runs now.
    """

    __slots__ = ("_is_program", "_origin", "_was_program")

    def __init__(self, trace: Any, *, is_program: bool) -> None:
        super().__init__(trace)
        self._is_program = is_program

    def __enter__(self) -> None:
        self._before, self._origin, self._was_program = STATE.trace, STATE.origin, in_trace.value
        try:  # an interrupt may come after the call
            in_trace.set_local(self._is_program)
            STATE.trace, STATE.origin = self._trace, None
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        STATE.trace, STATE.origin = self._before, self._origin
        in_trace.set_local(self._was_program)
