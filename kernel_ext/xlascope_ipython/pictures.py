"""The two ways to show records: the widget in a notebook, a line of text everywhere else."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from xlascope.analysis.earlier_run import Run
from xlascope.analysis.retraces import Retraces, heading
from xlascope.inspect import Comparison, Inspection, Renderer
from xlascope.records import Failure, Record
from xlascope.records.plain import plain
from xlascope.records.stages import Stages
from xlascope_widgets import Panel, text
from xlascope_widgets.recompiles import recompiles_html
from xlascope_widgets.text import kept

from .answers import ANSWERS, Comparing
from .titles import cell_number

#: Retraces of one function in one cell from which on a terminal says so: a loop does it.
LOOP_RETRACES = 3

#: Which questions are answered below the graph.
_TABS = {"memory": "memory"}

MimeBundle = tuple[dict[str, Any], dict[str, Any]]


def has_widgets(shell: InteractiveShell) -> bool:
    """Whether the shell belongs to a kernel: a terminal shows no widgets."""
    return getattr(shell, "kernel", None) is not None


def panel_of(found: Iterable[Record], *, ours: bool = True, tab: str = "") -> Panel:
    """An open panel that shows these records and waits for no more, with a tab of its lower part in front.

    Questions can be asked about programs of this kernel (``ours``), not about those that came from a file: they have
    the numbers of others here.
    """
    return Panel.of(found, answer=ANSWERS if ours else None, tab=tab)


def renderer(shell: InteractiveShell) -> Renderer | None:
    """What shows inspections in this shell; None leaves them as text."""
    if not has_widgets(shell):
        return None

    def render(inspection: Inspection) -> MimeBundle | None:
        if inspection.question in ("jaxpr", "hlo", "removed"):
            return None
        if inspection.question == "recompiles":
            functions = Retraces.of(inspection.records).by_cost()
            return {"text/html": recompiles_html(functions), "text/plain": inspection.text}, {}
        if isinstance(inspection, Comparison):
            shown = Panel.of(inspection.diff)
        else:
            shown = panel_of(inspection.records, tab=_TABS.get(inspection.question, ""))
        data, metadata = shown.bundle()
        return {**data, "text/plain": kept(inspection.text)}, metadata

    return render


class Strip:
    """A panel under the running cell, closed to one line unless it is asked to be open."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._display_id = f"xlascope-{uuid.uuid4().hex}"
        self._waiting: list[Record] = []
        self._lock = threading.Lock()
        self._panel: Panel | None = None
        self._finished = False
        #: What the same cell ran before, by the functions' names.
        self.before: Mapping[str, Run] = {}

    def show(self, opened: bool) -> None:
        panel = self._new_panel(opened)
        # A saved notebook gets picture and text at the end; until then the text says no more than it knows.
        self._publish(*panel.bundle_before("xlascope watches this cell"), update=False)
        with self._lock:
            self._panel = panel
            for record in self._waiting:
                panel.receive(record)
            self._waiting = []

    def _new_panel(self, opened: bool) -> Panel:
        """The panel, which says how the cell differs from its run before."""
        answer = Comparing(lambda: self.runs, self.before) if self.before else ANSWERS
        panel = Panel(opened=opened, answer=answer)
        panel.compare_with(self.before)
        return panel

    @property
    def runs(self) -> Mapping[str, Run]:
        """What the cell ran; what it ran before where it ran nothing now."""
        return (self._panel.runs if self._panel is not None else {}) or self.before

    def receive(self, record: Record) -> None:
        with self._lock:
            if self._panel is None:
                self._waiting.append(record)
            else:
                self._panel.receive(record)

    def finish(self) -> None:
        if self._panel is not None:
            self._panel.finish()
            self._finished = True
            self.refresh()

    def refresh(self) -> None:
        """Publish what a saved notebook keeps, if the cell has ended; again when the page has said what it can."""
        if self._finished and self._panel is not None:
            self._publish(*self._panel.bundle(), update=True)

    def close(self) -> None:
        """Let go of the widget: its cell runs again."""
        if self._panel is not None:
            self._panel.close()
            self._finished = False

    def _publish(self, data: dict[str, Any], metadata: dict[str, Any], *, update: bool) -> None:
        self._shell.display_pub.publish(data, metadata, transient={"display_id": self._display_id}, update=update)


class Pinned(Strip):
    """One panel that stays where it was pinned, and shows each cell that runs after it."""

    _following = False

    def pin(self) -> None:
        """Appear, under the cell that pins."""
        super().show(opened=True)

    def show(self, opened: bool) -> None:
        """Show the cell that runs now, in place of the one before."""
        with self._lock:
            self._following, self._finished = True, False
            if self._panel is not None:
                self._panel.restart(f"In[{cell_number(self._shell)}]")
                for record in self._waiting:
                    self._panel.receive(record)
            self._waiting = []

    def receive(self, record: Record) -> None:
        if self._following:
            super().receive(record)
        else:  # from another thread, before this cell has shown itself
            self._waiting.append(record)

    def finish(self) -> None:
        super().finish()
        self._following = False


class Line:
    """A line of text after the cell."""

    def __init__(self) -> None:
        self._programs: dict[int | None, Stages] = {}
        self._failures: dict[tuple[int | None, str], Failure] = {}
        self._retraces = Retraces()

    def show(self, opened: bool) -> None:
        self._opened = opened

    def receive(self, record: Record) -> None:
        self._retraces.receive(record)
        if isinstance(record, Failure):
            self._failures[record.program, record.error] = record
        else:
            self._programs.setdefault(record.program, Stages()).receive(record)

    def finish(self) -> None:
        print(text(self._records(), jaxpr=False) if self._opened else f"xlascope: {self._line()}")

    def _records(self) -> Iterator[Record]:
        for stages in self._programs.values():
            yield from stages.records()
        yield from self._failures.values()

    def _line(self) -> str:
        failures = list(self._failures.values())
        failed = {each.program for each in failures}
        sound = [each for each in self._records() if each.program not in failed]
        parts = [text(sound, jaxpr=False).splitlines()[0]] if sound else []
        others = len({each.program for each in sound}) - 1
        parts += [f"and {others} more program{'s' if others > 1 else ''}"] if others > 0 else []
        again = [each for each in self._retraces.by_cost() if each.count >= LOOP_RETRACES and each.seconds > 0]
        parts += [f"{heading(each)}: %recompiles says why" for each in again[:2]]
        parts += [plain(f"{each.error} in {each.stage} of {each.function}") for each in failures]
        return "; ".join(parts)

    def close(self) -> None:
        """Nothing is held."""
