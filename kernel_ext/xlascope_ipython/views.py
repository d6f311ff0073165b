"""The two ways to show records: a widget in a notebook, a line of text everywhere else."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from xlascope.analysis.cell_runs import CellHistory, CellRun
from xlascope.analysis.job.job_text import job_text, summarize_job
from xlascope.analysis.retraces import RetracedFunction, Retraces, format_heading
from xlascope.inspect import Comparison, Inspection, Look, Renderer
from xlascope.records import Compiled, Failure, JobReport, Record, TimeAccount, Traced
from xlascope.records.plain import plain
from xlascope.records.stages import Stages
from xlascope_widgets import Panel, text
from xlascope_widgets.array_panel import ArrayPanel
from xlascope_widgets.library import library
from xlascope_widgets.recompiles import recompiles_html
from xlascope_widgets.text import clip_text

from .answers import ANSWERS, AnswersWithDiff
from .cell_titles import cell_number
from .idle_work import IdleWork
from .result_health import STAGE
from .value_views import VIEWS

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

#: A picture is drawn when the cell ends if it took so many times as long, or if it traced or compiled a program.
MIN_SECONDS_PER_DRAWING = 200.0

#: What a cell shows whose panel is docked.
_DOCKED_TEXT = "xlascope shows the cell that ran last beside the notebook, until %scope on or its tab is closed."
MimeBundle = tuple[dict[str, Any], dict[str, Any]]
_DOCKED: MimeBundle = {"text/plain": _DOCKED_TEXT, "text/html": f"<p>{_DOCKED_TEXT}</p>"}, {}


def has_widgets(shell: InteractiveShell) -> bool:
    """Return whether the shell belongs to a notebook's kernel; a terminal and an engine show no widgets."""
    kernel = getattr(shell, "kernel", None)
    return kernel is not None and not hasattr(kernel, "engine_id")


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
        if isinstance(inspection, Look):
            return ArrayPanel(VIEWS, VIEWS.add(inspection), inspection.text, inspection.summary).bundle()
        if isinstance(inspection, Comparison):
            shown = Panel.of(inspection.diff)
        else:
            shown = make_panel(inspection.records, tab=_TABS.get(inspection.question, ""))
        data, metadata = shown.bundle()
        return {**data, "text/plain": clip_text(inspection.text)}, metadata

    return render


class Strip:
    """Panel below a cell, collapsed to one line unless it is opened; a :class:`~.cell.View`.

    Each run of the cell begins with :meth:`begin` and is shown by the same widget, so that the page finds what the user
    opened, selected and zoomed to as it was. Records that arrive before :meth:`show` wait. The picture for a saved
    notebook is drawn, and the doctor examines the programs, when the cell has ended or, if that would take much of a
    short cell's time, as ``idle_work``.
    """

    #: Seconds that drawing took last.
    _drawing_seconds = 0.07

    def __init__(self, shell: InteractiveShell, idle_work: IdleWork) -> None:
        self._shell = shell
        self._idle_work = idle_work
        self._began = time.time()
        self._has_built = False
        self._display_id = ""
        self._waiting: list[Record] = []
        self._lock = threading.RLock()
        self._panel: Panel | None = None
        self._receiving = self._finished = False
        self._title = ""
        self._mirror: PinnedPanel | None = None
        #: The runs of the cell.
        self.history = CellHistory()

    def begin(self, history: CellHistory) -> None:
        """Prepare for a run of the cell that has this history; nothing changes before the run is shown."""
        with self._lock:
            self._next_history, self._receiving, self._waiting = history, False, []
            self._began, self._has_built = time.time(), False
            self._idle_work.discard(self)

    def show(self, opened: bool, answerable: bool = True) -> None:
        """Show the running cell below itself, ``opened`` or as the user left it; it may not be ``answerable`` here."""
        with self._lock:
            panel = self._reused_panel(answerable) or self._new_panel("pin", opened, answerable)
            panel.opened = panel.opened or opened
            self._start(panel)
            self._display_id = f"xlascope-{uuid.uuid4().hex}"
            # A saved notebook gets picture and text at the end; until then the output is a placeholder text.
            self._publish(*panel.bundle_before("xlascope watches this cell"), update=False)
            self._replay()

    def _reused_panel(self, answerable: bool) -> Panel | None:
        """Return the panel of the cell's previous run, cleared, or None if the page would not know it."""
        panel = self._panel
        if panel is None or not panel.can_restart or panel.is_answerable != answerable:
            return None
        panel.restart()
        return panel

    def _new_panel(self, pin: str, opened: bool, answerable: bool = True) -> Panel:
        if self._panel is not None:
            self._panel.close()
        panel = Panel(opened=opened, answer=AnswersWithDiff(self._runs_until_now) if answerable else None)
        panel.offer(pin)
        return panel

    def _start(self, panel: Panel) -> None:
        """Compare what ``panel`` shows from now on with the earlier runs of the same cell."""
        self._panel, self._finished = panel, False
        self.history, self._title = self._next_history, f"In[{cell_number(self._shell)}]"
        panel.compare_with(self.history, self._title)

    def _replay(self) -> None:
        self._receiving = True
        for record in self._waiting:
            self.receive(record)
        self._waiting = []

    def _runs_until_now(self) -> CellHistory:
        """Return the runs of the cell, this one included as far as it is recorded."""
        if self._panel is not None:
            self.history.add(self._title, self._panel.runs)
        return self.history

    @property
    def runs(self) -> Mapping[str, CellRun]:
        """Return the records of what the cell ran by function name; those of its previous run if it ran nothing now."""
        return (self._panel.runs if self._panel is not None else {}) or self.history.latest()

    @property
    def uid(self) -> str:
        """Return what names the panel in messages of the page, "" before there is one."""
        return self._panel.uid if self._panel is not None else ""

    def receive(self, record: Record) -> None:
        with self._lock:
            self._has_built |= isinstance(record, Traced | Compiled) and record.time >= self._began
            if not self._receiving or self._panel is None:
                self._waiting.append(record)
                return
            self._panel.receive(record)
            mirror = self._mirror
        if mirror is not None:
            mirror.receive(record)

    def finish(self) -> None:
        if self._panel is not None:
            is_drawn = self._is_worth_drawing() or not self._idle_work.add(self, self._complete)
            self._panel.finish(examined=is_drawn)
            self._finished = True
            self._runs_until_now()
            self.refresh(drawn=is_drawn)
        mirror, self._mirror = self._mirror, None
        if mirror is not None:
            mirror.finish()

    def _is_worth_drawing(self) -> bool:
        """Return whether the picture is to be drawn as part of the cell that has just ended."""
        if self._has_built or (self._panel is not None and self._panel.has_no_page):
            return True
        return time.time() - self._began >= MIN_SECONDS_PER_DRAWING * self._drawing_seconds

    def refresh(self, *, drawn: bool = True) -> None:
        """Publish the output for a saved notebook once the cell has ended, and again when the page asks for it.

        Without ``drawn`` it is text alone, and the panel has no findings of the doctor yet.
        """
        if self._finished and self._panel is not None:
            began = time.thread_time()
            if drawn:
                self._examine()
            self._publish(*self._panel.bundle(drawn=drawn), update=True)
            if drawn:
                self._idle_work.discard(self)
                self._drawing_seconds = time.thread_time() - began

    def _complete(self) -> None:
        """Do what waited until no cell runs."""
        self._examine()
        self.refresh()

    def _examine(self) -> None:
        """Show the doctor's findings, if the cell has ended without them."""
        if self._finished and self._panel is not None and not self._panel.is_examined:
            self._panel.finish()

    def mirror_in(self, pinned: PinnedPanel) -> None:
        """Show in a pinned panel what this one shows, until its cell ends."""
        with self._lock:
            if self._panel is None:
                return
            pinned.copy_from(self, self._panel)
            if self._finished:
                pinned.finish()
            else:
                self._mirror = pinned

    def _publish(self, data: dict[str, Any], metadata: dict[str, Any], *, update: bool) -> None:
        self._shell.display_pub.publish(data, metadata, transient={"display_id": self._display_id}, update=update)


class PinnedPanel(Strip):
    """Single panel that stays where it was pinned and shows each cell that runs after it.

    Where the page can dock it, it stands beside the notebook, otherwise below the cell that pinned it.
    """

    def __init__(self, shell: InteractiveShell, idle_work: IdleWork) -> None:
        super().__init__(shell, idle_work)
        self._panel = self._new_panel("unpin", opened=True)

    @property
    def is_docked(self) -> bool:
        """Return whether it stands beside the notebook."""
        assert self._panel is not None
        return library().docks and library().pinned == self._panel.model_id

    def pin(self) -> None:
        """Display the panel: beside the notebook, or below the cell that pins it."""
        assert self._panel is not None
        self._display_id = f"xlascope-{uuid.uuid4().hex}"
        if library().docks:
            self._publish(*_DOCKED, update=False)
            self.dock()
        else:
            self._publish(*self._panel.bundle_before("xlascope watches this cell"), update=False)

    def dock(self) -> None:
        """Dock the panel beside the notebook."""
        assert self._panel is not None
        library().pinned = self._panel.model_id

    def close(self) -> None:
        """Take the panel away from beside the notebook; below a cell it stays as it is and follows no more."""
        assert self._panel is not None
        if library().pinned == self._panel.model_id:
            library().pinned = ""
        self._panel.offer("")
        self._panel.finish()

    def copy_from(self, strip: Strip, panel: Panel) -> None:
        """Show what the panel of a strip shows, whose later records it sends here."""
        assert self._panel is not None
        self.history, self._title, self._receiving = strip.history, strip._title, True
        self._panel.restart(strip._title)
        self._panel.copy_from(panel)

    def show(self, opened: bool, answerable: bool = True) -> None:
        """Show the running cell in place of the previous one; ``opened`` and ``answerable`` are ignored."""
        with self._lock:
            assert self._panel is not None
            self._panel.restart(f"In[{cell_number(self._shell)}]")
            self._start(self._panel)
            self._replay()

    def finish(self) -> None:
        super().finish()
        self._receiving = False

    def refresh(self, *, drawn: bool = True) -> None:
        """Publish the output of the cell that pinned it, and dock the panel once the page can do that."""
        if not self._display_id:
            return
        if not library().docks:
            super().refresh(drawn=drawn)
        elif not self.is_docked:
            self.dock()
            self._publish(*_DOCKED, update=True)


class SummaryLine:
    """Summary that is printed as text after the cell, for terminals: one line, or the full text if opened."""

    def __init__(self) -> None:
        self._programs: dict[int | None, Stages] = {}
        self._failures: dict[tuple[int | None, str], Failure] = {}
        self._retraces = Retraces()
        self._time_account: TimeAccount | None = None
        self._report: JobReport | None = None

    def show(self, opened: bool, answerable: bool = True) -> None:
        self._opened = opened

    def receive(self, record: Record) -> None:
        if isinstance(record, TimeAccount):
            self._time_account = record
            return
        if isinstance(record, JobReport):
            self._report = record
            return
        self._retraces.receive(record)
        if isinstance(record, Failure):
            self._failures[record.program, record.error] = record
        else:
            self._programs.setdefault(record.program, Stages()).receive(record)

    def finish(self) -> None:
        if self._opened:
            print(text([*self._records(), *([self._time_account] if self._time_account else [])], jaxpr=False))
            if self._report is not None:
                print(f"\n{job_text(self._report)}")
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
        parts += [] if self._report is None else [summarize_job(self._report)]
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
