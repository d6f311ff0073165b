"""The two ways to show records: a widget in a notebook, a line of text everywhere else."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from xlascope.analysis.cell_runs import CellRun
from xlascope.analysis.retraces import RetracedFunction, Retraces, format_heading
from xlascope.inspect import Comparison, Inspection, Renderer
from xlascope.records import Failure, Record, TimeAccount, Traced
from xlascope.records.plain import plain
from xlascope.records.stages import Stages
from xlascope_widgets import Panel, text
from xlascope_widgets.recompiles import recompiles_html
from xlascope_widgets.text import clip_text

from .answers import ANSWERS, AnswersWithDiff
from .cell_titles import cell_number
from .result_health import STAGE

#: The number of retraces of one function in a cell from which the summary mentions them.
MIN_LOOP_RETRACES = 3

#: The tab that answers a question: it is selected at first, and stands above the graph.
_TABS = {
    "fusions": "kernels",
    "memory": "memory",
    "target": "kernels",
    "targets": "kernels",
    "timings": "hottest",
    "why": "replay",
}

MimeBundle = tuple[dict[str, Any], dict[str, Any]]


def has_widgets(shell: InteractiveShell) -> bool:
    """Return whether the shell belongs to a kernel; a terminal shows no widgets."""
    return getattr(shell, "kernel", None) is not None


def make_panel(shown_records: Iterable[Record], *, answerable: bool = True, tab: str = "") -> Panel:
    """Return an open panel that shows complete records.

    ``tab`` is the tab that is selected at first and stands above the graph (``hottest``, ``memory``, ``kernels``,
    ``replay``; ``""``: none). ``answerable`` is True for programs of this kernel: the panel then answers questions
    about them. Programs from a file have numbers that may belong to other programs here, so no questions are offered.
    """
    return Panel.of(shown_records, answer=ANSWERS if answerable else None, tab=tab)


def make_renderer(shell: InteractiveShell) -> Renderer | None:
    """Return the function that renders inspections in this shell, or None to leave them as text."""
    if not has_widgets(shell):
        return None

    def render(inspection: Inspection) -> MimeBundle | None:
        if inspection.question in ("jaxpr", "hlo", "removed", "time"):
            return None
        if inspection.question in ("written", "doctor") and not any(isinstance(r, Traced) for r in inspection.records):
            return None  # a function that cannot be jitted has no program to draw
        if inspection.question == "recompiles":
            functions = Retraces.of(inspection.records).by_cost()
            return {"text/html": recompiles_html(functions), "text/plain": inspection.text}, {}
        if isinstance(inspection, Comparison):
            shown = Panel.of(inspection.diff)
        else:
            shown = make_panel(inspection.records, tab=_TABS.get(inspection.question, ""))
        data, metadata = shown.bundle()
        return {**data, "text/plain": clip_text(inspection.text)}, metadata

    return render


class Strip:
    """Panel below the running cell, collapsed to one line unless it is opened; a :class:`~.cell.View`.

    ``before`` has the records of the cell's previous run by function name. Records that arrive before :meth:`show`
    wait.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._display_id = f"xlascope-{uuid.uuid4().hex}"
        self._waiting: list[Record] = []
        self._lock = threading.Lock()
        self._panel: Panel | None = None
        self._finished = False
        #: The previous runs of the same cell, by function name.
        self.before: Mapping[str, CellRun] = {}

    def show(self, opened: bool) -> None:
        panel = self._new_panel(opened)
        # A saved notebook gets picture and text at the end; until then the output is a placeholder text.
        self._publish(*panel.bundle_before("xlascope watches this cell"), update=False)
        with self._lock:
            self._panel = panel
            for record in self._waiting:
                panel.receive(record)
            self._waiting = []

    def _new_panel(self, opened: bool) -> Panel:
        """Return a new panel that reports how the cell differs from its previous run."""
        answer = AnswersWithDiff(lambda: self.runs, self.before) if self.before else ANSWERS
        panel = Panel(opened=opened, answer=answer)
        panel.compare_with(self.before)
        return panel

    @property
    def runs(self) -> Mapping[str, CellRun]:
        """Return the records of what the cell ran by function name; those of its previous run if it ran nothing now."""
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
        """Publish the output for a saved notebook once the cell has ended, and again when the page asks for it."""
        if self._finished and self._panel is not None:
            self._publish(*self._panel.bundle(), update=True)

    def close(self) -> None:
        """Close the widget; called when its cell runs again."""
        if self._panel is not None:
            self._panel.close()
            self._finished = False

    def _publish(self, data: dict[str, Any], metadata: dict[str, Any], *, update: bool) -> None:
        self._shell.display_pub.publish(data, metadata, transient={"display_id": self._display_id}, update=update)


class PinnedPanel(Strip):
    """Single panel that stays where it was pinned and shows each cell that runs after it."""

    _following = False

    def pin(self) -> None:
        """Display the panel below the cell that pins it."""
        super().show(opened=True)

    def show(self, opened: bool) -> None:
        """Show the running cell in place of the previous one; ``opened`` is ignored."""
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


class SummaryLine:
    """Summary that is printed as text after the cell, for terminals: one line, or the full text if opened."""

    def __init__(self) -> None:
        self._programs: dict[int | None, Stages] = {}
        self._failures: dict[tuple[int | None, str], Failure] = {}
        self._retraces = Retraces()
        self._time_account: TimeAccount | None = None

    def show(self, opened: bool) -> None:
        self._opened = opened

    def receive(self, record: Record) -> None:
        if isinstance(record, TimeAccount):
            self._time_account = record
            return
        self._retraces.receive(record)
        if isinstance(record, Failure):
            self._failures[record.program, record.error] = record
        else:
            self._programs.setdefault(record.program, Stages()).receive(record)

    def finish(self) -> None:
        if self._opened:
            print(text([*self._records(), *([self._time_account] if self._time_account else [])], jaxpr=False))
        else:
            print(f"xlascope: {self._summary()}")

    def _records(self) -> Iterator[Record]:
        for stages in self._programs.values():
            yield from stages.records()
        yield from self._failures.values()

    def _summary(self) -> str:
        failures = list(self._failures.values())
        failed = {item.program for item in failures}
        sound = [item for item in self._records() if item.program not in failed]
        parts = [text(sound, jaxpr=False).splitlines()[0]] if sound else []
        more_programs = len({item.program for item in sound}) - 1
        parts += [f"and {more_programs} other program{'s' if more_programs > 1 else ''}"] if more_programs > 0 else []
        again = [item for item in self._retraces.by_cost() if item.count >= MIN_LOOP_RETRACES and item.seconds > 0]
        parts += [f"{format_heading(item)}{_format_latest_call(item)}: %recompiles says why" for item in again[:2]]
        parts += [plain(_describe_failure(item)) for item in failures]
        return "; ".join(parts)

    def close(self) -> None:
        """Do nothing: a printed line holds no resources."""


def _format_latest_call(retraced: RetracedFunction) -> str:
    """Return where the latest call was that traced a function again: ``" at In[7]:3"``, or ``""``."""
    where = retraced.newest_first[0].where if retraced.retraces else ""
    return f" at {where}" if where else ""


def _describe_failure(item: Failure) -> str:
    if item.stage == STAGE:
        return f"{item.function}: {item.message}"
    return f"{item.error} in {item.stage} of {item.function}"
