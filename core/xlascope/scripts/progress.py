"""Progress output of a run: one line on a terminal, overwritten; elsewhere an occasional plain line."""

from __future__ import annotations

import sys
from typing import Literal, TextIO

from ..records.plain import plain
from .seen import Seen

#: The interval between updates on a terminal, and the intervals between lines elsewhere, of which the last repeats.
BLINK = 1.0
RARELY = (10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
_WORDS = {"trace": "tracing", "lower": "lowering", "compile": "compiling", "run": "running"}
_CLEAR = "\r\x1b[K"

How = Literal["auto", "line", "plain", "off"]


class Progress:
    """The progress output. ``mode`` selects the form; ``auto`` checks whether the stream is a terminal."""

    def __init__(self, recorder: Seen, mode: How = "auto", stream: TextIO | None = None) -> None:
        self._seen = recorder
        self._stream = stream if stream is not None else sys.stderr
        terminal = self._stream is not None and self._stream.isatty()
        self._how = ("line" if terminal else "plain") if mode == "auto" else mode
        self._next = 0.0
        self._number = 0
        self._shown = False

    def tick(self, elapsed: float) -> None:
        """Update the output, if it is due after ``elapsed`` seconds."""
        if self._how == "off" or elapsed < self._next:
            return
        if self._how == "line":
            self._next = elapsed + BLINK
            self._write(f"{_CLEAR}{line(self._seen, elapsed)}\r")
            self._shown = True
            return
        if self._next:
            self._write(f"{line(self._seen, elapsed)}\n")
        self._next = elapsed + RARELY[min(self._number, len(RARELY) - 1)]
        self._number += 1

    def clear(self) -> None:
        """Erase the progress line."""
        if self._shown:
            self._write(_CLEAR)
            self._shown = False

    def say(self, text: str) -> None:
        """Print a message that stays."""
        if self._how != "off":
            self.clear()
            self._write(f"xlascope: {text}\n")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (
            OSError,
            ValueError,
            AttributeError,
            RuntimeError,
        ):  # the stream is closed or busy; this must not disturb the script
            self._how = "off"


def line(recorder: Seen, elapsed: float) -> str:
    """Format the progress in one line: time, number of programs, the active stage, the main program.

    >>> format_progress(ScriptRecorder(), 65.2)
    'xlascope 1:05: no program yet'
    """
    parts = [
        f"{recorder.programs:,} program{'s' if recorder.programs != 1 else ''}"
        if recorder.programs
        else "no program yet"
    ]
    if recorder.making >= 0.05:
        parts.append(f"{recorder.making:.1f} s making them")
    active = recorder.active
    if active is not None and active.stage != "run":
        parts.append(f"{_WORDS[active.stage]} {plain(active.function, 24)}")
    main = recorder.main
    if main is not None and main.stages.executed is not None:
        run = main.stages.executed
        step_time = f", {run.step * 1e3:.3g} ms each" if run.step else ""
        parts.append(f"{plain(main.function, 24)} ran {run.calls:,} time{'s' if run.calls != 1 else ''}{step_time}")
    minutes, seconds = divmod(int(elapsed), 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
    return f"xlascope {clock}: {' · '.join(parts)}"
