"""Begin of a call that jaxlib repeats in C++: the instruction of the calling frame that was executed last before it.

Python can report each instruction of one frame (``f_trace_opcodes``). This is used for single calls, where other code
runs between the calls of a function, and for a limited number of instructions. A tracer of somebody else, such as a
debugger or a coverage tool, stays in place: there is no probe then.
"""

from __future__ import annotations

import sys
import time
from types import FrameType
from typing import Any

_clock = time.perf_counter
#: Instructions and calls after which a probe ends: they cost about half a microsecond each.
MAX_PROBE_EVENTS = 400


class CallProbe:
    """Probe of the calls that one frame makes, from :meth:`begin` until :meth:`end`, or until it has cost enough.

    ``began`` is when the frame's latest instruction began, 0.0 if there was none. All methods are called on the
    frame's thread.
    """

    def __init__(self) -> None:
        self.began = 0.0
        self._frame: FrameType | None = None
        self._remaining = 0

    @property
    def frame(self) -> FrameType | None:
        """Return the frame that is probed, None if none is."""
        return self._frame

    def begin(self, frame: FrameType) -> None:
        """Probe the calls of a frame, unless something else traces this thread or this frame."""
        if sys.gettrace() is not None or frame.f_trace is not None:
            return
        self._frame, self._remaining, self.began = frame, MAX_PROBE_EVENTS, 0.0
        frame.f_trace_lines, frame.f_trace_opcodes, frame.f_trace = False, True, self._trace_frame
        sys.settrace(self._trace_call)

    def end(self) -> None:
        """End the probe; nothing is traced any more."""
        frame, self._frame = self._frame, None
        if frame is not None:
            if sys.gettrace() == self._trace_call:
                sys.settrace(None)
            if frame.f_trace == self._trace_frame:
                frame.f_trace_lines, frame.f_trace_opcodes, frame.f_trace = True, False, None

    def _trace_frame(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "opcode":
            self.began = _clock()
        if event == "return" or not self._may_go_on():
            self.end()
            return None
        return self._trace_frame

    def _trace_call(self, _frame: FrameType, _event: str, _argument: Any) -> None:
        """Trace no function that the frame calls; each call costs time, too."""
        if not self._may_go_on():
            self.end()

    def _may_go_on(self) -> bool:
        self._remaining -= 1
        return self._remaining > 0
