"""Progress output of a run: one line on a terminal, overwritten; elsewhere an occasional plain line."""

from __future__ import annotations

import sys
from typing import Literal, TextIO

from ..analysis.formatting import plural
from ..analysis.run_times import word_call_times
from ..records.plain import plain
from .recorder import ScriptRecorder

#: The interval between updates on a terminal, and the intervals between lines elsewhere, of which the last repeats.
TERMINAL_INTERVAL_SECONDS = 1.0
LOG_INTERVALS_SECONDS = (10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
_WORDS = {"trace": "tracing", "lower": "lowering", "compile": "compiling", "run": "running"}
_CLEAR = "\r\x1b[K"

ProgressMode = Literal["auto", "line", "plain", "off"]


class Progress:
    """Progress output of a run on a stream, by default standard error.

    ``mode`` is ``line`` (one line, overwritten), ``plain`` (a line now and then), ``off``, or ``auto``: ``line`` on a
    terminal and ``plain`` elsewhere.
    """

    def __init__(self, recorder: ScriptRecorder, mode: ProgressMode = "auto", stream: TextIO | None = None) -> None:
        self._recorder = recorder
        self._stream = stream if stream is not None else sys.stderr
        terminal = self._stream is not None and self._stream.isatty()
        self._mode = ("line" if terminal else "plain") if mode == "auto" else mode
        self._next = 0.0
        self._number = 0
        self._shown = False

    def tick(self, elapsed: float) -> None:
        """Update the output if that is due; ``elapsed`` are the seconds since the run began."""
        if self._mode == "off" or elapsed < self._next:
            return
        if self._mode == "line":
            self._next = elapsed + TERMINAL_INTERVAL_SECONDS
            self._write(f"{_CLEAR}{format_progress(self._recorder, elapsed)}\r")
            self._shown = True
            return
        if self._next:
            self._write(f"{format_progress(self._recorder, elapsed)}\n")
        self._next = elapsed + LOG_INTERVALS_SECONDS[min(self._number, len(LOG_INTERVALS_SECONDS) - 1)]
        self._number += 1

    def clear(self) -> None:
        """Erase the progress line."""
        if self._shown:
            self._write(_CLEAR)
            self._shown = False

    def print_message(self, text: str) -> None:
        """Print a message that stays."""
        if self._mode != "off":
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
            self._mode = "off"


def format_progress(recorder: ScriptRecorder, elapsed: float) -> str:
    """Return the progress as one line: time, number of programs, the active stage, the main program.

    ``elapsed`` are the seconds since the run began.

    >>> format_progress(ScriptRecorder(), 65.2)
    'xlascope 1:05: no program yet'
    """
    parts = [
        f"{recorder.program_count:,} program{'s' if recorder.program_count != 1 else ''}"
        if recorder.program_count
        else "no program yet"
    ]
    if recorder.build_seconds >= 0.05:
        parts.append(f"{recorder.build_seconds:.1f} s compile time")
    active = recorder.active_stage
    if active is not None and active.stage != "run":
        parts.append(f"{_WORDS[active.stage]} {plain(active.function, 24)}")
    main = recorder.main_program
    if main is not None and main.stages.executed is not None:
        run = main.stages.executed
        time = word_call_times(run).time
        parts.append(f"{plain(main.function, 24)} ran {plural(run.calls, 'time')}" + (f", {time}" if time else ""))
    minutes, seconds = divmod(int(elapsed), 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
    return f"xlascope {clock}: {' · '.join(parts)}"
