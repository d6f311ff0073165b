"""What a run says while it lasts: one line on a terminal, written over; elsewhere a plain line now and then."""

from __future__ import annotations

import sys
from typing import Literal, TextIO

from ..records.plain import plain
from .seen import Seen

#: Seconds between two looks at a terminal; and after how many a line is written elsewhere, the last again and again.
BLINK = 1.0
RARELY = (10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
_WORDS = {"trace": "tracing", "lower": "lowering", "compile": "compiling", "run": "running"}
_CLEAR = "\r\x1b[K"

How = Literal["auto", "line", "plain", "off"]


class Progress:
    """Tells what goes on. ``how`` is where: ``auto`` looks whether the stream is a terminal."""

    def __init__(self, seen: Seen, how: How = "auto", stream: TextIO | None = None) -> None:
        self._seen = seen
        self._stream = stream if stream is not None else sys.stderr
        terminal = self._stream is not None and self._stream.isatty()
        self._how = ("line" if terminal else "plain") if how == "auto" else how
        self._next = 0.0
        self._number = 0
        self._shown = False

    def tick(self, passed: float) -> None:
        """So many seconds have passed."""
        if self._how == "off" or passed < self._next:
            return
        if self._how == "line":
            self._next = passed + BLINK
            self._write(f"{_CLEAR}{line(self._seen, passed)}\r")
            self._shown = True
            return
        if self._next:
            self._write(f"{line(self._seen, passed)}\n")
        self._next = passed + RARELY[min(self._number, len(RARELY) - 1)]
        self._number += 1

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            self._write(_CLEAR)
            self._shown = False

    def say(self, text: str) -> None:
        """A line that stays."""
        if self._how != "off":
            self.clear()
            self._write(f"xlascope: {text}\n")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError, AttributeError, RuntimeError):  # closed, or busy: not the script's concern
            self._how = "off"


def line(seen: Seen, passed: float) -> str:
    """What goes on, in a line: so long, so many programs, what is being made now, what takes most.

    >>> line(Seen(), 65.2)
    'xlascope 1:05: no program yet'
    """
    parts = [f"{seen.programs:,} program{'s' if seen.programs != 1 else ''}" if seen.programs else "no program yet"]
    if seen.making >= 0.05:
        parts.append(f"{seen.making:.1f} s making them")
    active = seen.active
    if active is not None and active.stage != "run":
        parts.append(f"{_WORDS[active.stage]} {plain(active.function, 24)}")
    main = seen.main
    if main is not None and main.stages.executed is not None:
        run = main.stages.executed
        each = f", {run.step * 1e3:.3g} ms each" if run.step else ""
        parts.append(f"{plain(main.function, 24)} ran {run.calls:,} time{'s' if run.calls != 1 else ''}{each}")
    minutes, seconds = divmod(int(passed), 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
    return f"xlascope {clock}: {' · '.join(parts)}"
