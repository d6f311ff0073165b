"""The two ways to show records: the widget in a notebook, a line of text everywhere else."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from xlascope.inspect import Inspection, Renderer
from xlascope.records import Failure, Record
from xlascope_widgets import Panel, text

MimeBundle = tuple[dict[str, Any], dict[str, Any]]


def has_widgets(shell: InteractiveShell) -> bool:
    """Whether the shell belongs to a kernel: a terminal shows no widgets."""
    return getattr(shell, "kernel", None) is not None


def panel_of(found: Iterable[Record]) -> Panel:
    """An open panel that shows these records and waits for no more."""
    panel = Panel(opened=True)
    _reply_on_main_shell_or_subshell(panel)
    for record in found:
        panel.receive(record)
    panel.finish()
    return panel


def renderer(shell: InteractiveShell) -> Renderer | None:
    """What shows inspections in this shell; None leaves them as text."""
    if not has_widgets(shell):
        return None

    def render(inspection: Inspection) -> MimeBundle | None:
        if inspection.question == "jaxpr":
            return None
        data, metadata = panel_of(inspection.records).bundle()
        return {**data, "text/plain": inspection.text}, metadata

    return render


class Strip:
    """A panel under the running cell, closed to one line unless it is asked to be open."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._display_id = f"xlascope-{uuid.uuid4().hex}"
        self._waiting: list[Record] = []
        self._lock = threading.Lock()
        self._panel: Panel | None = None

    def show(self, opened: bool) -> None:
        panel = Panel(opened=opened)
        _reply_on_main_shell_or_subshell(panel)
        data, metadata = panel.bundle()
        # A saved notebook gets picture and text at the end; until then the text says no more than it knows.
        data = {**data, "text/plain": "xlascope watches this cell"}
        data.pop("text/html", None)
        self._publish(data, metadata, update=False)
        with self._lock:
            self._panel = panel
            for record in self._waiting:
                panel.receive(record)

    def receive(self, record: Record) -> None:
        with self._lock:
            if self._panel is None:
                self._waiting.append(record)
            else:
                self._panel.receive(record)

    def finish(self) -> None:
        if self._panel is not None:
            self._panel.finish()
            self._publish(*self._panel.bundle(), update=True)

    def close(self) -> None:
        """Let go of the widget: its cell runs again."""
        if self._panel is not None:
            self._panel.close()

    def _publish(self, data: dict[str, Any], metadata: dict[str, Any], *, update: bool) -> None:
        self._shell.display_pub.publish(data, metadata, transient={"display_id": self._display_id}, update=update)


class Line:
    """A line of text after the cell."""

    def __init__(self) -> None:
        self._latest: dict[tuple[type, int | None, str], Record] = {}

    def show(self, opened: bool) -> None:
        self._opened = opened

    def receive(self, record: Record) -> None:
        key = type(record), record.program, record.error if isinstance(record, Failure) else ""
        self._latest[key] = record

    def finish(self) -> None:
        print(text(self._latest.values(), jaxpr=False) if self._opened else f"xlascope: {self._line()}")

    def _line(self) -> str:
        failures = [each for each in self._latest.values() if isinstance(each, Failure)]
        failed = {each.program for each in failures}
        sound = [each for each in self._latest.values() if each.program not in failed]
        parts = [text(sound, jaxpr=False).splitlines()[0]] if sound else []
        others = len({each.program for each in sound}) - 1
        parts += [f"and {others} more program{'s' if others > 1 else ''}"] if others > 0 else []
        parts += [f"{each.error} in {each.stage} of {each.function}" for each in failures]
        return "; ".join(parts)

    def close(self) -> None:
        """Nothing is held."""


def _reply_on_main_shell_or_subshell(panel: Panel) -> None:
    """Let clicks be answered while the cell runs.

    ipykernel 7.4 sends a front end's messages to the shell that last published on the widget's channel, which is the
    busy main one; the subshell on which they came is the better answer.
    """
    if hasattr(panel.comm, "_reply_subshell_for"):
        panel.comm._reply_subshell_for = lambda data, default: default
